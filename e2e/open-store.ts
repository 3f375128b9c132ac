import { SCOPES } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { createAccountStore, createApiKeyStore, createWakeUps, openDatabase } from '@postrider/store';
import type { Database } from '@postrider/store';
import { ACTOR, systemClock } from '@postrider/testing';
import { Pool } from 'pg';
import type { QueryResultRow } from 'pg';

/** A test's own connections to the database of a system, past every proxy. */
export interface OpenStore {
  /** The database as an application uses it. */
  readonly database: Database;
  readonly query: <Row extends QueryResultRow = QueryResultRow>(
    sql: string,
    params?: readonly unknown[],
  ) => Promise<Row[]>;
  /** @param rows the text after `from` */
  readonly count: (rows: string, params?: readonly unknown[]) => Promise<number>;
  close(): Promise<void>;
}

const CONNECTIONS = 8;

export function openStore(databaseUrl: string): OpenStore {
  // Tests cut connections and kill the server. The next statement reports it.
  const onError = (): void => undefined;
  const connection = { databaseUrl, applicationName: 'e2e', onError };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: CONNECTIONS }, wakeUps);
  const pool = new Pool({ connectionString: databaseUrl, max: 3, application_name: 'e2e-checks' });
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

/** Makes an account and a live key with all scopes and a high limit. */
export async function newOwner(database: Database): Promise<{ accountId: AccountId; apiKey: string }> {
  const { id: accountId } = await createAccountStore(database, systemClock).create('e2e');
  const { key: apiKey } = await createApiKeyStore(database, systemClock).create(
    {
      accountId,
      kind: 'live',
      scopes: SCOPES,
      rateLimitPerMinute: 1_000_000,
    },
    ACTOR,
  );
  return { accountId, apiKey };
}
