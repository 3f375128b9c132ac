import { waitFor } from '@postrider/testing';
import type { Figure, Ground } from '../figure.ts';
import { queueMail } from '../load/queue-mail.ts';
import { monotonicMs } from '../monotonic.ts';
import { checkOf, valueOf } from '../result/result.ts';

/** How long the provider takes for each message. */
const LATENCIES_MS = [50, 300] as const;
/** The default of MAIL_CONCURRENCY. */
const SLOTS = 16;
const WITHIN_MS = 120_000;
const POLL_MS = 10;

export const slowProvider: Figure = {
  id: 'slow-provider',
  title: 'Mail through a provider that takes its time',
  group: 'load',
  how:
    'Messages of 2 KB are queued at once for an account without a webhook. One relay and one worker hand them to an SMTP ' +
    `server that answers every message after ${LATENCIES_MS.join(' or ')} ms. The ideal is ${SLOTS} messages ` +
    '(`MAIL_CONCURRENCY`) in each such time, from the commit until the last outcome is recorded.',
  limitSeconds: 480,
  async run(ground) {
    const perSecond = new Map<number, number[]>();
    for (const latencyMs of LATENCIES_MS) {
      const round = await prepare(ground, latencyMs);
      await round(SLOTS);
      const rates: number[] = [];
      for (let number = 1; number <= ground.rounds; number += 1) {
        rates.push(await round(Math.round(ground.sizes.slowProviderSeconds * idealRate(latencyMs))));
        ground.say(
          `${latencyMs} ms, round ${number} of ${ground.rounds}: ${rates.at(-1)?.toFixed(0)}/s of ` +
            `${idealRate(latencyMs).toFixed(0)}/s`,
        );
      }
      perSecond.set(latencyMs, rates);
    }
    const each = [...perSecond];
    return {
      checks: each.map(([latencyMs, rates]) =>
        checkOf(
          `${latencyMs} ms a message: rate against the ideal`,
          '×',
          rates.map((rate) => rate / idealRate(latencyMs)),
          { atLeast: 0.9 },
        ),
      ),
      values: each.map(([latencyMs, rates]) =>
        valueOf(`${latencyMs} ms a message: handed over`, '/s', rates),
      ),
      tables: [],
      plots: [],
    };
  },
};

function idealRate(latencyMs: number): number {
  return (SLOTS * 1000) / latencyMs;
}

/** @returns hands over so many messages, and tells how many a second that were */
async function prepare(ground: Ground, latencyMs: number): Promise<(count: number) => Promise<number>> {
  const port = await ground.bareSmtp().call('listen', { latencyMs });
  const installation = await ground.install();
  const { database } = installation;
  const accountId = await installation.addAccount();
  await installation.start('relay');
  await installation.start('worker', { MAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://127.0.0.1:${port}` });
  return async (count) => {
    await queueMail(installation, accountId, count);
    const begun = monotonicMs();
    const isOver = async () => (await database.query('select from email_sends limit 1')).length === 0;
    await waitFor(isOver, { what: 'all mail to be sent', timeoutMs: WITHIN_MS, intervalMs: POLL_MS });
    return (count * 1000) / (monotonicMs() - begun);
  };
}
