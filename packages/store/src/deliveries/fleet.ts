import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/** Also removes workers that were silent for a minute: they were killed. */
const ANNOUNCE = statement('announce-worker')`
    with killed as (
      delete from workers where heard_at < now() - interval '1 minute' and id <> $1
    )
    insert into workers (id, slots, queue_kind, queue_prefix, queue_id) values ($1, $2, $3, $4, $5)
    on conflict (id) do update set
      slots = excluded.slots,
      queue_kind = excluded.queue_kind,
      queue_prefix = excluded.queue_prefix,
      queue_id = excluded.queue_id,
      heard_at = excluded.heard_at`;

const LEAVE = statement('worker-leaves')`delete from workers where id = $1`;

const WORKERS = statement('fleet-workers')`
    select slots, queue_kind as "queueKind", queue_prefix as "queuePrefix", queue_id as "queueId"
    from workers
    where heard_at > now() - interval '3 seconds'`;

/** Two processes with equal identities share a queue. */
export interface QueueIdentity {
  readonly kind: 'postgres' | 'redis';
  /** Empty when the queue is in Postgres. */
  readonly prefix: string;
  /** Kept inside the queue. Null: the process cannot read it. */
  readonly id: string | null;
}

export interface RunningWorker {
  /** Attempts that it can have in flight at once. */
  readonly slots: number;
  /** Null: the worker's release does not announce its queue. */
  readonly queue: QueueIdentity | null;
}

interface WorkerRow {
  readonly slots: number;
  readonly queueKind: QueueIdentity['kind'] | null;
  readonly queuePrefix: string;
  readonly queueId: string | null;
}

/** The workers that run, by what they announce. */
export type Fleet = ReturnType<typeof createFleet>;

/** @param pool its commits need not be durable: each worker announces itself again a second later. */
export function createFleet(pool: Pool) {
  return {
    /** A worker says that it runs. @param slots attempts that it can have in flight at once */
    async announce(workerId: string, slots: number, { kind, prefix, id }: QueueIdentity): Promise<void> {
      await runOn(pool, ANNOUNCE, [workerId, slots, kind, prefix, id]);
    },
    /** A worker stops. */
    async leave(workerId: string): Promise<void> {
      await runOn(pool, LEAVE, [workerId]);
    },
    /** @returns the workers that announced themselves in the last 3 s */
    async workers(): Promise<RunningWorker[]> {
      const rows = await runOn<WorkerRow>(pool, WORKERS, []);
      return rows.map(({ slots, queueKind: kind, queuePrefix: prefix, queueId: id }) => ({
        slots,
        queue: kind === null ? null : { kind, prefix, id },
      }));
    },
  };
}
