import type { Pool } from 'pg';
import { holdersOf, LOCK_CLASSES } from '../db/advisory-locks.ts';
import { runOn } from '../db/database.ts';
import { keepSession } from '../db/kept-session.ts';
import type { KeptSession, KeptSessionOptions } from '../db/kept-session.ts';
import { statement } from '../db/statement.ts';

const ANNOUNCE = statement('announce-worker')`
    insert into workers (id, number, slots, queue_kind, queue_prefix, queue_id)
    values ($1::int::text, $1::int, $2, $3, $4, $5)
    on conflict (id) do update set
      slots = excluded.slots,
      queue_kind = excluded.queue_kind,
      queue_prefix = excluded.queue_prefix,
      queue_id = excluded.queue_id,
      heard_at = excluded.heard_at`;

const LEAVE = statement('worker-leaves')`delete from workers where id = $1::int::text`;

/** A worker counts for this time after its last announcement. */
export const WORKER_COUNTS_SECONDS = 3;
const IS_RUNNING = `heard_at > now() - interval '${WORKER_COUNTS_SECONDS} seconds'`;

/** A worker announces itself every second. After this time without an announcement, it is silent. */
const SILENCE = `interval '2 seconds'`;

/** No session holds the lock on the number of the row. */
const IS_UNLOCKED = `not exists (select ${holdersOf(LOCK_CLASSES.worker, 'number::oid')})`;

/** A shared lock does not wait for an older session of this worker, whose end Postgres has not noticed. */
const LOCK = `select pg_advisory_lock_shared(${LOCK_CLASSES.worker}, $1)`;

/**
 * Finds workers that died: they are silent, and no session holds the lock on their number.
 *
 * Guarantee: a worker that is slow, frozen or overloaded holds its lock, so it is not dead. Neither is a
 * worker that lost the session of its lock: it still announces itself, every second.
 *
 * Returns the numbers, and a time by which each had died.
 */
const DEAD_WORKERS = statement('dead-workers')`
    select number, (heard_at + ${SILENCE})::text as "diedBefore"
    from workers
    where heard_at < now() - ${SILENCE} and ${IS_UNLOCKED}
    order by heard_at`;

const COLUMNS = `slots, queue_kind as "queueKind", queue_prefix as "queuePrefix", queue_id as "queueId"`;

const WORKERS = statement('fleet-workers')`
    select ${COLUMNS} from workers where ${IS_RUNNING}`;

/** Workers of the last minute that did not leave, the running ones first. */
const KNOWN_WORKERS = statement('known-workers')`
    select ${COLUMNS}, number, greatest(0, extract(epoch from now() - heard_at) * 1000)::float8 as "silentMs",
           case
             when ${IS_RUNNING} then 'running'
             when ${IS_UNLOCKED} then 'died'
             else 'silent'
           end as state
    from workers
    where heard_at > now() - interval '1 minute'
    order by ${IS_RUNNING} desc, slots desc, id`;

/** Two processes with equal identities share a queue. */
export interface QueueIdentity {
  readonly kind: 'postgres' | 'redis';
  /** Empty when the queue is in Postgres. */
  readonly prefix: string;
  /** Kept inside the queue. Null: the process cannot read it. */
  readonly id: string | null;
}

export interface RunningWorker {
  /** Slots that it announces, see `announcedSlots`. */
  readonly slots: number;
  readonly queue: QueueIdentity;
}

/** A worker that announced itself in the last minute. */
export interface KnownWorker extends RunningWorker {
  readonly number: number;
  /** `running`: announced in the last 3 s. A `silent` worker is frozen or overloaded. */
  readonly state: 'running' | 'silent' | 'died';
  /** The time since its last announcement. */
  readonly silentMs: number;
}

/** A worker that died. Deliveries that it had taken may be taken again. */
export interface DeadWorker {
  readonly number: number;
  /** By this time the worker had died, on Postgres's clock. */
  readonly diedBefore: string;
}

interface WorkerRow {
  readonly slots: number;
  readonly queueKind: QueueIdentity['kind'];
  readonly queuePrefix: string;
  readonly queueId: string | null;
}

function runningWorkerOf({
  slots,
  queueKind: kind,
  queuePrefix: prefix,
  queueId: id,
}: WorkerRow): RunningWorker {
  return { slots, queue: { kind, prefix, id } };
}

/** The workers that run, by what they announce. */
export type Fleet = ReturnType<typeof createFleet>;

/** @param pool its commits need not be durable: each worker announces itself again a second later. */
export function createFleet(pool: Pool) {
  return {
    /**
     * A worker says that it runs.
     *
     * @param worker its number, see `lockWorkerNumber`
     * @param slots see `announcedSlots`
     */
    async announce(worker: number, slots: number, { kind, prefix, id }: QueueIdentity): Promise<void> {
      await runOn(pool, ANNOUNCE, [worker, slots, kind, prefix, id]);
    },
    /** A worker stops. */
    async leave(worker: number): Promise<void> {
      await runOn(pool, LEAVE, [worker]);
    },
    /** @returns the workers that announced themselves in the last 3 s */
    async workers(): Promise<RunningWorker[]> {
      return (await runOn<WorkerRow>(pool, WORKERS, [])).map(runningWorkerOf);
    },
    /** @returns the workers of the last minute, also those that are silent or died */
    async known(): Promise<KnownWorker[]> {
      const rows = await runOn<WorkerRow & Omit<KnownWorker, 'slots' | 'queue'>>(pool, KNOWN_WORKERS, []);
      return rows.map(({ number, state, silentMs, ...row }) => ({
        ...runningWorkerOf(row),
        number,
        state,
        silentMs,
      }));
    },
    /** @returns workers that died, ordered by when they fell silent. Each is listed for an hour at least. */
    async deadWorkers(): Promise<DeadWorker[]> {
      return runOn<DeadWorker>(pool, DEAD_WORKERS, []);
    },
  };
}

/**
 * Holds the lock on a worker's number, in a session of its own. Postgres ends the lock when the worker dies.
 *
 * @param worker a random number. Two workers with the same number would wait for each other's leases.
 */
export function lockWorkerNumber(
  worker: number,
  session: Pick<KeptSessionOptions, 'databaseUrl' | 'applicationName' | 'onError'>,
): KeptSession {
  return keepSession({
    ...session,
    async onConnect(client) {
      await client.query(LOCK, [worker]);
    },
  });
}
