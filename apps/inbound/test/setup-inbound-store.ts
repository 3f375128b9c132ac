import { beforeEach } from '@jest/globals';
import { openDatabase } from '@postrider/store';
import type { Database } from '@postrider/store';
import { createRows, setup, setupDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';

/** The domain on which every account may have inboxes. */
export const SHARED_DOMAIN = 'in.example';
/** An inbox that is there before each test. */
export const INBOX = `a@${SHARED_DOMAIN}`;

export interface InboundStore {
  /** The database seen from outside. */
  readonly outside: TestDatabase;
  readonly rows: Rows;
  /** The connections of an inbound process. */
  readonly database: Database;
}

/**
 * Registers hooks: one database for the test file, opened as an inbound process does. Before each test it has one inbox
 * and nothing else.
 *
 * @param through the address by which the process reaches the database
 */
export function setupInboundStore(through: (databaseUrl: string) => string = (url) => url): InboundStore {
  const outside = setupDatabase();
  const rows = createRows(outside);
  const database = setup(
    async () => openConnections(through(outside.url)),
    (opened) => opened.close(),
  );
  beforeEach(async () => {
    await rows.inbox({ id: 'ibx_1', address: INBOX });
  });
  return { outside, rows, database };
}

/** As an inbound process opens the database. Wake-ups go nowhere: no relay runs. */
export function openConnections(databaseUrl: string): Database {
  return openDatabase(
    { databaseUrl, size: 10, applicationName: 'inbound-test', onError: () => undefined },
    { send: () => undefined, close: async () => undefined },
  );
}
