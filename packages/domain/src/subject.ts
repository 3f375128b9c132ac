import type { AccountId } from './ids.ts';

/** The subject of an endpoint that belongs to an inbound routing rule (contract 2.2). */
export function inboundSubject(accountId: AccountId, rule: string): string {
  return `${accountId}/inbound/${rule}`;
}
