import { createHash, timingSafeEqual } from 'node:crypto';
import type { ConfigurationOf } from '@postrider/runtime';

/** A person who may sign in: an entry of CONSOLE_KEYS. */
export type ConsoleKey = ConfigurationOf<'console'>['consoleKeys'][number];

/** @param text a console key, as a user gives it. @returns null when no entry has this key. */
export function keyOf(keys: readonly ConsoleKey[], text: string): ConsoleKey | null {
  return keyByDigest(keys, createHash('sha256').update(text).digest());
}

/** Compares every entry: the time shows neither which entry matches nor whether one does. */
export function keyByDigest(keys: readonly ConsoleKey[], digest: Uint8Array): ConsoleKey | null {
  const equal = keys.filter((key) => timingSafeEqual(key.digest, digest));
  return equal[0] ?? null;
}
