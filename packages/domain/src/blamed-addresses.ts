import type { ProviderNotification } from './mail-outcome.ts';
import { plainAddress } from './plain-address.ts';

/** An address that a report of the provider blames. */
export interface BlamedAddress {
  readonly address: string;
  readonly reason: 'bounce' | 'complaint';
}

/** Its recipients act by name, on every message: see docs/api.md, "The sandbox provider". */
export const SANDBOX_DOMAIN = 'sandbox.postrider.example';

const REASONS = new Map<string, BlamedAddress['reason']>([
  ['email.bounced', 'bounce'],
  ['email.complained', 'complaint'],
]);

/** Whom a report that comes with the provider's own answer blames (contract 6.1: bounced and complained). */
export function blamedAddresses({ type, recipients, detail }: ProviderNotification): BlamedAddress[] {
  const reason = REASONS.get(type);
  // `not-spam` takes a complaint back (RFC 6430).
  if (reason === undefined || detail.complaint_type === 'not-spam') return [];
  return recipients.map((address) => ({ address, reason }));
}

/**
 * Whom to suppress for reports: each address once, as `plainAddress` writes it, for the graver reason. Nobody in the
 * sandbox, who could then not act again.
 */
export function addressesToSuppress(blamed: readonly BlamedAddress[]): BlamedAddress[] {
  const reasons = new Map<string, BlamedAddress['reason']>();
  for (const { address: written, reason } of blamed) {
    const address = plainAddress(written) ?? written.toLowerCase();
    if (address.endsWith(`@${SANDBOX_DOMAIN}`)) continue;
    if (reasons.get(address) !== 'complaint') reasons.set(address, reason);
  }
  return [...reasons].map(([address, reason]) => ({ address, reason }));
}
