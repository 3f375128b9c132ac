import type { IncomingMessage } from 'node:http';

/** A name or address, with an optional port (RFC 9110 7.2). No character ends the host part of a URL. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * Returns the origin from the `Host` header, or the address that accepted the request when `Host` is
 * unusable.
 */
export function requestOrigin({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
  const { host = '' } = headers;
  if (HOST.test(host)) return `http://${host}`;
  const { localAddress = '', localPort = 0 } = socket;
  const address = localAddress.includes(':') ? `[${localAddress.replace(/%.*$/, '')}]` : localAddress;
  return `http://${address}:${localPort}`;
}
