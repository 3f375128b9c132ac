import type { IncomingMessage } from 'node:http';

/** The prefix makes browsers refuse it from another host or path (RFC 6265bis 4.1.3.2). */
const NAME = '__Host-postrider-console';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';

/** The token of the session, or null. */
export function sessionToken({ headers }: IncomingMessage): string | null {
  const pairs = (headers.cookie ?? '').split(/; */);
  const pair = pairs.find((each) => each.startsWith(`${NAME}=`));
  return pair === undefined ? null : pair.slice(NAME.length + 1);
}

export function sessionCookie(token: string, seconds: number): string {
  return `${NAME}=${token}; Max-Age=${seconds}; ${ATTRIBUTES}`;
}
