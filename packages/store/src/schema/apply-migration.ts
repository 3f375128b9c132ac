import { randomUUID } from 'node:crypto';
import { escapeLiteral } from 'pg';
import type { Client } from 'pg';
import { inTries } from './lock-tries.ts';
import type { Tries } from './lock-tries.ts';
import { locksBusyTable, runsInTransaction } from './migration-files.ts';
import type { Migration } from './migration-files.ts';
import { sayAfterMs } from './migration-limits.ts';
import type { MigrateLimits, Say } from './migration-limits.ts';
import { concurrentIndexOf, isConcurrent, statementsOf } from './migration-statements.ts';

/** Applies one migration and records it. After any failure, it can be applied again. */
export async function applyMigration(
  client: Client,
  migration: Migration,
  limits: MigrateLimits,
  say: Say,
): Promise<void> {
  const sayNamed = (line: string): void => say(`migration ${migration.name} ${line}`);
  const tries = triesOf(migration, limits, sayNamed);
  if (runsInTransaction(migration)) {
    await inTries(client, tries.locking, () => inOneTransaction(client, migration));
    return;
  }
  for (const statement of statementsOf(migration.sql)) await applyStatement(client, statement, tries);
  await client.query(recordOf(migration));
}

/**
 * `locking`: for statements that block other statements. `concurrent`: for `… index concurrently`, which
 * blocks no statement.
 */
interface TriesByKind {
  readonly locking: Tries;
  readonly concurrent: Tries;
}

function triesOf(migration: Migration, limits: MigrateLimits, say: Say): TriesByKind {
  const { concurrentLockMs, tries, pauseMs } = limits;
  const busy = locksBusyTable(migration);
  const table = busy ? limits.busyTable : limits;
  return {
    locking: {
      lockMs: table.tableLockMs,
      tries: table.tries,
      pauseMs: table.pauseMs,
      boundsStatements: busy,
      say,
    },
    concurrent: { lockMs: concurrentLockMs, tries, pauseMs, boundsStatements: false, say },
  };
}

/**
 * A statement may return rows with a column `statement`: these statements run next, one by one. A migration
 * file cannot know the names of tables that are made each day.
 */
async function applyStatement(client: Client, statement: string, tries: TriesByKind): Promise<void> {
  let next: readonly string[] = [];
  const concurrent = isConcurrent(statement);
  const kind = concurrent ? tries.concurrent : tries.locking;
  const timer = concurrent
    ? setTimeout(sayWhatRuns, sayAfterMs(kind.lockMs), statement, kind.say)
    : undefined;
  await inTries(client, kind, async () => {
    next = await runRepeatably(client, statement);
  }).finally(() => clearTimeout(timer));
  for (const each of next) await applyStatement(client, each, tries);
}

function sayWhatRuns(statement: string, say: Say): void {
  say(`runs or waits for older transactions: ${statement.split('\n')[0]}`);
}

/**
 * Sends the migration in one message, which is one transaction. So no lock is held while the server waits for
 * this process. An error undoes the whole migration.
 */
async function inOneTransaction(client: Client, migration: Migration): Promise<void> {
  await client.query(`${recordOf(migration)};\n${migration.sql}`);
}

/**
 * A failed `create index concurrently` leaves an invalid index. It is dropped first. A valid
 * index was made by an earlier run. All other statements are written so that they may run twice.
 */
async function runRepeatably(client: Client, statement: string): Promise<readonly string[]> {
  const index = concurrentIndexOf(statement);
  const state = index === null ? null : await indexState(client, index);
  if (state === 'valid') return [];
  if (state === 'invalid') await client.query(`drop index concurrently ${index}`);
  const { rows } = await client.query<{ statement?: unknown }>(statement);
  return rows.flatMap((row) => (typeof row.statement === 'string' ? [row.statement] : []));
}

async function indexState(client: Client, index: string): Promise<'valid' | 'invalid' | null> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [index],
  );
  if (rows[0] === undefined) return null;
  return rows[0].valid ? 'valid' : 'invalid';
}

function recordOf({ name, checksum }: Migration): string {
  const values = [randomUUID(), checksum, name].map(escapeLiteral).join(', ');
  return `insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
          values (${values}, now(), 1)`;
}
