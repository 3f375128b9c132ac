import { expect, test } from '@jest/globals';
import { inWords, LIMITS } from './limits.ts';
import { RATE_WINDOW_MS } from './rate-limit.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

test('the limits are those of contract section 8 and its rulings', () => {
  expect(LIMITS).toEqual({
    bodyBytes: 64 * KIB,
    emailBodyBytes: 8 * MIB,
    emailBodyPlainTextBytes: 32 * MIB,
    batchBodyBytes: 32 * MIB,
    batchMessages: 100,
    snsBodyBytes: 512 * KIB,
    messageBytes: 5 * MIB,
    recipients: 50,
    headers: 50,
    tags: 50,
    attachments: 50,
    filenameLength: 255,
    contentIdLength: 128,
    tagLength: 256,
    idempotencyKeyLength: 256,
    headerLength: 997,
    referencesLength: 16 * KIB,
    deadLettersListed: 100,
    deadLettersReplayed: 1_000,
    pageEntries: 100,
    pageEntriesDefault: 20,
    endpointLength: 2048,
    topicNameLength: 50,
    topicDescriptionLength: 200,
    suppressionsBatch: 100,
    suppressionReasonLength: 500,
    inboxes: 100,
    blockedSenders: 10_000,
    recordBytes: 64 * KIB,
    recordTextBytes: 16 * KIB,
    recordEntries: 100,
    recordNameLength: 998,
    receivedBytes: 10 * MIB,
    inboxSendsPerHour: 60,
    threadSendsPerHour: 10,
    replyBytes: 512 * KIB,
    replyBodyBytes: 4 * MIB,
    replyToAddresses: 10,
    threadPageBytes: 8 * MIB,
    eventPageBytes: 8 * MIB,
    messageBodyBytes: MIB,
    linkMs: 604_800_000,
    inboundNameLength: 100,
    webhookDescriptionLength: 255,
    webhookDomains: 100,
    webhookHeaders: 10,
    webhookHeadersLength: 8_192,
    recoveryRateMax: 2_000,
    recoveryRateDefault: 200,
    recoveryEventsCounted: 500_000,
    inlineImageBytes: MIB,
    searchedMessages: 500,
    searchLength: 200,
    searchAddresses: 20,
    metricEvents: 50_000,
    metricDays: 31,
    metricEntries: 10_000,
    metricListEntries: 50,
  });
  expect(RATE_WINDOW_MS).toBe(60_000);
});

test.each([
  [5 * MIB, '5 MiB'],
  [512 * KIB, '512 KiB'],
  [MIB + KIB, '1025 KiB'],
])('%d bytes are %s in words', (bytes, words) => {
  expect(inWords(bytes)).toBe(words);
});
