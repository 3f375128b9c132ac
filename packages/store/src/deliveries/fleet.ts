import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';

/** The workers that run, as far as they have been heard of. */
export interface Fleet {
  /** A worker says that it runs. @param slots attempts that it can have in flight at once */
  announce(workerId: string, slots: number): Promise<void>;
  /** A worker stops. */
  leave(workerId: string): Promise<void>;
  /** @returns the slots of all workers heard of in the last 3 s; 0 when there is none */
  slots(): Promise<number>;
}

/** A worker that was silent for a minute was killed: its row goes. */
const ANNOUNCE: Statement = {
  name: 'announce-worker',
  text: `
    with gone as (
      delete from workers where heard_at < now() - interval '1 minute' and id <> $1
    )
    insert into workers (id, slots) values ($1, $2)
    on conflict (id) do update set slots = excluded.slots, heard_at = excluded.heard_at`,
};

const LEAVE: Statement = { name: 'worker-leaves', text: 'delete from workers where id = $1' };

const SLOTS: Statement = {
  name: 'fleet-slots',
  text: `select coalesce(sum(slots), 0)::int as slots from workers where heard_at > now() - interval '3 seconds'`,
};

/** @param pool commits need not be durable: a worker says the same again a second later. */
export function createFleet(pool: Pool): Fleet {
  return {
    async announce(workerId, slots) {
      await runOn(pool, ANNOUNCE, [workerId, slots]);
    },
    async leave(workerId) {
      await runOn(pool, LEAVE, [workerId]);
    },
    async slots() {
      const [row] = await runOn<{ slots: number }>(pool, SLOTS, []);
      return row?.slots ?? 0;
    },
  };
}
