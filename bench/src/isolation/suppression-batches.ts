import { setTimeout as delay } from 'node:timers/promises';
import { measureRounds } from '../figure.ts';
import type { Figure, Fixture } from '../figure.ts';
import { quantile } from '@postrider/testing';
import { addKey } from '../load/api-traffic.ts';
import { monotonicMs } from '../monotonic.ts';
import { judging } from '../result/result.ts';

const LOOPS = 12;
const ADDRESSES = 100;
/** The pause between two requests of the other account. */
const PAUSE_MS = 5;

/** One account sends unlimited requests without a pause, while another lists its webhooks. */
export const suppressionBatches: Figure = {
  id: 'suppression-batches',
  title: 'Beside an account that suppresses addresses without end',
  group: 'isolation',
  how:
    `One account makes \`POST /v1/suppressions/batch/add\` in ${LOOPS} loops at once, each time with ${ADDRESSES} new addresses. ` +
    `Another account makes \`GET /v1/webhooks\`, one after the other, ${PAUSE_MS} ms apart: alone, and beside it. The time is that ` +
    'from the request to the whole answer. One API runs, and neither relay nor worker. Answers with a status of 500 or more ' +
    'are counted for both accounts, and for the other account any answer but 200.',
  limitSeconds: 180,
  async run(fixture) {
    const installation = await fixture.install();
    const api = await installation.start('api');
    const base = `http://127.0.0.1:${api.port}/v1`;
    const [noisy, quiet] = [await addKey(installation), await addKey(installation)];
    const tally = { faults: 0, batches: 0 };
    await listTimes(base, quiet, fixture, tally);

    const oneRound = async () => {
      Object.assign(tally, { faults: 0, batches: 0 });
      const alone = quantile(await listTimes(base, quiet, fixture, tally), 0.99);
      const over = new AbortController();
      const loops = Array.from({ length: LOOPS }, async () => suppress(base, noisy, tally, over.signal));
      await delay(fixture.sizes.isolation.leadInSeconds * 1000);
      const before = { batches: tally.batches, atMs: monotonicMs() };
      const beside = quantile(await listTimes(base, quiet, fixture, tally), 0.99);
      const batchesPerSecond = ((tally.batches - before.batches) * 1000) / (monotonicMs() - before.atMs);
      over.abort();
      await Promise.all(loops);
      return { alone, beside, faults: tally.faults, batchesPerSecond };
    };
    const rounds = await measureRounds(
      fixture,
      oneRound,
      ({ alone, beside, faults, batchesPerSecond }) =>
        `p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside ` +
        `${batchesPerSecond.toFixed(0)} batches/s; ${faults} refused`,
    );
    const { check, value } = judging(rounds);
    return {
      checks: [
        check(
          'p99 of the other account, against alone',
          '×',
          { atMost: 3 },
          ({ alone, beside }) => beside / alone,
        ),
        check(
          'refused answers, to either account',
          '',
          { atMost: 0, judged: 'worst' },
          ({ faults }) => faults,
        ),
      ],
      values: [
        value('p99 alone', 'ms', ({ alone }) => alone),
        value('p99 beside it', 'ms', ({ beside }) => beside),
        value('batches', '/s', ({ batchesPerSecond }) => batchesPerSecond),
      ],
    };
  },
};

/** @returns the time of each answer, in milliseconds. */
async function listTimes(
  base: string,
  key: string,
  fixture: Fixture,
  tally: { faults: number },
): Promise<number[]> {
  const times: number[] = [];
  const endsAtMs = monotonicMs() + fixture.sizes.isolation.seconds * 1000;
  while (monotonicMs() < endsAtMs) {
    const askedAtMs = monotonicMs();
    const answer = await fetch(`${base}/webhooks`, { headers: { authorization: `Bearer ${key}` } });
    await answer.text();
    // The API answers 429 when the limiter does not answer in time.
    if (answer.status === 200) times.push(monotonicMs() - askedAtMs);
    else tally.faults += 1;
    await delay(PAUSE_MS);
  }
  return times;
}

async function suppress(
  base: string,
  key: string,
  tally: { faults: number; batches: number },
  over: AbortSignal,
): Promise<void> {
  const loop = Math.random().toString(36).slice(2);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  for (let batch = 0; !over.aborted; batch += 1) {
    const emails = Array.from({ length: ADDRESSES }, (_, n) => `${loop}.${batch}.${n}@bench.example`);
    const body = JSON.stringify({ emails });
    const answer = await fetch(`${base}/suppressions/batch/add`, { method: 'POST', headers, body });
    await answer.text();
    if (answer.status >= 500) tally.faults += 1;
    else if (answer.status !== 201) throw new Error(`the api answered ${answer.status}`);
    tally.batches += 1;
  }
}
