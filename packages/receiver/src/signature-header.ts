/** What a signature header holds (contract 6.2). */
export interface SignatureHeader {
  /** Unix time of the attempt, in seconds. */
  readonly t: number;
  /** The signatures, 32 bytes each; at least one. */
  readonly signatures: readonly Buffer[];
}

const TIMESTAMP = /^\d{1,12}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * `t=<unix seconds>,v1=<hex>` with any number of `v1`; entries of other names are for later schemes and ignored.
 *
 * @returns null when the header is malformed: no `t` or two, no `v1`, or one that is not 64 lower-case
 *   hexadecimal digits.
 */
export function parseSignatureHeader(header: string): SignatureHeader | null {
  const entries = header.split(',').map((entry) => entry.trim());
  const timestamps = valuesOf(entries, 't=');
  const signatures = valuesOf(entries, 'v1=');
  const [timestamp] = timestamps;
  if (timestamp === undefined || timestamps.length > 1 || !TIMESTAMP.test(timestamp)) return null;
  if (signatures.length === 0 || !signatures.every((hex) => SIGNATURE.test(hex))) return null;
  return { t: Number(timestamp), signatures: signatures.map((hex) => Buffer.from(hex, 'hex')) };
}

function valuesOf(entries: readonly string[], prefix: string): string[] {
  return entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length));
}
