import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from './pool.ts';

export interface ReadTransactions {
  /**
   * Runs `work` in one read-only transaction.
   *
   * @throws StoreUnavailableError when Postgres cannot be reached.
   */
  readonly read: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Sends a statement after the last one ended: a connection runs one statement at a time. */
type Send = (...args: unknown[]) => Promise<unknown>;

/**
 * Restricts a pool to read-only transactions, one for each call of `read`. All statements of a transaction
 * see the same rows, and Postgres refuses every write. Stores and Prisma use the pool as any other pool.
 *
 * @param pool for this use alone. Outside `read` it refuses every statement.
 */
export function createReadTransactions(pool: Pool): ReadTransactions {
  const current = new AsyncLocalStorage<Send>();
  const query: Send = async (...args) => {
    const send = current.getStore();
    if (send === undefined) throw new Error('a statement outside a read transaction');
    return send(...args);
  };
  const connect = pool.connect.bind(pool);
  Object.assign(pool, {
    query,
    connect: async () => Promise.reject(new Error('a transaction of its own beside the read transaction')),
  });

  return {
    async read(work) {
      const begin = 'begin isolation level repeatable read read only';
      return inTransaction({ connect }, async (client) => current.run(oneAtATime(client), work), begin);
    },
  };
}

function oneAtATime(client: PoolClient): Send {
  const query = client.query.bind(client) as Send;
  let last: Promise<unknown> = Promise.resolve();
  return async (...args) => {
    const answer = last.then(() => query(...args));
    last = answer.catch(() => undefined);
    return answer;
  };
}
