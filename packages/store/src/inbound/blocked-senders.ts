import { newId } from '@postrider/domain';
import type { AccountId, BlockedSenderId, Clock } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { readPage } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { lockAccount } from '../db/sql/lock-account.ts';
import { runIn } from '../db/statement.ts';
import type { BlockedSender as BlockedRow } from '../generated/client.ts';

/** A sender whose mail an account has held. */
export interface BlockedSender {
  readonly id: BlockedSenderId;
  /** As `senderPattern` writes it: an address, or a domain with its subdomains. */
  readonly sender: string;
  readonly createdAt: Date;
}

export type Blocking =
  /** Where it was blocked already, nothing was written. */
  | { readonly kind: 'blocked'; readonly blocked: BlockedSender }
  /** The account has as many as it may have. */
  | { readonly kind: 'limit-reached' };

/** Block lists. Another account's entries read as missing. */
export interface BlockedSenderStore {
  /** The limit is exact, however many are added at once. */
  add(accountId: AccountId, sender: string): Promise<Blocking>;
  find(accountId: AccountId, id: BlockedSenderId): Promise<BlockedSender | null>;
  /** The newest first. @returns null when the cursor is no entry of the account's. */
  list(accountId: AccountId, request: PageRequest<'blockedSender'>): Promise<Page<BlockedSender> | null>;
  /** Mail that is held stays so. @returns false when there is none. */
  delete(accountId: AccountId, id: BlockedSenderId): Promise<boolean>;
}

export function createBlockedSenderStore(
  db: Database,
  clock: Clock,
  perAccountMax: number,
): BlockedSenderStore {
  const { blockedSender: senders } = db.prisma;
  return {
    async add(accountId, sender) {
      return db.transactions.run(async ({ client }): Promise<Blocking> => {
        await runIn(client, lockAccount, [accountId]);
        const known = await client.blockedSender.findFirst({ where: { accountId, sender } });
        if (known !== null) return { kind: 'blocked', blocked: blockedOf(known) };
        const held = await client.blockedSender.count({ where: { accountId } });
        if (held >= perAccountMax) return { kind: 'limit-reached' };
        const id = newId('blockedSender', clock);
        const row = await client.blockedSender.create({
          data: { id, accountId, sender, createdAt: clock.now() },
        });
        return { kind: 'blocked', blocked: blockedOf(row) };
      });
    },
    async find(accountId, id) {
      const row = await mappingUnavailable(() => senders.findFirst({ where: { accountId, id } }));
      return row === null ? null : blockedOf(row);
    },
    async list(accountId, request) {
      return mappingUnavailable(() =>
        readPage(request, {
          cursor: (id) => senders.findFirst({ where: { id, accountId }, select: { createdAt: true } }),
          async read({ where, ...range }) {
            const rows = await senders.findMany({ where: { accountId, ...where }, ...range });
            return rows.map(blockedOf);
          },
        }),
      );
    },
    async delete(accountId, id) {
      const { count } = await mappingUnavailable(() => senders.deleteMany({ where: { accountId, id } }));
      return count > 0;
    },
  };
}

function blockedOf({ id, sender, createdAt }: BlockedRow): BlockedSender {
  return { id: id as BlockedSenderId, sender, createdAt };
}
