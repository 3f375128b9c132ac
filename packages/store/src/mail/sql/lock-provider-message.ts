import type { Statement } from '../../db/statement.ts';

/** Of whoever has to do with a message of the provider's. @param id an expression: the provider's id; null locks nothing */
export function providerMessageLock(id: string): string {
  return `select 1 from pg_advisory_xact_lock(hashtextextended('provider-message/' || ${id}::text, 0))`;
}

/**
 * Waits for the hand-over that gives a message this id, if one is about to commit.
 *
 * Guarantee: of that hand-over and a report that names the id, the later one sees, in its next statement, what the earlier
 * one has committed.
 *
 * $1 the provider's id of the message.
 */
export const lockProviderMessage: Statement = {
  name: 'lock-provider-message',
  text: providerMessageLock('$1'),
};
