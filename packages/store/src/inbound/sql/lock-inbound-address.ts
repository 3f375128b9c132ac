import type { Statement } from '../../db/statement.ts';

/**
 * Locks an address on a shared domain, which inboxes and rules of all accounts may want, until the transaction ends.
 *
 * Guarantee: a later statement of the same transaction sees what the former holder of the lock added.
 *
 * $1 address as inboundAddress writes it.
 */
export const lockInboundAddress: Statement = {
  name: 'lock-inbound-address',
  // Prisma cannot read a result of type void.
  text: `select 1 as locked from pg_advisory_xact_lock(hashtextextended('inbound/' || $1::text, 0))`,
};
