import { afterAll, beforeAll } from '@jest/globals';
import { createSecretBox } from '@postrider/domain';
import type { SecretBox } from '@postrider/domain';
import { createTestDatabase, fakeClock } from '@postrider/testing';
import type { FakeClock, TestDatabase } from '@postrider/testing';
import { createAccountStore } from '../src/accounts/accounts.ts';
import { openDatabase } from '../src/db/database.ts';
import type { Database } from '../src/db/database.ts';
import type { WakeUp } from '../src/db/wake-ups.ts';

/** A database of its own, opened as a process does. */
export interface TestStore {
  readonly db: Database;
  readonly clock: FakeClock;
  readonly secrets: SecretBox;
  /** The wake-ups asked for so far, in order. */
  readonly wakeUps: readonly WakeUp[];
  /** The database seen from outside. */
  readonly outside: TestDatabase;
  newAccount(): Promise<Awaited<ReturnType<ReturnType<typeof createAccountStore>['create']>>['id']>;
  close(): Promise<void>;
}

/**
 * Registers hooks that open one store for the test file and close it at the end.
 *
 * @param create makes the database. Default: a clone of the template.
 * @returns the store. Its properties exist in later hooks and in tests.
 */
export function setupStore(create = createTestDatabase): TestStore {
  const store = {} as TestStore;
  beforeAll(async () => void Object.assign(store, await openTestStore(await create())));
  afterAll(() => store.close());
  return store;
}

async function openTestStore(outside: TestDatabase): Promise<TestStore> {
  const clock = fakeClock('2026-03-01T12:00:00.000Z');
  const wakeUps: WakeUp[] = [];
  const db = openDatabase(
    { databaseUrl: outside.url, size: 10, applicationName: 'store-test', onError: () => undefined },
    { send: (news) => void wakeUps.push(news), close: async () => undefined },
  );
  const accounts = createAccountStore(db, clock);
  return {
    db,
    clock,
    secrets: createSecretBox([Buffer.alloc(32, 1)]),
    wakeUps,
    outside,
    newAccount: async () => (await accounts.create('Test')).id,
    async close() {
      await db.close();
      await outside.drop();
    },
  };
}
