import { answer } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { claimInTime } from './retry-gaps.ts';

/** The contract's own, not the harness's scaled one. */
const FIRST_DELAY_SECONDS = 30;
const ENDPOINTS = 50;
const PENDING = 5_000;
const FAILED_ONCE = 'attempts where attempt = 1';
/** First attempts a second: all have failed before the first retry is due, and half of two cores is left. */
const DELIVERIES_PER_SECOND = 200;

export const manyRetriesPending: Experiment = {
  number: 46,
  title: '5,000 retries pending at the contract’s first delay, in real time',
  shows: 'each of them starts within 1 s of its due time',
  runs: 'ci',
  async run(world) {
    const env = { DELIVERY_RETRY_DELAYS_SECONDS: String(FIRST_DELAY_SECONDS) };
    const pending = Math.ceil(world.scaled(PENDING) / ENDPOINTS) * ENDPOINTS;
    const endpoints = [];
    for (let made = 0; made < ENDPOINTS; made += 1) {
      endpoints.push(await world.endpoint({ reaction: answer(503) }));
    }
    await world.start('relay', { env });
    await world.start('worker', { env });
    const load = world.producer.load({ perSecond: DELIVERIES_PER_SECOND / ENDPOINTS });
    await world.until('all causes', async () => (await world.count('deliveries')) >= pending);
    await load.stop();
    const deliveries = await world.count('deliveries');
    await world.until(
      'all first attempts to fail',
      async () => (await world.count(FAILED_ONCE)) === deliveries,
    );
    const retried = await world.count('attempts where attempt = 2');
    world.claim(
      'all of them wait for their retries at once',
      retried === 0,
      `${retried} of ${deliveries} retried`,
    );
    for (const endpoint of endpoints) endpoint.reacts(answer(200));
    await world.drained();
    await claimInTime(world, { attempt: 2, delayMs: FIRST_DELAY_SECONDS * 1_000, deliveries });
  },
};
