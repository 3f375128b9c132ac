/** The content of a signature header (contract 6.2). */
export interface SignatureHeader {
  /** The attempt's Unix time in seconds, as the header has it: the signature covers this text. */
  readonly t: string;
  /** One or more signatures, 32 bytes each. */
  readonly signatures: readonly Uint8Array[];
}

const TIMESTAMP = /^\d{1,12}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * Parses `t=<unix seconds>,v1=<hex>` with any number of `v1`. It ignores other names, which later schemes may
 * use, and a `v1` that is not 64 lower-case hexadecimal digits.
 *
 * @returns null when the header does not have exactly one `t` and at least one such `v1`.
 */
export function parseSignatureHeader(header: string): SignatureHeader | null {
  const entries = header.split(',').map((entry) => entry.trim());
  const timestamps = valuesOf(entries, 't=');
  const signatures = valuesOf(entries, 'v1=').filter((hex) => SIGNATURE.test(hex));
  const [timestamp] = timestamps;
  if (timestamp === undefined || timestamps.length > 1 || !TIMESTAMP.test(timestamp)) return null;
  return signatures.length === 0 ? null : { t: timestamp, signatures: signatures.map(bytesOf) };
}

function valuesOf(entries: readonly string[], prefix: string): string[] {
  return entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length));
}

/** Works without `Buffer`, which only Node has. */
function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
    Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16),
  );
}
