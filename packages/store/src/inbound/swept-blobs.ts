import { escapeLiteral } from 'pg';
import type { Pool, QueryResult } from 'pg';
import { dropAged } from '../db/bounded-step.ts';
import type { Database } from '../db/database.ts';
import { isLockTimeout, mappingUnavailable } from '../db/errors.ts';

/** A blob that the sweep took. */
export interface SweptBlob {
  readonly id: string;
  /** As text. Until then the sweep may remove the bytes. */
  readonly leasedUntil: string;
}

/** A message names blobs that the sweep took after their bytes were put, or before. Nothing of it was stored. */
export class SweptBlobsError extends Error {
  override readonly name = 'SweptBlobsError';
  readonly blobs: readonly SweptBlob[];
  /** The sweep removes none of them any more: their bytes may be put again. Else it is to be tried later. */
  readonly isOver: boolean;

  constructor(blobs: readonly (SweptBlob & { readonly isOver: boolean })[]) {
    super(`${blobs.length} of the message's blobs were swept`);
    this.blobs = blobs.map(({ id, leasedUntil }) => ({ id, leasedUntil }));
    this.isOver = blobs.every(({ isOver }) => isOver);
  }
}

/**
 * What of the blob store no message names. Rows are locked in the order of their ids, also by `add-message`. All methods throw
 * StoreUnavailableError.
 */
export interface SweptBlobs {
  /** Takes the sweep when it is due, of many processes in one. Forgets what was swept more than a day ago. */
  begin(): Promise<boolean>;
  /**
   * Takes those blobs that no message names. From then on no message can come to name one, until it is settled or
   * `SWEEP_LEASE_MS` are over.
   *
   * @returns their ids; null when messages that are being stored left no gap: the next sweep takes them.
   */
  take(ids: readonly string[]): Promise<string[] | null>;
  /** Ends the lease on blobs that are removed, or that this sweep removes no more. */
  settle(ids: readonly string[]): Promise<void>;
}

/** A process that died in a sweep keeps messages with these bytes waiting for so long. */
export const SWEEP_LEASE_MS = 10 * 60 * 1000;
const SWEEP_EVERY = `interval '6 hours'`;
/** All who store a message queue behind a wait for the lock. It covers those that are being stored (milliseconds). */
const LOCK_TIMEOUT_MS = 100;

export function createSweptBlobs({ pool }: Pick<Database, 'pool'>): SweptBlobs {
  return {
    begin: () =>
      mappingUnavailable(async () => {
        // Before the sweep is taken: one that fails here is still due.
        const kept = `interval '1 day'`;
        await dropAged(pool, 'swept blobs', { table: 'swept_blobs', age: 'leased_until', kept });
        const { rowCount } = await pool.query(BEGIN);
        return rowCount !== 0;
      }),
    take: (ids) =>
      mappingUnavailable(async () => {
        const { rows } = await pool.query<{ id: string }>(unnamedAmong('$1::text[]'), [ids]);
        return rows.length === 0
          ? []
          : takeUnderLock(
              pool,
              rows.map(({ id }) => id),
            );
      }),
    settle: (ids) =>
      mappingUnavailable(async () => {
        await pool.query(SETTLE, [ids]);
      }),
  };
}

/** Forgets that blobs were swept, after their bytes were put again. A blob that was swept once more since is left. */
export async function forgetSwept(pool: Pool, blobs: readonly SweptBlob[]): Promise<void> {
  await mappingUnavailable(() =>
    pool.query(FORGET, [blobs.map(({ id }) => id), blobs.map(({ leasedUntil }) => leasedUntil)]),
  );
}

const BEGIN = `
  insert into blob_sweeps as s (due_at) values (now() + ${SWEEP_EVERY})
  on conflict (id) do update set due_at = excluded.due_at where s.due_at <= now()
  returning id`;

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

function unnamedAmong(ids: string): string {
  return `
    select c.id from unnest(${ids}) c (id)
    where not exists (select from messages m where m.blob = c.id)
      and not exists (select from message_attachments a where a.blob = c.id)`;
}

/**
 * Each `add-message` holds this table's lock until its transaction ends. So one that has run is waited for, and its rows are
 * seen here; one that runs later sees what is written here. Lock, statement and commit are one message to Postgres: a process
 * that stood still between them would keep all others from storing messages.
 */
async function takeUnderLock(pool: Pool, ids: readonly string[]): Promise<string[] | null> {
  const until = `now() + make_interval(secs => ${SWEEP_LEASE_MS / 1000})`;
  try {
    const results = (await pool.query(
      `set local lock_timeout = ${LOCK_TIMEOUT_MS};
       lock table swept_blobs in exclusive mode;
       insert into swept_blobs as s (id, leased_until)
       select u.id, ${until} from (${unnamedAmong(`${escapeLiteral(`{${ids.join(',')}}`)}::text[]`)}) u
       on conflict (id) do update set leased_until = excluded.leased_until where s.leased_until <= now()
       returning id`,
    )) as unknown as readonly QueryResult<{ id: string }>[];
    return results.at(-1)?.rows.map(({ id }) => id) ?? [];
  } catch (error) {
    if (isLockTimeout(error)) return null;
    throw error;
  }
}
