import type { IncomingMessage } from 'node:http';

/** A name or an address, with or without a port (RFC 9110 7.2); nothing that would end it in a URL. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** Where the client says it has sent its request; where it arrived, if the client says nothing of use. */
export function requestOrigin({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
  const { host = '' } = headers;
  if (HOST.test(host)) return `http://${host}`;
  const { localAddress = '', localPort = 0 } = socket;
  const address = localAddress.includes(':') ? `[${localAddress.replace(/%.*$/, '')}]` : localAddress;
  return `http://${address}:${localPort}`;
}
