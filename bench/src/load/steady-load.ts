import type { AccountId } from '@postrider/domain';
import type { CallerCommands } from '../roles/caller.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

/** The caller and the receiver of a load. */
export interface Ends {
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly caller: RoleProcess<CallerCommands>;
}

export interface SteadyLoad {
  /** The events belong to these accounts in turn. */
  readonly accountIds: readonly AccountId[];
  readonly perSecond: number;
  readonly seconds: number;
  /**
   * The names of the account's endpoints, the second part of the path. Default: one endpoint without a name.
   */
  readonly endpoints?: readonly string[];
  /** False: does not wait for the events, which may arrive late, and returns none. Default: true. */
  readonly awaited?: boolean;
}

/** An event at an endpoint. Times are milliseconds of the machine's monotonic clock. */
export interface Arrival {
  readonly begunAtMs: number;
  /** When the caller learned of the commit. */
  readonly committedAtMs: number;
  /** When the endpoint had the whole body. */
  readonly arrivedAtMs: number;
}

const ARRIVAL_TIMEOUT_MS = 120_000;

/**
 * Records events at steady rates, one transaction per event, and waits until all have arrived.
 * @returns the arrivals per load, in the order of their commits
 * @throws Error when an event does not arrive
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

/**
 * From the commit to the arrival, at least 0: the event may arrive before the caller reads the answer to
 * COMMIT.
 */
export function latenessMs({ committedAtMs, arrivedAtMs }: Arrival): number {
  return Math.max(0, arrivedAtMs - committedAtMs);
}
