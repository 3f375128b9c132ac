import { expect, test } from '@jest/globals';
import { loadConfig } from '../load.ts';

test('a relay keeps each kind of data for the days that the documents promise', () => {
  expect(loadConfig('relay', { DATABASE_URL: 'postgres://db/x' })).toMatchObject({
    eventRetentionDays: 30,
    attemptRetentionDays: 30,
    mailContentRetentionDays: 30,
    mailRetentionDays: 365,
    inboundRetentionDays: 30,
    deadLetterRetentionDays: 90,
    deadLettersPerWebhookMax: 10_000,
    auditRetentionDays: 365,
  });
});
