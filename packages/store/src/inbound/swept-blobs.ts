import { escapeLiteral } from 'pg';
import type { Pool, QueryResult } from 'pg';
import { dropAged } from '../db/bounded-step.ts';
import { queryOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { LockConflictError } from '../db/errors.ts';

/** A blob that the sweep took: it leased the blob, to remove it. */
export interface SweptBlob {
  readonly id: string;
  /** A time as text. Until then the sweep may remove the bytes. */
  readonly leasedUntil: string;
}

/** The message names blobs that the sweep took, so nothing was stored. */
export class SweptBlobsError extends Error {
  override readonly name = 'SweptBlobsError';
  readonly blobs: readonly SweptBlob[];
  /** True: every lease has ended, so the bytes may be stored again. False: try again later. */
  readonly isOver: boolean;

  constructor(blobs: readonly (SweptBlob & { readonly isOver: boolean })[]) {
    super(`${blobs.length} of the message's blobs were swept`);
    this.blobs = blobs.map(({ id, leasedUntil }) => ({ id, leasedUntil }));
    this.isOver = blobs.every(({ isOver }) => isOver);
  }
}

/** If a process dies during a sweep, messages with these blobs wait this long. */
export const SWEEP_LEASE_MS = 10 * 60 * 1000;
const SWEEP_EVERY = `interval '6 hours'`;
/**
 * While the sweep waits for the table lock, every transaction that stores a message queues behind it. The
 * transactions that it waits for take milliseconds.
 */
const LOCK_TIMEOUT_MS = 100;

/**
 * The blobs that no message names, and their removal from the blob store. Rows are locked in the order of
 * their ids, also by `add-message`. All methods throw StoreUnavailableError.
 */
export type SweptBlobs = ReturnType<typeof createSweptBlobs>;

export function createSweptBlobs({ pool }: Pick<Database, 'pool'>) {
  return {
    /**
     * Starts the sweep if it is due. The first call on a database only schedules a sweep. Also deletes the
     * rows of blobs that were swept more than a day ago.
     *
     * @returns true when this process must sweep; one process gets each sweep.
     */
    async begin(): Promise<boolean> {
      // This runs before the sweep is started. If it fails, the sweep is still due.
      const kept = `interval '1 day'`;
      await dropAged(pool, { table: 'swept_blobs', age: 'leased_until', kept });
      const { rowCount } = await queryOn(pool, BEGIN);
      return rowCount !== 0;
    },
    /**
     * Leases the blobs that no message names. No message can name such a blob until it is settled or
     * `SWEEP_LEASE_MS` have passed.
     *
     * @returns their ids; null when the table lock was not free in time. The next sweep takes them.
     */
    async take(ids: readonly string[]): Promise<string[] | null> {
      const { rows } = await queryOn<{ id: string }>(pool, unnamedAmong('$1::text[]'), [ids]);
      const unnamed = rows.map(({ id }) => id);
      return unnamed.length === 0 ? [] : takeUnderLock(pool, unnamed);
    },
    /** Ends the lease on blobs that were removed, or that this sweep will not remove. */
    async settle(ids: readonly string[]): Promise<void> {
      await queryOn(pool, SETTLE, [ids]);
    },
  };
}

/**
 * Deletes the rows of swept blobs after their bytes were stored again. A blob that was swept again meanwhile
 * stays.
 */
export async function forgetSwept(pool: Pool, blobs: readonly SweptBlob[]): Promise<void> {
  await queryOn(pool, FORGET, [blobs.map(({ id }) => id), blobs.map(({ leasedUntil }) => leasedUntil)]);
}

/**
 * A database without the row gets the row, and no sweep now: the database may be empty only until its backup
 * is restored. The update does not see the new row.
 */
const BEGIN = `
  with scheduled as (
    insert into blob_sweeps (due_at) values (now() + ${SWEEP_EVERY}) on conflict do nothing
  )
  update blob_sweeps set due_at = now() + ${SWEEP_EVERY} where due_at <= now()`;

const SETTLE = `
  with mine as materialized (
    select id from swept_blobs where id = any ($1::text[]) order by id for no key update
  )
  update swept_blobs set leased_until = now() where id = any (array(select id from mine))`;

const FORGET = `
  with mine as materialized (
    select b.id from swept_blobs b
    where b.id = any ($1::text[])
      and exists (select from unnest($1::text[], $2::timestamptz[]) u (id, lease) where u.id = b.id and u.lease = b.leased_until)
    order by b.id for update
  )
  delete from swept_blobs where id = any (array(select id from mine))`;

/** May run under a table lock. `not exists` could become a join that reads a whole index (decision 0012). */
function unnamedAmong(ids: string): string {
  return `
    select c.id from unnest(${ids}) c (id)
    where (select true from messages m where m.blob = c.id limit 1) is null
      and (select true from message_attachments a where a.blob = c.id limit 1) is null`;
}

/**
 * Each `add-message` locks this table until its transaction ends. The exclusive lock waits for these
 * transactions, so their rows are visible here. A later `add-message` sees the rows written here.
 *
 * Lock, statement and commit go to Postgres in one message. A process that stopped between them would block
 * every transaction that stores a message.
 */
async function takeUnderLock(pool: Pool, ids: readonly string[]): Promise<string[] | null> {
  const until = `now() + make_interval(secs => ${SWEEP_LEASE_MS / 1000})`;
  try {
    const results = (await queryOn(
      pool,
      `set local lock_timeout = ${LOCK_TIMEOUT_MS};
       lock table swept_blobs in exclusive mode;
       insert into swept_blobs as s (id, leased_until)
       select u.id, ${until} from (${unnamedAmong(`${escapeLiteral(`{${ids.join(',')}}`)}::text[]`)}) u
       on conflict (id) do update set leased_until = excluded.leased_until where s.leased_until <= now()
       returning id`,
    )) as unknown as readonly QueryResult<{ id: string }>[];
    return results.at(-1)?.rows.map(({ id }) => id) ?? [];
  } catch (error) {
    if (error instanceof LockConflictError) return null;
    throw error;
  }
}
