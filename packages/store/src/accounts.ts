import { newId } from '@postrider/domain';
import type { AccountId, Clock } from '@postrider/domain';
import type { Database } from './database.ts';
import { mappingUnavailable } from './errors.ts';

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly createdAt: Date;
}

export interface AccountStore {
  create(name: string): Promise<Account>;
  find(id: AccountId): Promise<Account | null>;
}

export function createAccountStore(db: Database, clock: Clock): AccountStore {
  return {
    async create(name) {
      const account: Account = { id: newId('account', clock), name, createdAt: clock.now() };
      await mappingUnavailable(() => db.prisma.account.create({ data: account }));
      return account;
    },
    async find(id) {
      const row = await mappingUnavailable(() => db.prisma.account.findUnique({ where: { id } }));
      return row === null ? null : { id: row.id as AccountId, name: row.name, createdAt: row.createdAt };
    },
  };
}
