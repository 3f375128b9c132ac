import type { AnsweredIds, InboxId, ThreadId } from '@postrider/domain';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { findThread } from './sql/threads.ts';

interface HeaderIds extends AnsweredIds {
  readonly messageId: string | null;
}

/** Finds the inbox's thread that a message with these ids joins. @returns null when it joins none */
export async function threadOf(
  tx: Transaction,
  inboxId: InboxId,
  { messageId, inReplyTo, references }: HeaderIds,
): Promise<ThreadId | null> {
  // The likeliest first. References lists the conversation from its start (RFC 5322 3.6.4).
  const ids = [...(inReplyTo === null ? [] : [inReplyTo]), ...references.toReversed()];
  const [found] = await runIn<{ threadId: ThreadId | null }>(tx.client, findThread, [
    inboxId,
    ids,
    messageId,
  ]);
  return found?.threadId ?? null;
}
