import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Behaviour } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { underLoad } from './under-load.ts';

const DELETIONS = 150;
const PAUSE_MS = 100;
/** Each makes two attempts, at an endpoint that fails half of them and is given few at once for that. */
const PER_SECOND = 20;

export const randomKeysDeleted: Experiment = {
  number: 14,
  title: 'keys of BullMQ deleted at random, ten a second',
  shows: 'no process crashes over a damaged queue, and nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    // Every second request fails, so that delayed jobs lie about.
    let requests = 0;
    const reaction = (): Behaviour => takingMs(20, answer(requests++ % 2 === 0 ? 503 : 200));
    const load = await underLoad(world, { reaction, perSecond: PER_SECOND });
    let deleted = 0;
    for (let deletion = 1; deletion <= world.scaled(DELETIONS); deletion += 1) {
      await world.fault('a key is deleted', { mayRepeat: false }, async () => {
        deleted += await deleteOne(world);
      });
      await delay(PAUSE_MS);
    }
    world.claim('keys were there to delete', deleted > 0, String(deleted));
    await load.stop();
  },
};

async function deleteOne(world: World): Promise<number> {
  const keys = (await world.redis.command('keys', '*')) as string[];
  const key = keys.sort()[world.random.between(0, Math.max(0, keys.length - 1))];
  return key === undefined ? 0 : Number(await world.redis.command('del', key));
}
