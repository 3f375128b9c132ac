import { newId } from '@postrider/domain';
import type { AccountId, BlockedSenderId, Clock } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { readRows } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { lockAccount } from '../db/sql/lock-account.ts';
import { runIn } from '../db/statement.ts';
import type { BlockedSender as BlockedRow } from '../generated/client.ts';

/** A sender on an account's block list. Mail from it is held. */
export interface BlockedSender {
  readonly id: BlockedSenderId;
  /** An address, or a domain with its subdomains, as `senderPattern` returns it. */
  readonly sender: string;
  readonly createdAt: Date;
}

export type Blocking =
  /** The sender is on the list, from now or from before. */
  | { readonly kind: 'blocked'; readonly blocked: BlockedSender }
  /** The account has the maximum number of entries. */
  | { readonly kind: 'limit-reached' };

/** Block lists. Another account's entries read as missing. */
export type BlockedSenderStore = ReturnType<typeof createBlockedSenderStore>;

export function createBlockedSenderStore(db: Database, clock: Clock, perAccountMax: number) {
  const { blockedSender: senders } = db.prisma;
  return {
    /** The limit is exact, also for concurrent requests. */
    async add(accountId: AccountId, sender: string): Promise<Blocking> {
      return db.transactions.run(async ({ client }): Promise<Blocking> => {
        await runIn(client, lockAccount, [accountId]);
        const known = await client.blockedSender.findFirst({ where: { accountId, sender } });
        if (known !== null) return { kind: 'blocked', blocked: blockedOf(known) };
        const entryCount = await client.blockedSender.count({ where: { accountId } });
        if (entryCount >= perAccountMax) return { kind: 'limit-reached' };
        const id = newId('blockedSender', clock);
        const row = await client.blockedSender.create({
          data: { id, accountId, sender, createdAt: clock.now() },
        });
        return { kind: 'blocked', blocked: blockedOf(row) };
      });
    },
    async find(accountId: AccountId, id: BlockedSenderId): Promise<BlockedSender | null> {
      const row = await senders.findFirst({ where: { accountId, id } });
      return row === null ? null : blockedOf(row);
    },
    /** The newest first. @returns null when the cursor is not an entry of the account. */
    async list(
      accountId: AccountId,
      request: PageRequest<'blockedSender'>,
    ): Promise<Page<BlockedSender> | null> {
      return readRows(request, senders, { accountId }, (rows) => rows.map(blockedOf));
    },
    /** Held mail stays held. @returns false when the entry does not exist. */
    async delete(accountId: AccountId, id: BlockedSenderId): Promise<boolean> {
      const { count } = await senders.deleteMany({ where: { accountId, id } });
      return count > 0;
    },
  };
}

function blockedOf({ id, sender, createdAt }: BlockedRow): BlockedSender {
  return { id: id as BlockedSenderId, sender, createdAt };
}
