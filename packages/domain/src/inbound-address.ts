import { plainAddress } from './plain-address.ts';

/**
 * The one form in which addresses that receive mail are stored and compared: as `plainAddress` writes them, without the
 * `+tag` (RFC 5233).
 *
 * @returns null when `text` is no bare address, has nothing in front of its tag, or a `*` alone: that means the whole
 * domain in a rule.
 */
export function inboundAddress(text: string): string | null {
  const address = plainAddress(text);
  if (address === null) return null;
  const at = address.lastIndexOf('@');
  const [base = ''] = address.slice(0, at).split('+', 1);
  return base === '' || base === '*' ? null : `${base}${address.slice(at)}`;
}

/** The domain of an address as `inboundAddress` writes it. */
export function inboundDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
