import { inboundAddress, plainAddress } from '@postrider/domain';
import type { MessageId, ReceivedMessage } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { findMessageById, findMessagesByAddress, findMessagesById } from './sql/read-messages.ts';

/** A Message-ID without brackets, or the address of the sender or a recipient. */
export type MessageSearch = { readonly messageId: string } | { readonly address: string };

/** A message's place, state and addresses, without its content. */
export type FoundMessage = Pick<
  ReceivedMessage,
  | 'id'
  | 'accountId'
  | 'kind'
  | 'inboxId'
  | 'ruleId'
  | 'status'
  | 'heldReason'
  | 'receivedAt'
  | 'size'
  | 'from'
  | 'receivedFor'
>;

/** Of an inbox, or of an account's rules. */
const LOOKED_AT_MAX = 1_000;

/** @returns at most `limit` messages of all accounts, the newest first. */
export async function findMessages(
  db: Pick<Database, 'pool'>,
  search: MessageSearch,
  limit: number,
): Promise<FoundMessage[]> {
  return 'messageId' in search
    ? runOn<FoundMessage>(db.pool, findMessagesById, [search.messageId, limit])
    : runOn<FoundMessage>(db.pool, findMessagesByAddress, [
        plainAddress(search.address) ?? search.address.toLowerCase(),
        limit,
        inboundAddress(search.address),
        LOOKED_AT_MAX,
      ]);
}

/** @returns null when it is deleted. */
export async function findMessage(
  { pool }: Pick<Database, 'pool'>,
  id: MessageId,
): Promise<FoundMessage | null> {
  const [message] = await runOn<FoundMessage>(pool, findMessageById, [id]);
  return message ?? null;
}
