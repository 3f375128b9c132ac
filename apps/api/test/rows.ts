import type { TestApi } from './start-api.ts';

type Rows = TestApi['database'];

/** Whether any session of the database waits for a lock. */
export async function isWaitingForLock(database: Rows): Promise<boolean> {
  const waiting = await database.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return waiting.length > 0;
}

export interface StoredEmail {
  readonly from_address: string;
  readonly to_addresses: string[];
  readonly cc_addresses: string[];
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message that was sent, as it is stored. */
export async function storedEmail(database: Rows, id: string): Promise<StoredEmail | undefined> {
  const [row] = await database.query<StoredEmail>('select * from emails where id = $1', [id]);
  return row;
}
