import { isIPv6 } from 'node:net';

export interface TraceFields {
  /** The name that the client gave. It may be hostile. */
  readonly helo: string;
  /** The client's IP address. */
  readonly remoteAddress: string;
  /** Our host name. */
  readonly hostname: string;
  /** A keyword of RFC 3848: SMTP, ESMTP, ESMTPS, LMTP, LMTPS. */
  readonly protocol: string;
  /** Our id of the message. */
  readonly id: string;
  readonly receivedAt: Date;
}

/** A domain has at most 255 octets (RFC 5321, 4.5.3.1.2). */
const HELO_LENGTH_MAX = 255;

/**
 * The `Received:` field in front of a message (RFC 5321, 4.4), with its CR LF. It names no recipient: a blind
 * copy must not show its recipients.
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

/**
 * Replaces each character that cannot be in a name or address literal by a question mark. So no line end,
 * comment or quote gets through.
 */
function safeName(helo: string): string {
  const name = helo.slice(0, HELO_LENGTH_MAX).replace(/[^\w.:[\]-]/g, '?');
  return name === '' ? 'unknown' : name;
}
