import type { InboxId, ThreadId } from '@postrider/domain';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { findThread } from './sql/threads.ts';

/** The Message-IDs in a message's headers, without brackets. `references` keeps the order of the header. */
interface HeaderIds {
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
}

/** Finds the inbox's thread that a message with these ids joins. @returns null when it joins none */
export async function threadOf(
  tx: Transaction,
  inboxId: InboxId,
  { messageId, inReplyTo, references }: HeaderIds,
): Promise<ThreadId | null> {
  const ids = [...(inReplyTo === null ? [] : [inReplyTo]), ...references.toReversed()];
  const [found] = await runIn<{ threadId: ThreadId | null }>(tx.client, findThread, [
    inboxId,
    ids,
    messageId,
  ]);
  return found?.threadId ?? null;
}
