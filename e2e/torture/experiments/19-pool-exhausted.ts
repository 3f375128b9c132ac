import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

const EVENTS = 400;

export const poolExhausted: Experiment = {
  number: 19,
  title: 'a pool of two connections under 64 attempts and a slow link to Postgres',
  shows: 'no deadlock: a waiting attempt holds no connection, and every delivery ends',
  runs: 'ci',
  async run(world) {
    const endpoint = await world.endpoint({ reaction: takingMs(50, answer(200)) });
    const line = await world.proxy('postgres');
    line.slow(20);
    const env = { DATABASE_POOL_SIZE: '2', DELIVERY_CONCURRENCY: '64' };
    await world.start('relay', { env: { DATABASE_POOL_SIZE: '2' } });
    await world.start('worker', { through: [line], env });
    await world.producer.record(world.scaled(EVENTS));
    await world.drained();
    const { length } = endpoint.receipts;
    world.claim('every event arrived once', length === world.scaled(EVENTS), String(length));
  },
};
