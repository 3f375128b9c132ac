import { waitFor } from '@postrider/testing';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture } from '../figure.ts';
import { openBareMail } from '../load/bare-mail.ts';
import { queueMail } from '../load/queue-mail.ts';
import { monotonicMs } from '../monotonic.ts';
import { judging } from '../result/result.ts';

/** The provider's time per message. */
const LATENCIES_MS = [50, 300] as const;
/** The default of MAIL_CONCURRENCY. */
const SLOTS = 16;
const WITHIN_MS = 120_000;
const POLL_MS = 10;

/** Messages per second. */
interface Round {
  readonly perSecond: number;
  readonly barePerSecond: number;
}

export const slowProvider: Figure = {
  id: 'slow-provider',
  title: 'Mail through a provider that takes its time',
  group: 'load',
  how:
    'Messages of 2 KB are queued at once for an account without a webhook. One relay and one worker hand them to an SMTP ' +
    `server that answers every message after ${LATENCIES_MS.join(' or ')} ms. The ideal is ${SLOTS} messages ` +
    '(`MAIL_CONCURRENCY`) in each such time, from the commit until the last outcome is recorded. The yardstick is ' +
    '`nodemailer` alone, which sends as many messages to the same server over as many connections.',
  limitSeconds: 480,
  async run(fixture) {
    const rounds = new Map<number, ReturnType<typeof judging<Round>>>();
    const { setLatency, round, close } = await prepare(fixture);
    for (const latencyMs of LATENCIES_MS) {
      await setLatency(latencyMs);
      const count = Math.round(fixture.sizes.slowProviderSeconds * idealRate(latencyMs));
      await round(count); // warm-up: compiles code and opens connections
      const describe = ({ perSecond, barePerSecond }: Round): string =>
        `${latencyMs} ms: ${perSecond.toFixed(0)}/s of ${idealRate(latencyMs).toFixed(0)}/s, ` +
        `bare nodemailer ${barePerSecond.toFixed(0)}/s`;
      rounds.set(latencyMs, judging(await measureRounds(fixture, () => round(count), describe)));
    }
    close();
    const each = [...rounds];
    return {
      checks: each.flatMap(([latencyMs, { check }]) => [
        check(
          `${latencyMs} ms a message: rate against the ideal`,
          '×',
          { atLeast: 0.9 },
          ({ perSecond }) => perSecond / idealRate(latencyMs),
        ),
        check(
          `${latencyMs} ms a message: rate against bare nodemailer`,
          '×',
          { atLeast: 0.9 },
          ({ perSecond, barePerSecond }) => perSecond / barePerSecond,
        ),
      ]),
      values: each.flatMap(([latencyMs, { value }]) => [
        value(`${latencyMs} ms a message: handed over`, '/s', ({ perSecond }) => perSecond),
        value(`${latencyMs} ms a message: bare nodemailer`, '/s', ({ barePerSecond }) => barePerSecond),
      ]),
    };
  },
};

function idealRate(latencyMs: number): number {
  return (SLOTS * 1000) / latencyMs;
}

interface Prepared {
  /** Sets the provider's time per message. */
  readonly setLatency: (latencyMs: number) => Promise<void>;
  /** Sends `count` messages with the product, and as many with the yardstick. */
  readonly round: (count: number) => Promise<Round>;
  readonly close: () => void;
}

async function prepare(fixture: Fixture): Promise<Prepared> {
  const provider = fixture.bareSmtp();
  const port = await provider.call('listen', null);
  const installation = await fixture.install();
  const { database } = installation;
  const accountId = await installation.addAccount();
  await installation.start('relay');
  await installation.start('worker', { MAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${port}` });
  const bare = openBareMail(port, SLOTS);
  return {
    setLatency: (latencyMs) => provider.call('setLatency', latencyMs),
    async round(count) {
      const barePerSecond = await bare.rate(count);
      await queueMail(installation, accountId, count);
      const begun = monotonicMs();
      const isOver = async () => (await database.query('select from email_sends limit 1')).length === 0;
      await waitFor(isOver, { what: 'all mail to be sent', timeoutMs: WITHIN_MS, intervalMs: POLL_MS });
      return { perSecond: (count * 1000) / (monotonicMs() - begun), barePerSecond };
    },
    close: () => bare.close(),
  };
}
