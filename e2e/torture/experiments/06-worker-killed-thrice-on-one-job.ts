import { answer, hang } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';

const DEATHS = 3;

export const workerKilledThriceOnOneJob: Experiment = {
  number: 6,
  title: 'kill -9 the worker three times on one and the same delivery',
  shows: 'no limit on stalled jobs ends the delivery: its fourth request is still attempt 1',
  runs: 'ci',
  async run(world) {
    const endpoint = await world.endpoint({ reaction: hang() });
    await world.start('relay');
    await world.producer.record(1);
    for (let death = 1; death <= DEATHS; death += 1) {
      const worker = await world.start('worker');
      await endpoint.arrived(death);
      await world.kill(worker);
    }
    endpoint.reacts(answer(200));
    await world.start('worker');
    await world.drained();
    const attempts = await world.query<{ attempt: number }>('select attempt from attempts');
    const numbers = attempts.map((row) => row.attempt).join(' ');
    world.claim('one attempt is recorded, as number 1', numbers === '1', numbers);
    world.claim(
      'the endpoint saw it four times',
      endpoint.receipts.length === DEATHS + 1,
      String(endpoint.receipts.length),
    );
  },
};
