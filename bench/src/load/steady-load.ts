import type { AccountId } from '@postrider/domain';
import type { CallerCommands } from '../roles/caller.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

/** Who causes events, and who receives them. */
export interface Ends {
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly caller: RoleProcess<CallerCommands>;
}

export interface SteadyLoad {
  /** Each event belongs to one of them, in turn. */
  readonly accountIds: readonly AccountId[];
  readonly perSecond: number;
  readonly seconds: number;
  /** Names of the account's endpoints: the second part of each one's path. Default: one endpoint without a name. */
  readonly endpoints?: readonly string[];
  /** False: nothing waits for its events, which may not arrive for long, and none is returned. Default: true. */
  readonly awaited?: boolean;
}

/** An event at an endpoint, in milliseconds of the machine's monotonic clock. */
export interface Arrival {
  readonly begunAtMs: number;
  /** When the caller knew of its commit. */
  readonly committedAtMs: number;
  /** When the endpoint had the whole body. */
  readonly arrivedAtMs: number;
}

const ARRIVAL_TIMEOUT_MS = 120_000;

/**
 * Records events at steady rates, a transaction each, and waits until all have arrived.
 * @returns the arrivals of each load, in the order of their commits
 * @throws Error when one of them does not arrive
 */
export async function measureLoads(
  { receiver, caller }: Ends,
  loads: readonly SteadyLoad[],
): Promise<Arrival[][]> {
  await receiver.call('reset', null);
  const sent = await Promise.all(
    loads.map(async ({ endpoints = [], awaited = true, ...rate }) => {
      const recorded = await caller.call('record', rate);
      if (!awaited) return [];
      const names = endpoints.length === 0 ? [''] : endpoints.map((name) => `/${name}`);
      return recorded.flatMap(([id, begunAtMs, committedAtMs]) =>
        names.map((name) => ({ id: `${id}${name}`, begunAtMs, committedAtMs })),
      );
    }),
  );
  const ids = sent.flatMap((deliveries) => deliveries.map(({ id }) => id));
  await receiver.call('arrived', { ids, withinMs: ARRIVAL_TIMEOUT_MS });
  const arrivals = new Map(await receiver.call('arrivals', null));
  return sent.map((deliveries) =>
    deliveries.map(({ id, ...times }) => {
      const arrivedAtMs = arrivals.get(id);
      if (arrivedAtMs === undefined) throw new Error(`${id} was recorded and has not arrived`);
      return { ...times, arrivedAtMs };
    }),
  );
}

/** From the commit to the arrival. It may arrive before the caller has read the answer to its COMMIT: that is 0, not less. */
export function latenessMs({ committedAtMs, arrivedAtMs }: Arrival): number {
  return Math.max(0, arrivedAtMs - committedAtMs);
}
