import { newId } from '@postrider/domain';
import type { AccountId, Clock } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly createdAt: Date;
}

/** What an account may have at the most; null: as much as the installation's setting says. */
export interface AccountLimits {
  readonly webhooks: number | null;
  /** Sending domains. */
  readonly domains: number | null;
  /** Sending domains that are not verified. */
  readonly unverifiedDomains: number | null;
}

export interface AccountStore {
  create(name: string): Promise<Account>;
  find(id: AccountId): Promise<Account | null>;
  /** Sets the limits that are named. @returns all of them, or null when there is no such account. */
  limit(id: AccountId, limits: Partial<AccountLimits>): Promise<AccountLimits | null>;
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
    async limit(id, { webhooks, domains, unverifiedDomains }) {
      const data = {
        ...(webhooks === undefined ? {} : { webhooksMax: webhooks }),
        ...(domains === undefined ? {} : { domainsMax: domains }),
        ...(unverifiedDomains === undefined ? {} : { unverifiedDomainsMax: unverifiedDomains }),
      };
      const [row] = await mappingUnavailable(() =>
        db.prisma.account.updateManyAndReturn({ where: { id }, data }),
      );
      if (row === undefined) return null;
      const { webhooksMax, domainsMax, unverifiedDomainsMax } = row;
      return { webhooks: webhooksMax, domains: domainsMax, unverifiedDomains: unverifiedDomainsMax };
    },
  };
}
