import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { createTestDatabase } from './database.ts';
import type { TestDatabase } from './database.ts';
import { createRows } from './rows.ts';

/** Functions that close what is open, in the order in which it was opened. */
const closers: (() => Promise<unknown>)[] = [];

/**
 * Registers hooks that open something for the test file, or for the `describe` around the call, and close it
 * at the end. What was opened last is closed first.
 *
 * @param open resolves to a plain object
 * @returns the same properties. They exist in later hooks and in tests.
 */
export function setup<Opened extends object>(
  open: () => Promise<Opened>,
  close: (opened: Opened) => Promise<unknown>,
): Opened {
  const opened = {} as Opened;
  let isOpen = false;
  beforeAll(async () => {
    Object.defineProperties(opened, Object.getOwnPropertyDescriptors(await open()));
    closers.push(() => close(opened));
    isOpen = true;
  });
  // Jest calls these hooks in the order in which they were registered.
  afterAll(async () => {
    if (isOpen) await closers.pop()?.();
  });
  return opened;
}

/** Registers hooks: one database for the test file, whose tables are empty before each test. */
export function setupDatabase(): TestDatabase {
  const database = setup(createTestDatabase, (opened) => opened.drop());
  beforeEach(() => createRows(database).clear());
  return database;
}

/**
 * Registers a hook that runs cleanups after each test, the newest one first.
 *
 * @returns a function that adds cleanups
 */
export function cleanUpAfterEach(): (...cleanups: (() => unknown)[]) => void {
  const added: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of added.splice(0).reverse()) await cleanup();
  });
  return (...cleanups) => void added.push(...cleanups);
}
