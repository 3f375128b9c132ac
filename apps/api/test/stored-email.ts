import type { TestApi } from './start-api.ts';

export interface StoredEmail {
  readonly from_address: string;
  readonly to_addresses: string[];
  readonly cc_addresses: string[];
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message that was sent, as it is stored. */
export async function storedEmail(
  database: TestApi['database'],
  id: string,
): Promise<StoredEmail | undefined> {
  const [row] = await database.query<StoredEmail>('select * from emails where id = $1', [id]);
  return row;
}
