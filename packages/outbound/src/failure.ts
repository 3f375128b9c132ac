import type { Failure, FailureCause, Refused } from './endpoint-answer.ts';
import { NameLookupError } from './resolve/name-resolver.ts';

/** What was known of the connection when it failed. */
interface ConnectionFacts {
  hostname: string;
  /** The TLS handshake had not finished. */
  inHandshake: boolean;
}

/** What Node says of a failed connection; `errors` when it tried several addresses. */
type ConnectionError = NodeJS.ErrnoException & { address?: string; port?: number; errors?: unknown[] };

/** Largest response head that is read, in bytes. */
export const headBytesMax = 16_384;

const errorCharactersMax = 200;

/** Out of descriptors or memory: the fault of this machine, which must not count against an endpoint. */
const ownFaults = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS']);

/** OpenSSL's verification results by the names Node gives them, those that servers on the internet run into. */
const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate has expired',
  CERT_NOT_YET_VALID: 'certificate is not yet valid',
  CERT_REVOKED: 'certificate is revoked',
  CERT_SIGNATURE_FAILURE: 'certificate has a bad signature',
  CERT_UNTRUSTED: 'certificate is not trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  INVALID_CA: 'certificate is signed by one that may not sign',
  INVALID_PURPOSE: 'certificate is not for servers',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in the chain',
  UNABLE_TO_GET_ISSUER_CERT: 'unable to get the issuer certificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unable to get the issuer certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unable to verify the certificate (is an intermediate missing?)',
};

/** The reason in an OpenSSL error line, `error:<hex>:SSL routines:<function>:<reason>:<file>:<line>`: a text of OpenSSL's own. */
const opensslReason = /:SSL routines:[^:]*:([a-z0-9 ]+):/;

export function failed(cause: FailureCause, error: string): Failure {
  return { kind: 'failed', error: toLine(error), cause };
}

export function refused(error: string): Refused {
  return { kind: 'refused', error: toLine(error) };
}

/** Anything but printable ASCII goes: the line ends in logs, in the API and on terminals. */
function toLine(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, errorCharactersMax);
}

/**
 * Names what went wrong with a connection to an endpoint. Null when the fault is our own and says nothing about the
 * endpoint; an error with a code that is not known here counts as the endpoint's, or it could dodge its attempts.
 */
export function describeFailure(error: unknown, facts: ConnectionFacts): Failure | null {
  if (error instanceof NameLookupError) return failed('dns', error.message);
  const { code, syscall, address, port, message, errors } = error as ConnectionError;
  if (errors !== undefined) return describeFailure(mostTelling(errors), facts);
  if (typeof code !== 'string' || ownFaults.has(code)) return null;
  if (code === 'HPE_HEADER_OVERFLOW')
    return failed('protocol', `response head larger than ${headBytesMax} bytes`);
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
  if (code.startsWith('ERR_SSL_')) return code.slice('ERR_SSL_'.length).toLowerCase().replaceAll('_', ' ');
  if (code === 'EPROTO') return opensslReason.exec(message)?.[1] ?? 'protocol error';
  if (code.startsWith('ERR_TLS_')) return code.slice('ERR_TLS_'.length).toLowerCase().replaceAll('_', ' ');
  return certificateFaults[code] ?? null;
}

/** Of the addresses that were tried one after another: the first that said why, not one that was merely given up. */
function mostTelling(errors: unknown[]): unknown {
  return errors.find((error) => (error as NodeJS.ErrnoException).code !== 'ETIMEDOUT') ?? errors[0];
}

function formatAddress(address: string | undefined, port: number | undefined): string {
  if (address === undefined) return '';
  const host = address.includes(':') ? `[${address}]` : address;
  return port === undefined ? host : `${host}:${port}`;
}
