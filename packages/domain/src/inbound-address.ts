import { plainAddress } from './plain-address.ts';

/** Inboxes have the local parts that every mail system can answer (RFC 5321 4.1.2 and 4.5.3.1). */
const BASE = /^(?=.{1,64}$)[a-z0-9!#$%&'*/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*/=?^_`{|}~-]+)*$/;

/**
 * The form in which receiving addresses are stored and compared: as `plainAddress` writes them, without the
 * `+tag` (RFC 5233).
 *
 * @returns null when `text` is not a bare address, or when an inbox cannot have its local part without the
 *   tag. An inbox cannot have `*`: in a routing rule it means the whole domain.
 */
export function inboundAddress(text: string): string | null {
  const address = plainAddress(text);
  if (address === null) return null;
  const at = address.lastIndexOf('@');
  const [base = ''] = address.slice(0, at).split('+', 1);
  return base === '*' || !BASE.test(base) ? null : `${base}${address.slice(at)}`;
}

/** The local part of an address as `inboundAddress` writes it. */
export function inboundName(address: string): string {
  return address.slice(0, address.lastIndexOf('@'));
}

/** The domain of an address as `inboundAddress` writes it. */
export function inboundDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
