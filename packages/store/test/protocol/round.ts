import { waitFor } from '@postrider/testing';
import type { Act } from './acts.ts';
import { explain } from './explain.ts';
import { CAUSES_LOCK, prepare } from './perform.ts';
import type { Thread } from './perform.ts';
import type { Gate, Plan, Round } from './plans.ts';
import { takeSnapshot } from './snapshot.ts';
import { UNIT_SECONDS, UNITS_PER_TICK } from './state.ts';
import type { State } from './state.ts';
import { count } from './tally.ts';
import type { World } from './world.ts';

/** Runs the threads at the same time and asks the model whether what came of it may be. @returns the state after. */
export async function runRound(world: World, before: State, { threads, gate }: Round): Promise<State> {
  const prepared = threads.map((plan) => prepare(plan, world, before));
  const locks = gate === null ? [] : locksOf(gate, threads);
  const held = locks.length > 0 && prepared.length > 1;
  return explained(world, before, await (held ? behindGate(world, prepared, locks) : atOnce(prepared)));
}

/** @returns the state in which these acts leave the model, Postgres agreeing. */
export async function explained(
  world: World,
  before: State,
  threads: readonly (readonly Act[])[],
): Promise<State> {
  const seen = await takeSnapshot(world.database);
  const after = explain(before, threads, seen, world.order);
  world.order = seen.deliveries;
  for (const act of threads.flat()) count(world.tally, act);
  return after;
}

/** Instead of waiting: everything that is due or leased in the future comes nearer. */
export async function passTime(world: World, before: State, ticks: number): Promise<State> {
  await world.database.query(
    `update deliveries set due_at = due_at - t, leased_until = leased_until - t, taken_at = taken_at - t
     from make_interval(secs => $1) t`,
    [ticks * UNITS_PER_TICK * UNIT_SECONDS],
  );
  return { ...before, now: before.now + ticks * UNITS_PER_TICK };
}

/** When one fails the others are waited for all the same: nothing may reach into the next run. */
async function atOnce(threads: readonly Thread[]): Promise<Act[][]> {
  const results = await Promise.allSettled(threads.map(async (thread) => thread()));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** The statements that shut the gate. */
function locksOf(gate: Gate, threads: readonly Plan[]): string[] {
  if (gate === 'causes') return [`select pg_advisory_xact_lock(${CAUSES_LOCK})`];
  const rows = ['webhooks', 'deliveries', 'dead_letters'].map((table) => `select from ${table} for update`);
  // Retention then waits between its two steps: it has locked the events, and not yet looked for deliveries.
  const retention = threads.some(({ kind }) => kind === 'retention');
  return retention ? [...rows, 'lock table deliveries in access exclusive mode'] : rows;
}

/**
 * Opens when all threads wait for a lock or have ended: whoever has looked at the rows by then acts on what others
 * change, the worst case for a statement that does not look again.
 */
async function behindGate(
  world: World,
  threads: readonly Thread[],
  locks: readonly string[],
): Promise<Act[][]> {
  const gate = await world.db.pool.connect();
  try {
    await gate.query('begin');
    for (const lock of locks) await gate.query(lock);
    let ended = 0;
    const running = atOnce(
      threads.map((thread) => async () => {
        try {
          return await thread();
        } finally {
          ended += 1;
        }
      }),
    );
    const [acts] = await Promise.all([running, untilAllWait(world, () => threads.length - ended, gate)]);
    return acts;
  } finally {
    gate.release();
  }
}

async function untilAllWait(
  world: World,
  running: () => number,
  gate: { query(sql: string): Promise<unknown> },
): Promise<void> {
  try {
    await waitFor(
      async () => {
        const [row] = await world.database.query<{ waiting: number }>(
          `select count(*)::int as waiting from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return (row?.waiting ?? 0) >= running();
      },
      { what: 'every thread to wait for a lock or to end', intervalMs: 2 },
    );
  } finally {
    await gate.query('rollback');
  }
}
