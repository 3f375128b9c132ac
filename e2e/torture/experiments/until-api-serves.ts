import type { World } from '../harness/world/world.ts';

/** Waits until the API answers 200. Without Redis it answers 429 to each request that it must count. */
export async function untilApiServes(world: World): Promise<void> {
  await world.until('the API to be let in again', async () => {
    const answered = await world.api.request('GET', '/v1/webhooks');
    return answered.outcome === 'answered' && answered.status === 200;
  });
}
