import { BARE_BODY } from '../fixture/installation.ts';
import type { BareClientName } from '../roles/bare-client.ts';
import type { BareCommands, BareCost } from '../roles/bare-posts.ts';
import type { RoleProcess } from '../roles/role-process.ts';

/** Posts of the yardstick in flight. */
export const BARE_CONCURRENCY = 64;

export interface BareBurst {
  readonly client: BareClientName;
  readonly url: string;
  readonly count: number;
}

/** Posts signed bodies of a delivery's size as fast as possible. */
export async function postBareBurst(bare: RoleProcess<BareCommands>, burst: BareBurst): Promise<BareCost> {
  return bare.call('burst', { ...burst, body: BARE_BODY, concurrency: BARE_CONCURRENCY });
}

/** Microseconds of CPU of a bare post: by got, which the aims name, and by the client of the worker. */
export type BareMicros = Readonly<Record<'got' | 'https.request', number>>;

export async function measureBareMicros(
  bare: RoleProcess<BareCommands>,
  burst: Omit<BareBurst, 'client'>,
): Promise<BareMicros> {
  const micros = async (client: BareClientName): Promise<number> =>
    ((await postBareBurst(bare, { ...burst, client })).cpuSeconds / burst.count) * 1e6;
  return { got: await micros('got'), 'https.request': await micros('https.request') };
}
