import { waitFor } from '@postrider/testing';
import type { Figure, Fixture } from '../figure.ts';
import { openBareMail } from '../load/bare-mail.ts';
import { queueMail } from '../load/queue-mail.ts';
import { monotonicMs } from '../monotonic.ts';
import { checkOf, valueOf } from '../result/result.ts';

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
    const rounds = new Map<number, Round[]>();
    for (const latencyMs of LATENCIES_MS) {
      const { round, close } = await prepare(fixture, latencyMs);
      const count = Math.round(fixture.sizes.slowProviderSeconds * idealRate(latencyMs));
      await round(count); // warm-up: compiles code and opens connections
      const measured: Round[] = [];
      for (let number = 1; number <= fixture.rounds; number += 1) {
        const one = await round(count);
        measured.push(one);
        fixture.say(
          `${latencyMs} ms, round ${number} of ${fixture.rounds}: ${one.perSecond.toFixed(0)}/s of ` +
            `${idealRate(latencyMs).toFixed(0)}/s, bare nodemailer ${one.barePerSecond.toFixed(0)}/s`,
        );
      }
      close();
      rounds.set(latencyMs, measured);
    }
    const each = [...rounds];
    return {
      checks: each.flatMap(([latencyMs, of]) => [
        checkOf(
          `${latencyMs} ms a message: rate against the ideal`,
          '×',
          of.map(({ perSecond }) => perSecond / idealRate(latencyMs)),
          { atLeast: 0.9 },
        ),
        checkOf(
          `${latencyMs} ms a message: rate against bare nodemailer`,
          '×',
          of.map(({ perSecond, barePerSecond }) => perSecond / barePerSecond),
          { atLeast: 0.9 },
        ),
      ]),
      values: each.flatMap(([latencyMs, of]) => [
        valueOf(
          `${latencyMs} ms a message: handed over`,
          '/s',
          of.map(({ perSecond }) => perSecond),
        ),
        valueOf(
          `${latencyMs} ms a message: bare nodemailer`,
          '/s',
          of.map(({ barePerSecond }) => barePerSecond),
        ),
      ]),
      tables: [],
      plots: [],
    };
  },
};

function idealRate(latencyMs: number): number {
  return (SLOTS * 1000) / latencyMs;
}

interface Prepared {
  /** Sends `count` messages with the product, and as many with the yardstick. */
  readonly round: (count: number) => Promise<Round>;
  readonly close: () => void;
}

async function prepare(fixture: Fixture, latencyMs: number): Promise<Prepared> {
  const port = await fixture.bareSmtp().call('listen', { latencyMs });
  const installation = await fixture.install();
  const { database } = installation;
  const accountId = await installation.addAccount();
  await installation.start('relay');
  await installation.start('worker', { MAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${port}` });
  const bare = openBareMail(port, SLOTS);
  return {
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
