import { answer } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { claimInTime } from './retry-gaps.ts';

/** The contract's own, not the harness's scaled ones. */
const DELAYS_SECONDS = [30, 60, 120, 240, 480, 960, 1920];
const ENDPOINTS = 5;
const DRAINED_WITHIN_MS = 4_200_000;

export const scheduleInRealTime: Experiment = {
  number: 38,
  title: 'eight failures at the contract’s own schedule, in real time (64 minutes)',
  shows:
    'the gaps are 30 s, 1, 2, 4, 8, 16 and 32 min, never shorter and at most 1 s longer; then a dead letter',
  runs: 'long',
  deadlineSeconds: 4_500,
  async run(world) {
    const delays = DELAYS_SECONDS.map((seconds) => world.scaled(seconds));
    const env = { DELIVERY_RETRY_DELAYS_SECONDS: delays.join(',') };
    for (let made = 0; made < ENDPOINTS; made += 1)
      await world.endpoint({ reaction: answer(503), mayGiveUp: true });
    await world.start('relay', { env });
    await world.start('worker', { env });
    await world.producer.record(1);
    await world.drained(DRAINED_WITHIN_MS);
    for (const [index, seconds] of delays.entries()) {
      await claimInTime(world, { attempt: index + 2, delayMs: seconds * 1_000, deliveries: ENDPOINTS });
    }
    const letters = await world.query<{ reason: string; attempts: number; n: number }>(
      'select reason, attempts, count(*)::int as n from dead_letters group by 1, 2',
    );
    const saw = letters.map(({ reason, attempts, n }) => `${n} ${reason} after ${attempts}`).join(', ');
    const wanted = `${ENDPOINTS} attempts_exhausted after ${delays.length + 1}`;
    world.claim('the eighth failure makes a dead letter', saw === wanted, saw);
  },
};
