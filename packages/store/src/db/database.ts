import { PrismaPg } from '@prisma/adapter-pg';
import type { Pool, QueryResult } from 'pg';
import { PrismaClient } from '../generated/client.ts';
import { mappingUnavailable } from './errors.ts';
import { createPool } from './pool.ts';
import type { PoolOptions } from './pool.ts';
import { createReadTransactions } from './read-transactions.ts';
import type { ReadTransactions } from './read-transactions.ts';
import { run, statementNameOf } from './statement.ts';
import type { Statement } from './statement.ts';
import { createTransactions } from './transaction.ts';
import type { Transactions } from './transaction.ts';
import type { WakeUps } from './wake-ups.ts';

/** One pool. Prisma uses it for the API's resources; hot statements use it directly. */
export interface Database {
  readonly pool: Pool;
  readonly prisma: PrismaClient;
  readonly transactions: Transactions;
  /**
   * For code that commits without `transactions`. Call it after the commit, so that the relay gets a wake-up.
   */
  readonly wakeUps: Pick<WakeUps, 'send'>;
  close(): Promise<void>;
}

/** @param wakeUps gets the webhooks that got a delivery, after each commit. */
export function openDatabase(options: Omit<PoolOptions, 'durableCommits'>, wakeUps: WakeUps): Database {
  return databaseOn(createPool({ ...options, durableCommits: true }), wakeUps);
}

/**
 * A database for reading. Statements work only inside `read`, which opens one read-only transaction.
 */
export type ReadDatabase = Database & ReadTransactions;

export function openReadDatabase(options: Omit<PoolOptions, 'durableCommits'>): ReadDatabase {
  // Nothing is written, so `durableCommits` has no effect.
  const pool = createPool({ ...options, durableCommits: true });
  const { read } = createReadTransactions(pool);
  return Object.assign(databaseOn(pool, { send: () => undefined }), { read });
}

/** Makes the Prisma client at the first access to `prisma`. A client takes 7 MiB. */
function databaseOn(pool: Pool, wakeUps: Pick<WakeUps, 'send'>): Database {
  let made: PrismaClient | null = null;
  const client = (): PrismaClient => (made ??= createClient(pool));
  return {
    pool,
    get prisma() {
      return client();
    },
    transactions: createTransactions(client, wakeUps),
    wakeUps,
    async close() {
      try {
        await made?.$disconnect();
      } finally {
        await pool.end();
      }
    },
  };
}

function createClient(pool: Pool): PrismaClient {
  const adapter = new PrismaPg(pool, { statementNameGenerator: statementNameOf });
  return mappingClient(new PrismaClient({ adapter, errorFormat: 'minimal' }));
}

/** Every operation of the client throws StoreUnavailableError when Postgres cannot be reached. */
function mappingClient(client: PrismaClient): PrismaClient {
  const mapped = client.$extends({
    query: { $allOperations: async ({ args, query }) => mappingUnavailable<unknown>(() => query(args)) },
  });
  return mapped as unknown as PrismaClient; // the same operations
}

/** Runs a statement on the pool. @throws StoreUnavailableError when Postgres cannot be reached */
export async function runOn<Row extends object>(
  pool: Pool,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return mappingUnavailable(() => run<Row>(pool, statement, values));
}

/** Runs a statement that is not prepared. @throws StoreUnavailableError when Postgres cannot be reached */
export async function queryOn<Row extends object>(
  pool: Pool,
  sql: string,
  values: readonly unknown[] = [],
): Promise<QueryResult<Row>> {
  return mappingUnavailable(() => pool.query<Row>(sql, [...values]));
}
