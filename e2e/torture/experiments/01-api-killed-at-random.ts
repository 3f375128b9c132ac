import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';

const KILLS = 20;
const ACKNOWLEDGED_MAX = 12;
const MORE_MS_MAX = 25;

export const apiKilledAtRandom: Experiment = {
  number: 1,
  title: 'kill -9 the API at random moments while clients send',
  shows: 'each acknowledged message exists once; each other one exists once or not at all',
  runs: 'ci',
  async run(world) {
    await world.endpoint();
    await world.start('relay');
    await world.start('worker');
    const count = (outcome: string): number =>
      world.producer.log.filter((entry) => entry.outcome === outcome && entry.id !== null).length;
    for (let kill = 1; kill <= world.scaled(KILLS); kill += 1) {
      const api = await world.start('api');
      const clients = new AbortController();
      const enough = count('ok') + world.random.between(0, ACKNOWLEDGED_MAX);
      const sending = world.producer.mail(Infinity, { through: world.api, until: clients.signal });
      await world.until('messages to be acknowledged', () => count('ok') >= enough);
      await delay(world.random.between(0, MORE_MS_MAX));
      clients.abort();
      await world.kill(api);
      await sending;
    }
    const unknown = world.producer.log.filter((entry) => entry.outcome === 'unknown').length;
    world.claim('some were acknowledged', count('ok') > 0, String(count('ok')));
    world.claim('some clients never learned', unknown > 0, String(unknown));
  },
};
