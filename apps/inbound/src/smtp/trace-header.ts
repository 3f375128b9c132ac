import { isIPv6 } from 'node:net';

export interface TraceFields {
  /** What the client called itself: hostile. */
  readonly helo: string;
  readonly remoteAddress: string;
  /** Our own name. */
  readonly hostname: string;
  /** A keyword of RFC 3848: SMTP, ESMTP, ESMTPS, LMTP, LMTPS. */
  readonly protocol: string;
  readonly id: string;
  readonly receivedAt: Date;
}

/** A domain has at most 255 octets (RFC 5321, 4.5.3.1.2). */
const HELO_LENGTH_MAX = 255;

/**
 * The `Received:` field that goes in front of a message (RFC 5321, 4.4), ended by CR LF. It names no recipient: those of
 * a blind copy must not show.
 */
export function traceHeader(fields: TraceFields): string {
  const { remoteAddress, hostname, protocol, id, receivedAt } = fields;
  const address = isIPv6(remoteAddress) ? `IPv6:${remoteAddress}` : remoteAddress;
  const date = receivedAt.toUTCString().replace('GMT', '+0000');
  return (
    `Received: from ${safeName(fields.helo)} ([${address}])\r\n` +
    `\tby ${hostname} with ${protocol} id ${id};\r\n\t${date}\r\n`
  );
}

/** Whatever no name or address literal has becomes a question mark: line ends, comments, quotes, what is not ASCII. */
function safeName(helo: string): string {
  const name = helo.slice(0, HELO_LENGTH_MAX).replace(/[^\w.:[\]-]/g, '?');
  return name === '' ? 'unknown' : name;
}
