import { isIPv4 } from 'node:net';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Failure, FailureCause, Refused } from './endpoint-result.ts';
import { NameLookupError } from './resolve/name-resolver.ts';
import { HEAD_BYTES_MAX } from './transport/transport.ts';

/** The state of the connection when it failed. */
interface ConnectionFacts {
  hostname: string;
  /** The TLS handshake had not finished. */
  inHandshake: boolean;
}

/** Node's error of a failed connection. It has `errors` when Node tried several addresses. */
type ConnectionError = NodeJS.ErrnoException & { address?: string; port?: number; errors?: unknown[] };

const ERROR_CHARACTERS_MAX = 200;

/** This machine has no descriptors or memory left. That must not count against an endpoint. */
const OWN_FAULTS = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'ERR_SSL_MALLOC_FAILURE']);

/** The common certificate faults, by Node's names of OpenSSL's results. */
const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate has expired',
  CERT_NOT_YET_VALID: 'certificate is not yet valid',
  CERT_REVOKED: 'certificate is revoked',
  CERT_SIGNATURE_FAILURE: 'certificate has a bad signature',
  CERT_UNTRUSTED: 'certificate is not trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  INVALID_CA: 'issuer is not a certificate authority',
  INVALID_PURPOSE: 'certificate is not for servers',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in the chain',
  UNABLE_TO_GET_ISSUER_CERT: 'unable to get the issuer certificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unable to get the issuer certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unable to verify the certificate (is an intermediate missing?)',
};

/**
 * The reason in an OpenSSL error: `error:<hex>:SSL routines:<function>:<reason>:<file>:<line>`. It is no text
 * of the endpoint, so we may show it.
 */
const OPENSSL_REASON = /:SSL routines:[^:]*:([a-z0-9 /]+):/;

/** Node's types lack `secureConnecting`. It is true until the handshake is done. */
export function isInHandshake(socket: Socket | null | undefined): boolean {
  return (socket as { secureConnecting?: boolean } | null | undefined)?.secureConnecting ?? false;
}

export function failed(cause: FailureCause, error: string): Failure {
  return { kind: 'failed', error: toLine(error), cause };
}

export function refused(error: string): Refused {
  return { kind: 'refused', error: toLine(error) };
}

/**
 * Keeps printable ASCII only, and at most `ERROR_CHARACTERS_MAX` of it: the line goes to logs, the API and
 * terminals.
 */
function toLine(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, ERROR_CHARACTERS_MAX);
}

/**
 * Describes a failed connection to an endpoint. Returns null when the fault is ours: this machine has no
 * resources left, or the error has no code, so it is a bug. An unknown code counts as the endpoint's fault.
 * Otherwise an endpoint could fail without a failed attempt.
 */
export function describeFailure(error: unknown, facts: ConnectionFacts): Failure | null {
  if (error instanceof NameLookupError) return failed('dns', error.message);
  const { code, syscall, address, port, message, errors } = error as ConnectionError;
  if (errors !== undefined) return describeFailure(mostTelling(errors), facts);
  if (typeof code !== 'string' || isOwnFault(code, address)) return null;
  if (code === 'HPE_HEADER_OVERFLOW')
    return failed('protocol', `response head larger than ${HEAD_BYTES_MAX} bytes`);
  if (code.startsWith('HPE_')) return failed('protocol', 'malformed response');
  if (syscall === 'connect')
    return failed('connect', `connect ${code} ${formatAddress(address, port)}`.trimEnd());
  const tls = describeTls(code, message, facts.hostname);
  if (tls !== null) return failed('tls', `TLS: ${tls}`);
  if (facts.inHandshake) return failed('tls', 'TLS: connection closed during the handshake');
  return failed('protocol', `connection closed before a complete response (${code})`);
}

function describeTls(code: string, message: string, hostname: string): string | null {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `certificate is not valid for ${hostname}`;
  if (code === 'EPROTO') return OPENSSL_REASON.exec(message)?.[1] ?? 'protocol error';
  const named = /^ERR_(?:SSL|TLS)_(.+)$/.exec(code)?.[1];
  if (named !== undefined) return named.toLowerCase().replaceAll('_', ' ');
  return CERTIFICATE_FAULTS[code] ?? null;
}

/**
 * EADDRNOTAVAIL means that this machine has no free local port: our fault. For an IPv6 address it may also
 * mean that this machine has no IPv6. That counts against the endpoint. Otherwise an endpoint with IPv6 only
 * would be tried for ever.
 */
function isOwnFault(code: string, address = ''): boolean {
  return OWN_FAULTS.has(code) || (code === 'EADDRNOTAVAIL' && (isIPv4(address) || hasIpv6()));
}

/**
 * True when this machine has an IPv6 address that may lead to the internet. Loopback and link-local ones do
 * not.
 */
function hasIpv6(): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses.some(
    ({ family, internal, address }) => family === 'IPv6' && !internal && !/^fe80:/i.test(address),
  );
}

/**
 * Chooses one error of several tried addresses. A fault of ours comes first: that address was not really
 * tried. Then the first error that is no timeout, because it names a reason.
 */
function mostTelling(errors: unknown[]): unknown {
  const tried = errors as ConnectionError[];
  return (
    tried.find(({ code, address }) => code !== undefined && isOwnFault(code, address)) ??
    tried.find(({ code }) => code !== 'ETIMEDOUT') ??
    errors[0]
  );
}

function formatAddress(address: string | undefined, port: number | undefined): string {
  if (address === undefined) return '';
  const host = address.includes(':') ? `[${address}]` : address;
  return port === undefined ? host : `${host}:${port}`;
}
