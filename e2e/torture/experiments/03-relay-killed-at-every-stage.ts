import type { Experiment } from '../harness/experiment.ts';
import type { ServerProxy, World } from '../harness/world/world.ts';
import { holdAt } from './hold-at.ts';

/** A moment in a relay's pass. Without a job, only the end of its lease brings a leased delivery back. */
interface Moment {
  readonly name: string;
  /** Sets the trap. @returns a function that waits until the relay stands still there */
  reach(parts: { database: ServerProxy; redis: ServerProxy }): () => Promise<unknown>;
}

const EVENTS = 40;
/** A key of a job's data. It is in the arguments of the script by which BullMQ adds the job. */
const ADD_JOB = 'deliveryId';
/** A relay leases at most 8 deliveries of a webhook that it does not know, and adds them together. */
const FIRST_JOBS = 8;

const MOMENTS: readonly Moment[] = [
  {
    name: 'before the lease is written',
    reach: ({ database }) => holdAt(database, 'claim-deliveries', 'toServer'),
  },
  {
    name: 'after the lease is written',
    reach: ({ database }) => holdAt(database, 'claim-deliveries', 'toClient'),
  },
  { name: 'before the jobs are added', reach: ({ redis }) => holdAt(redis, ADD_JOB, 'toServer') },
  {
    name: 'after the first jobs, before the next',
    reach: ({ redis }) => holdAt(redis, ADD_JOB, 'toServer', FIRST_JOBS),
  },
  { name: 'after the jobs were added', reach: ({ redis }) => holdAt(redis, ADD_JOB, 'toClient') },
];

export const relayKilledAtEveryStage: Experiment = {
  number: 3,
  title: 'kill -9 the relay at every stage of its pass',
  shows: 'nothing is lost, and nothing arrives twice: the next relay finds leased deliveries without a job',
  runs: 'ci',
  async run(world) {
    await world.endpoint();
    await world.start('worker');
    const moments = world.random.some(MOMENTS, world.scaled(MOMENTS.length));
    for (const moment of moments) await dieAt(moment, world);
  },
};

async function dieAt(moment: Moment, world: World): Promise<void> {
  // Recorded first: the relay then finds them all in its first pass.
  await world.producer.record(EVENTS);
  const database = await world.proxy('postgres');
  const redis = await world.proxy('redis');
  const reached = moment.reach({ database, redis });
  const starting = world.start('relay', { through: [database, redis] });
  await reached();
  const relay = await starting;
  world.note(`the relay stands still ${moment.name}`);
  await world.kill(relay);
  database.cut();
  redis.cut();
  const successor = await world.start('relay');
  await world.drained();
  await world.stop(successor);
}
