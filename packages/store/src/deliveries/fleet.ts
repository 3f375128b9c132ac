import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/** Also removes workers that were silent for a minute: they were killed. */
const ANNOUNCE = statement('announce-worker')`
    with killed as (
      delete from workers where heard_at < now() - interval '1 minute' and id <> $1
    )
    insert into workers (id, slots) values ($1, $2)
    on conflict (id) do update set slots = excluded.slots, heard_at = excluded.heard_at`;

const LEAVE = statement('worker-leaves')`delete from workers where id = $1`;

const SLOTS = statement('fleet-slots')`
    select coalesce(sum(slots), 0)::int as slots from workers where heard_at > now() - interval '3 seconds'`;

/** The workers that run, by what they announce. */
export type Fleet = ReturnType<typeof createFleet>;

/** @param pool its commits need not be durable: each worker announces itself again a second later. */
export function createFleet(pool: Pool) {
  return {
    /** A worker says that it runs. @param slots attempts that it can have in flight at once */
    async announce(workerId: string, slots: number): Promise<void> {
      await runOn(pool, ANNOUNCE, [workerId, slots]);
    },
    /** A worker stops. */
    async leave(workerId: string): Promise<void> {
      await runOn(pool, LEAVE, [workerId]);
    },
    /** @returns the slots of all workers that announced themselves in the last 3 s; 0 when there is none */
    async slots(): Promise<number> {
      const [row] = await runOn<{ slots: number }>(pool, SLOTS, []);
      return row?.slots ?? 0;
    },
  };
}
