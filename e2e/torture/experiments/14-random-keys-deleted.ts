import { setTimeout as delay } from 'node:timers/promises';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { failingFirst } from './failing-first.ts';
import { underLoad } from './under-load.ts';

const DELETIONS = 150;
const PAUSE_MS = 100;
/** Causes. Each has two attempts. The endpoint fails half of them, so the relay gives it few at once. */
const PER_SECOND = 20;

export const randomKeysDeleted: Experiment = {
  number: 14,
  title: 'keys of BullMQ deleted at random, ten a second',
  shows: 'no process crashes over a damaged queue, and nothing is lost or made twice',
  runs: 'ci',
  async run(world) {
    // Retries leave delayed jobs in Redis.
    const load = await underLoad(world, { reaction: failingFirst(1, 20), perSecond: PER_SECOND });
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
