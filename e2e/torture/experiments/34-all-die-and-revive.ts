import { answer, resetBeforeHead, takingMs } from '@postrider/testing';
import type { Receipt } from '../harness/checker/history.ts';
import type { Experiment } from '../harness/experiment.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import { queueAtOnce } from './queue-at-once.ts';

const ENDPOINTS = 20;
/** For each: 100,000 deliveries in all. */
const EVENTS = 5_000;
/** Attempts that fail before they revive. */
const FAILED = 10_000;
/**
 * The slots that one worker announces by default. All endpoints are of one account, and no other account
 * needs a share. So one endpoint may have all of them, while the others have nothing to do.
 */
const IN_FLIGHT_MAX = 768;
/** With the harness's delays, the deliveries would be given up before the endpoints are back. */
const RETRY_DELAYS_SECONDS = '5,10,20,40,80,160,320';
const DRAINED_WITHIN_MS = 2_400_000;

export const allDieAndRevive: Experiment = {
  number: 34,
  title: 'every endpoint dies with 100,000 deliveries queued, and all revive at once',
  shows: 'no endpoint is overrun: each has at most 768 requests in flight, and everything arrives',
  runs: 'long',
  deadlineSeconds: 3_600,
  async run(world) {
    const endpoints: Endpoint[] = [];
    for (let made = 0; made < ENDPOINTS; made += 1) {
      endpoints.push(await world.endpoint({ reaction: resetBeforeHead() }));
    }
    const env = { DELIVERY_RETRY_DELAYS_SECONDS: RETRY_DELAYS_SECONDS };
    await world.start('relay', { env });
    await world.start('worker', { env });
    const events = world.scaled(EVENTS);
    await queueAtOnce(world, events);
    await world.until(
      'endpoints to fail',
      async () => (await world.count('attempts where status is null')) >= world.scaled(FAILED),
      600_000,
    );
    for (const endpoint of endpoints) endpoint.reacts(takingMs(20, answer(200)));
    await world.drained(DRAINED_WITHIN_MS);
    const most = Math.max(...endpoints.map(({ receipts }) => mostAtOnce(receipts)));
    world.claim('no endpoint is stampeded', most > 1 && most <= IN_FLIGHT_MAX, `${most} requests at once`);
    const givenUp = await world.count('dead_letters');
    world.claim('nothing was given up', givenUp === 0, `${givenUp} dead letters`);
  },
};

/** Counts the answered requests that were open at once, from arrival to answer. @returns the most */
function mostAtOnce(receipts: readonly Receipt[]): number {
  const steps = receipts.flatMap(({ arrivedAtMs, answeredAtMs }) =>
    answeredAtMs === null
      ? []
      : [
          { atMs: arrivedAtMs, by: 1 },
          { atMs: answeredAtMs, by: -1 },
        ],
  );
  let open = 0;
  let most = 0;
  for (const { by } of steps.sort((a, b) => a.atMs - b.atMs || a.by - b.by)) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}
