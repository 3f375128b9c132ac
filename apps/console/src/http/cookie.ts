import type { IncomingMessage } from 'node:http';

/** With the prefix `__Host-`, no other host can set this cookie (RFC 6265bis 4.1.3.2). */
const NAME = '__Host-postrider-console';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';

/** The token of the session, or null. */
export function sessionToken({ headers }: IncomingMessage): string | null {
  const pairs = (headers.cookie ?? '').split(/; */);
  const pair = pairs.find((each) => each.startsWith(`${NAME}=`));
  return pair === undefined ? null : pair.slice(NAME.length + 1);
}

export function sessionCookie(token: string, maxAgeSeconds: number): string {
  return `${NAME}=${token}; Max-Age=${maxAgeSeconds}; ${ATTRIBUTES}`;
}
