import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { underLoad } from './under-load.ts';

const DOWN_MS = 20_000;
const MAILS = 10;

export const redisKilledAndEmpty: Experiment = {
  number: 10,
  title: 'kill -9 Redis under load, 20 s away, back empty',
  shows: 'causes still commit, limited HTTP routes answer 429, and nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    const load = await underLoad(world, { processes: ['relay', 'worker', 'api'] });
    await world.producer.mail(MAILS, { through: world.api });
    const before = world.producer.log.length;
    await world.fault('kill -9 redis', { mayRepeat: false }, () => world.redis.kill());
    await refusedMeanwhile(world);
    await delay(world.scaled(DOWN_MS));
    const committed = world.producer.log.length - before;
    world.claim('causes were committed while Redis was away', committed > 0, String(committed));
    await world.redis.start();
    world.healed();
    await load.stop();
    await world.until('the API to be let in again', async () => {
      const answered = await world.api.request('GET', '/v1/webhooks');
      return answered.outcome === 'answered' && answered.status === 200;
    });
    await world.producer.mail(MAILS, { through: world.api });
  },
};

/** A request that cannot be counted is refused, and one that is refused leaves nothing behind. */
async function refusedMeanwhile(world: World): Promise<void> {
  const answered = await world.api.request('POST', '/v1/webhooks', { endpoint: 'https://127.0.0.1:1/' });
  const status = answered.outcome === 'answered' ? answered.status : answered.outcome;
  world.claim('a limited route answers 429 while Redis is away', status === 429, String(status));
  const stored = await world.count('webhooks where endpoint = $1', ['https://127.0.0.1:1/']);
  world.claim('what was refused is not stored', stored === 0, String(stored));
}
