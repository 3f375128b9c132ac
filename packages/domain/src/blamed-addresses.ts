import type { ProviderNotification } from './mail-outcome.ts';
import { plainAddress } from './plain-address.ts';

/** An address that bounced or complained, as the provider reports it. */
export interface BlamedAddress {
  readonly address: string;
  readonly reason: 'bounce' | 'complaint';
}

/** At this domain, the local part of a recipient decides the result: docs/api.md, "The sandbox provider". */
export const SANDBOX_RECIPIENT_DOMAIN = 'sandbox.postrider.example';

const REASONS = new Map<string, BlamedAddress['reason']>([
  ['email.bounced', 'bounce'],
  ['email.complained', 'complaint'],
]);

/** The addresses that bounced or complained, from a notification in the provider's answer (contract 6.1). */
export function blamedAddresses({ type, recipients, detail }: ProviderNotification): BlamedAddress[] {
  const reason = REASONS.get(type);
  // `not-spam` withdraws a complaint (RFC 6430).
  if (reason === undefined || detail.complaint_type === 'not-spam') return [];
  return recipients.map((address) => ({ address, reason }));
}

/**
 * The addresses to suppress: each once, as `plainAddress` writes it. A complaint outranks a bounce. Sandbox
 * recipients are left out, so that a customer can use them again.
 */
export function addressesToSuppress(blamed: readonly BlamedAddress[]): BlamedAddress[] {
  const reasons = new Map<string, BlamedAddress['reason']>();
  for (const { address: written, reason } of blamed) {
    const address = plainAddress(written) ?? written.toLowerCase();
    if (address.endsWith(`@${SANDBOX_RECIPIENT_DOMAIN}`)) continue;
    if (reasons.get(address) !== 'complaint') reasons.set(address, reason);
  }
  return [...reasons].map(([address, reason]) => ({ address, reason }));
}
