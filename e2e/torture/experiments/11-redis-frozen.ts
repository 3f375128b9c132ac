import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import { statusOf } from '../harness/world/api-client.ts';
import { underLoad } from './under-load.ts';

const FROZEN_MS = 20_000;
const REQUESTS = 10;

export const redisFrozen: Experiment = {
  number: 11,
  title: 'SIGSTOP Redis under load for 20 s: connections stay open, nothing answers',
  shows: 'the API refuses with 429 and does not hang; nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    const load = await underLoad(world, { processes: ['relay', 'worker', 'api'] });
    await world.fault('SIGSTOP redis', { mayRepeat: false }, () => world.redis.pause());
    try {
      const statuses = new Set<string>();
      for (let request = 1; request <= world.scaled(REQUESTS); request += 1) {
        const answered = await world.api.request('GET', '/v1/webhooks');
        statuses.add(String(statusOf(answered)));
      }
      const seen = [...statuses].join(' ');
      world.claim('every request is answered with 429', seen === '429', seen);
      await delay(world.scaled(FROZEN_MS));
    } finally {
      world.redis.resume();
    }
    world.healed();
    await load.stop();
  },
};
