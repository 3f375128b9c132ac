import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { LINE_CHARACTERS_MAX } from './limits.ts';
import { comparableAddress } from './mailbox.ts';

/** The From fields of a message as mailauth reads them. DMARC judges these authors. */
export interface WrittenAuthors {
  /** Groups flattened. Text without an address is left out. */
  readonly addresses: readonly string[];
  /** Number of From fields. RFC 5322 3.6 wants exactly one. */
  readonly fields: number;
}

/**
 * `dkimVerify` also returns the From fields. Without DNS answers, it verifies no signature.
 * @param header the header of a message, as `cutHeader` returns it
 */
export async function readAuthors(header: Buffer): Promise<WrittenAuthors> {
  const { headerFrom, fromFields } = await dkimVerify(header, { resolver: async () => [] });
  return { addresses: headerFrom, fields: fromFields };
}

/**
 * Compares the authors that DMARC judges with the authors that a customer sees. Otherwise a sender could show
 * one author and have another one judged.
 *
 * @param shown the addresses in From as the record shows them
 * @returns each address once, in the form that block lists compare; null when the two lists differ, or when
 * there is not exactly one From field with readable addresses
 */
export function agreedAuthors(
  { addresses, fields }: WrittenAuthors,
  shown: readonly string[],
): string[] | null {
  const judged = [...new Set(addresses.map(comparableAddress))];
  const seen = new Set(shown.map(comparableAddress));
  const isAgreed =
    fields === 1 && judged.length === seen.size && judged.every((address) => seen.has(address));
  return isAgreed && judged.length > 0 && judged.every(isReadable) ? judged : null;
}

function isReadable(address: string): boolean {
  return address.includes('@') && address.length <= LINE_CHARACTERS_MAX;
}
