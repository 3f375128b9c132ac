import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createMetrics } from '@postrider/runtime';
import { ScreeningUnavailableError } from '@postrider/screening';
import type { SenderVerdict } from '@postrider/screening';
import { AuthorUnavailableError, Screening } from './screening.ts';

const ENVELOPE = { client: 'a', remoteAddress: '203.0.113.7', helo: 'a.example', mailFrom: 'a@a.example' };
const NONE: SenderVerdict = {
  auth: { spf: 'none', dkim: 'none', dmarc: 'none' },
  dmarcPolicy: 'none',
  isAuthorUnavailable: false,
};
const CLEAN = false;
const HAM = false;
const AWAY = new ScreeningUnavailableError('clamd', 'away');

interface Readers {
  readonly sender?: Promise<SenderVerdict>;
  readonly virus?: Promise<boolean>;
  readonly spam?: Promise<boolean>;
}

test.each<[string, (held: Promise<void>) => Readers]>([
  [
    'clamd is away, and name servers are asked',
    (held) => ({ virus: Promise.reject(AWAY), sender: held.then(() => NONE) }),
  ],
  [
    'clamd is away, and rspamd reads',
    (held) => ({ virus: Promise.reject(AWAY), spam: held.then(() => HAM) }),
  ],
  [
    'rspamd is away, and clamd reads',
    (held) => ({ spam: Promise.reject(AWAY), virus: held.then(() => CLEAN) }),
  ],
  [
    'the worker threads are closed, and clamd reads',
    (held) => ({ sender: Promise.reject(AWAY), virus: held.then(() => CLEAN) }),
  ],
])('screening rejects only when nothing reads the message any more: %s', async (_, readers) => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const {
    sender = Promise.resolve(NONE),
    virus = Promise.resolve(CLEAN),
    spam = Promise.resolve(HAM),
  } = readers(held);
  const screening = new Screening({
    metrics: createMetrics('inbound', { processMetrics: false }),
    authentication: { authenticate: async () => sender },
    virusScanner: { scan: async () => virus },
    spamScanner: { scan: async () => spam },
    triesUntilJudged: 3,
    required: true,
    onUnjudged: () => undefined,
  });
  const screened = screening.screen(Buffer.from('\r\n'), { ...ENVELOPE, rcptTo: ['b@b.example'] }, {});
  const failed = screened.catch((error: unknown) => error);
  expect(await Promise.race([failed, nextIteration('held')])).toBe('held');
  letGo();
  expect(await failed).toBe(AWAY);
});

test('a message whose author’s policy is unavailable waits until the third try', async () => {
  const sender: SenderVerdict = {
    ...NONE,
    auth: { ...NONE.auth, dmarc: 'temperror' },
    isAuthorUnavailable: true,
  };
  const metrics = createMetrics('inbound', { processMetrics: false });
  const screening = new Screening({
    metrics,
    authentication: { authenticate: async () => sender },
    virusScanner: null,
    spamScanner: null,
    triesUntilJudged: 3,
    required: false,
    onUnjudged: () => undefined,
  });
  const tryOnce = async (text: string, { to = 'b@b.example', mailFrom = ENVELOPE.mailFrom } = {}) =>
    screening
      .screen(Buffer.from(text), { ...ENVELOPE, mailFrom, rcptTo: [to] }, {})
      .catch((error: unknown) => error);
  const later = expect.any(AuthorUnavailableError);
  expect(await tryOnce('one')).toEqual(later);
  expect(await tryOnce('two')).toEqual(later);
  expect(await tryOnce('one')).toEqual(later);
  expect(await tryOnce('one', { to: 'c@b.example' })).toEqual(later);
  expect(await tryOnce('one', { mailFrom: 'b@a.example' })).toEqual(later);
  expect(await tryOnce('one')).toEqual({ auth: sender.auth, heldReason: null });
  // Without a scanner nothing is scanned, so no sample shows a time of 0.
  const { values } = await metrics.inboundStageDuration.get();
  expect(new Set(values.map(({ labels }) => labels.stage))).toEqual(new Set(['authenticate']));
});
