import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { lacksFaketime } from '../harness/servers/faketime.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';
import { failingFirst } from './failing-first.ts';

const HOUR_MS = 3_600_000;
const ROUNDS = 2;
const PER_SECOND = 10;
/** Enough failing endpoints, and failures of each event, that some delivery always waits for its retry. */
const TROUBLED = 4;
const FAILURES = 3;
const ARRIVALS = 40;
const AFTERWARDS = 20;

export const databaseClockStepped: Experiment = {
  number: 24,
  title: 'the clock of the database host steps an hour back and forth under load',
  shows:
    'new events go out whatever the clock says; a step forwards starts waiting retries early and may repeat attempts in flight; a step back delays them until the clock is right; nothing is lost',
  runs: 'long',
  ownPostgres: { steppedClock: true },
  lacks: lacksFaketime,
  async run(world) {
    const endpoint = await world.endpoint({ reaction: takingMs(20, answer(200)) });
    for (let made = 0; made < TROUBLED; made += 1) {
      await world.endpoint({ reaction: failingFirst(FAILURES) });
    }
    await world.start('relay');
    await world.start('worker');
    for (let round = 1; round <= world.scaled(ROUNDS); round += 1) {
      const load = world.producer.load({ perSecond: PER_SECOND });
      await moreArrive(endpoint);
      await world.stepClock(-HOUR_MS);
      await strand(world);
      await moreArrive(endpoint);
      await world.stepClock(0);
      await moreArrive(endpoint);
      await world.stepClock(HOUR_MS);
      await moreArrive(endpoint);
      await load.stop();
      await world.drained();
      // Nothing is outstanding. Other times that the fast clock wrote must not matter.
      await world.stepClock(0);
      await world.producer.record(world.scaled(AFTERWARDS));
      await world.drained();
    }
  },
};

/** Waits for this many arrivals: some are of events that were recorded after the last step. */
async function moreArrive(endpoint: Endpoint): Promise<void> {
  await endpoint.arrived(endpoint.receipts.length + ARRIVALS);
}

/** Empties the queue. Then only the end of a lease brings a retry back: in an hour, by the slow clock. */
async function strand(world: World): Promise<void> {
  await world.fault('FLUSHALL', { mayRepeat: false }, () => world.redis.command('flushall'));
  const later = `now() + interval '30 minutes'`;
  const stranded = await world.count(`deliveries where leased_until > ${later} or due_at > ${later}`);
  world.claim('what waited before the step back is kept', stranded > 0, `${stranded} deliveries`);
}
