import type { AccountId } from './ids.ts';

/** The subject of a routing rule's own endpoint (contract 2.2). */
export function inboundSubject(accountId: AccountId, rule: string): string {
  return `${accountId}/inbound/${rule}`;
}
