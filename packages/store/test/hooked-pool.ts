import type { Pool } from 'pg';

/** Runs each hook once, in front of the first statement that matches after the hooks before it have run. */
export function hookedPool(pool: Pool, ...hooks: [statement: RegExp, hook: () => Promise<unknown>][]): Pool {
  const waiting = [...hooks];
  const connect = async () => {
    const client = await pool.connect();
    const query = async (text: string, values?: unknown[]) => {
      if (waiting[0]?.[0].test(text) === true) await waiting.shift()?.[1]();
      return client.query(text, values);
    };
    return { query, release: (error?: Error) => client.release(error) };
  };
  return { connect, query: pool.query.bind(pool) } as unknown as Pool;
}
