import { inboundAddress } from '@postrider/domain';
import type { AccountId, MessageId, ReceivedMessage } from '@postrider/domain';
import { anyCase } from '../db/any-case.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { senderAddress } from './sender-address.ts';
import { findMessageById, findMessagesByAddress, findMessagesByMessageId } from './sql/read-messages.ts';

/** A Message-ID without brackets, or the address of the sender or a recipient. */
export type MessageSearch = { readonly messageId: string } | { readonly address: string };

/** A message without its text: where it is stored, its state, addresses and subject. */
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
  | 'subject'
>;

/** Maximum messages read of an inbox, and maximum events of one type read of an account. */
const LOOKED_AT_MAX = 1_000;
/** Maximum messages read of a sender in all accounts, to find those in one account. */
const SENT_LOOKED_AT_MAX = 10_000;

interface Bounds {
  /** Unset: every account. */
  readonly accountId?: AccountId | undefined;
  readonly limit: number;
}

/** @returns the newest messages that fit, the newest first. */
export async function findMessages(
  db: Pick<Database, 'pool'>,
  search: MessageSearch,
  { accountId, limit }: Bounds,
): Promise<FoundMessage[]> {
  return 'messageId' in search
    ? runOn<FoundMessage>(db.pool, findMessagesByMessageId, [search.messageId, limit, accountId ?? null])
    : runOn<FoundMessage>(db.pool, findMessagesByAddress, [
        senderAddress(search.address),
        limit,
        accountId ?? null,
        inboundAddress(search.address),
        LOOKED_AT_MAX,
        SENT_LOOKED_AT_MAX,
        `^${anyCase(senderAddress(search.address))}$`,
      ]);
}

/** @returns null when there is no such message, or no longer. */
export async function findMessage(
  { pool }: Pick<Database, 'pool'>,
  id: MessageId,
): Promise<FoundMessage | null> {
  const [message] = await runOn<FoundMessage>(pool, findMessageById, [id]);
  return message ?? null;
}
