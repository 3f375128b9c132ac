import type { IncomingMessage } from 'node:http';
import { parseUrl } from '@postrider/domain';

/**
 * True when a page of this console sent the form. `Referrer-Policy: no-referrer` makes browsers send
 * `Origin: null`; then `Sec-Fetch-Site` decides, which no page can set.
 */
export function isOwnOrigin({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  if (origin === undefined) return false;
  if (origin === 'null') return headers['sec-fetch-site'] === 'same-origin';
  return parseUrl(origin)?.host === host;
}
