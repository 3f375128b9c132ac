import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ConsoleSessionStore } from '@postrider/store';
import { sessionToken } from '../http/cookie.ts';
import { keyByDigest } from './console-keys.ts';
import type { ConsoleKey } from './console-keys.ts';

/** A signed-in user. */
export interface Visitor {
  readonly name: string;
  readonly role: ConsoleKey['role'];
  /** Each form of this session carries it. */
  readonly csrf: string;
}

/** A session ends after a working day. */
export const SESSION_HOURS = 12;

export function newSessionToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The user of a request. The role is the one that CONSOLE_KEYS has now, and a session ends when its key is
 * gone.
 *
 * @returns null when no user is signed in.
 */
export async function visitorOf(
  request: IncomingMessage,
  sessions: Pick<ConsoleSessionStore, 'find'>,
  keys: readonly ConsoleKey[],
): Promise<Visitor | null> {
  const token = sessionToken(request);
  if (token === null) return null;
  const session = await sessions.find(token);
  const key = session === null ? null : keyByDigest(keys, session.keyDigest);
  return key === null ? null : { name: key.name, role: key.role, csrf: csrfOf(token) };
}

/** A token that only pages of this session contain. */
function csrfOf(token: string): string {
  return createHmac('sha256', token).update('csrf').digest('base64url');
}

export function hasCsrf(visitor: Visitor, given: unknown): boolean {
  const own = Buffer.from(visitor.csrf);
  const other = Buffer.from(typeof given === 'string' ? given : '');
  return own.length === other.length && timingSafeEqual(own, other);
}
