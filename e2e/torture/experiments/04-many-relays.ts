import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';

/** Relays that join those that run: two run, then five. */
const MORE_RELAYS = [1, 3];
const ENDPOINTS = 6;
const EVENTS = 150;

export const manyRelays: Experiment = {
  number: 4,
  title: 'two, then five relays at once on a backlog',
  shows: 'one relay works and the others stand by: nothing arrives twice, and every endpoint is served',
  runs: 'ci',
  async run(world) {
    const endpoints: Endpoint[] = [];
    for (let made = 0; made < ENDPOINTS; made += 1) {
      endpoints.push(await world.endpoint({ reaction: takingMs(made * 10, answer(200)) }));
    }
    const events = world.scaled(EVENTS);
    await world.start('relay');
    for (const more of MORE_RELAYS) {
      for (let started = 0; started < more; started += 1) await world.start('relay');
      await world.producer.record(events);
      const before = endpoints.map((endpoint) => endpoint.receipts.length);
      const arrived = (): number[] =>
        endpoints.map((endpoint, index) => endpoint.receipts.length - (before[index] ?? 0));
      const worker = await world.start('worker');
      const half = (events * ENDPOINTS) / 2;
      await world.until(
        'half of the backlog to arrive',
        () => arrived().reduce((sum, n) => sum + n, 0) >= half,
      );
      const counts = arrived();
      world.claim(
        'half-way, each endpoint has got a fifth or more',
        Math.min(...counts) >= events / 5,
        counts.join(' '),
      );
      await world.drained();
      await world.stop(worker);
    }
  },
};
