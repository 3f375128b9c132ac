import { createWakeUps, openDatabase } from '@postrider/store';
import type { Database } from '@postrider/store';
import { Pool } from 'pg';
import type { QueryResultRow } from 'pg';

/** The harness's own connections to the experiment's database, past every proxy. */
export interface StoreLink {
  /** As an application would use it: causes are committed here. */
  readonly database: Database;
  readonly query: <Row extends QueryResultRow = QueryResultRow>(
    sql: string,
    params?: readonly unknown[],
  ) => Promise<Row[]>;
  /** @param rows what follows `from` */
  readonly count: (rows: string, params?: readonly unknown[]) => Promise<number>;
  close(): Promise<void>;
}

const PRODUCER_CONNECTIONS = 8;

export function openStoreLink(databaseUrl: string): StoreLink {
  // Experiments cut connections and kill the server: whoever uses the connection is told, and that is enough.
  const onError = (): void => undefined;
  const connection = { databaseUrl, applicationName: 'torture', onError };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: PRODUCER_CONNECTIONS }, wakeUps);
  const pool = new Pool({ connectionString: databaseUrl, max: 3, application_name: 'torture-checker' });
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return {
    database,
    query: async (sql, params = []) => (await pool.query<never>(sql, [...params])).rows,
    async count(rows, params = []) {
      const counted = await pool.query<{ n: number }>(`select count(*)::int as n from ${rows}`, [...params]);
      return counted.rows[0]?.n ?? NaN; // an aggregate always has a row
    },
    async close() {
      await wakeUps.close();
      await database.close();
      await pool.end();
    },
  };
}
