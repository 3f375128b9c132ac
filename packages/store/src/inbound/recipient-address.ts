import { inboundAddress, plainAddress } from '@postrider/domain';

/**
 * The address by which the inboxes and rules of an envelope recipient are looked up. `postmaster` needs no
 * domain (RFC 5321 4.1.1.3). An inbox cannot have some local parts, such as `a..b`. Only a rule for the whole
 * domain takes mail to such an address, so the result is `@` and the domain.
 *
 * @returns null when the recipient is not an address.
 */
export function recipientAddress(recipient: string): string | null {
  if (recipient.toLowerCase() === 'postmaster') return 'postmaster';
  const address = inboundAddress(recipient);
  if (address !== null) return address;
  const plain = plainAddress(recipient);
  return plain === null ? null : plain.slice(plain.lastIndexOf('@'));
}
