import { setTimeout as delay } from 'node:timers/promises';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture } from '../figure.ts';
import { quantile } from '@postrider/testing';
import type { Installation } from '../fixture/installation.ts';
import { addKey } from '../load/api-traffic.ts';
import { monotonicMs } from '../monotonic.ts';
import { judging } from '../result/result.ts';
import { atSteadyRate } from '../roles/steady-rate.ts';

const LOOPS = 12;
const ADDRESSES = 100;
/** As many as an account may have. Each address makes a delivery for each webhook. */
const WEBHOOKS = 100;
/** The default of `DELIVERIES_PER_ACCOUNT_PER_SECOND`. */
const ALLOWED_PER_SECOND = 2_000;
/** Requests of the other account, in an open loop: a slow answer must not make the next request later. */
const ASKED_PER_SECOND = 100;

/** One account sends unlimited requests without a pause, while another lists its webhooks. */
export const suppressionBatches: Figure = {
  id: 'suppression-batches',
  title: 'Beside an account that suppresses addresses without end',
  group: 'isolation',
  how:
    `One account with ${WEBHOOKS} webhooks makes \`POST /v1/suppressions/batch/add\` in ${LOOPS} loops at once, each time with ` +
    `${ADDRESSES} new addresses. Another account makes \`GET /v1/webhooks\` ${ASKED_PER_SECOND} times a second, in an open loop: ` +
    'alone, and beside it. The time is that ' +
    'from when a request is due to its whole answer. One API runs, and neither relay nor worker. A refused answer is one with a status of ' +
    '500 or more; the other account must get 200 alone. The deliveries that the first account writes are counted from a few ' +
    'seconds after its start until its last request is answered.',
  limitSeconds: 180,
  async run(fixture) {
    const installation = await fixture.install();
    const api = await installation.start('api');
    const base = `http://127.0.0.1:${api.port}/v1`;
    const account = await installation.addAccount();
    await installation.addWebhooks(account, Array<string>(WEBHOOKS).fill('https://127.0.2.1/never-called'));
    const [noisy, quiet] = [await addKey(installation, account), await addKey(installation)];
    const tally = { quietFaults: 0, refusedBatches: 0 };
    await listTimes(base, quiet, fixture, tally);

    const oneRound = async () => {
      Object.assign(tally, { quietFaults: 0, refusedBatches: 0 });
      const alone = quantile(await listTimes(base, quiet, fixture, tally), 0.99);
      const over = new AbortController();
      const loops = Array.from({ length: LOOPS }, async () => suppress(base, noisy, tally, over.signal));
      await delay(fixture.sizes.isolation.leadInSeconds * 1000);
      const before = { deliveries: await countDeliveries(installation), atMs: monotonicMs() };
      const beside = quantile(await listTimes(base, quiet, fixture, tally), 0.99);
      over.abort();
      await Promise.all(loops);
      const seconds = (monotonicMs() - before.atMs) / 1000;
      const perSecond = ((await countDeliveries(installation)) - before.deliveries) / seconds;
      return { alone, beside, ...tally, perSecond };
    };
    const rounds = await measureRounds(
      fixture,
      oneRound,
      ({ alone, beside, refusedBatches, perSecond }) =>
        `p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside ` +
        `${perSecond.toFixed(0)} deliveries/s; ${refusedBatches} batches refused`,
    );
    const { check, value } = judging(rounds);
    return {
      checks: [
        check(
          'p99 of the other account, against alone',
          '×',
          { atMost: 5 },
          ({ alone, beside }) => beside / alone,
        ),
        check(
          'refused answers, to the other account',
          '',
          { atMost: 0, judged: 'worst' },
          ({ quietFaults }) => quietFaults,
        ),
        check(
          'deliveries that the account writes',
          '/s',
          { atMost: 2 * ALLOWED_PER_SECOND },
          ({ perSecond }) => perSecond,
        ),
        // Without them the other account would be alone.
        check(
          'deliveries that it writes while the other account is measured',
          '/s',
          { atLeast: ALLOWED_PER_SECOND / 2 },
          ({ perSecond }) => perSecond,
        ),
      ],
      values: [
        value('p99 of the other account, alone', 'ms', ({ alone }) => alone),
        value('p99 of the other account, beside it', 'ms', ({ beside }) => beside),
        value('refused batches', '', ({ refusedBatches }) => refusedBatches),
      ],
    };
  },
};

async function countDeliveries({ database }: Installation): Promise<number> {
  const [row] = await database.query<{ count: number }>('select count(*)::int as count from deliveries');
  return row?.count ?? 0;
}

/** @returns the time from when each request was due to its answer, in milliseconds */
async function listTimes(
  base: string,
  key: string,
  { sizes }: Fixture,
  tally: { quietFaults: number },
): Promise<number[]> {
  const rate = { perSecond: ASKED_PER_SECOND, seconds: sizes.isolation.seconds };
  return atSteadyRate(rate, async (_, dueAtMs) => {
    const answer = await fetch(`${base}/webhooks`, { headers: { authorization: `Bearer ${key}` } });
    await answer.text();
    // A 429 counts, too: the API answers it when its limiter does not answer in time.
    if (answer.status !== 200) tally.quietFaults += 1;
    return monotonicMs() - dueAtMs;
  });
}

async function suppress(
  base: string,
  key: string,
  tally: { refusedBatches: number },
  over: AbortSignal,
): Promise<void> {
  const loop = Math.random().toString(36).slice(2);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  for (let batch = 0; !over.aborted; batch += 1) {
    const emails = Array.from({ length: ADDRESSES }, (_, n) => `${loop}.${batch}.${n}@bench.example`);
    const body = JSON.stringify({ emails });
    const answer = await fetch(`${base}/suppressions/batch/add`, { method: 'POST', headers, body });
    await answer.text();
    if (answer.status >= 500) tally.refusedBatches += 1;
    else if (answer.status !== 201) throw new Error(`the api answered ${answer.status}`);
  }
}
