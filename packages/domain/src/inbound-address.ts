import { plainAddress } from './plain-address.ts';

/**
 * The form in which receiving addresses are stored and compared: as `plainAddress` writes them, without the
 * `+tag` (RFC 5233).
 *
 * @returns null when `text` is not a bare address, or when its local part is empty or `*` without its tag. In
 *   a routing rule, `*` means the whole domain.
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
