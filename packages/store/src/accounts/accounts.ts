import { newId } from '@postrider/domain';
import type { AccountId, Clock } from '@postrider/domain';
import type { Database } from '../db/database.ts';

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly createdAt: Date;
}

/** An account's own maximums. null: the installation's setting applies. */
export interface AccountLimits {
  readonly webhooks: number | null;
  /** Sending domains. */
  readonly domains: number | null;
  /** Sending domains that are not verified. */
  readonly unverifiedDomains: number | null;
}

export function createAccountStore(db: Database, clock: Clock) {
  return {
    async create(name: string): Promise<Account> {
      const account: Account = { id: newId('account', clock), name, createdAt: clock.now() };
      await db.prisma.account.create({ data: account });
      return account;
    },
    async find(id: AccountId): Promise<Account | null> {
      const row = await db.prisma.account.findUnique({ where: { id } });
      return row === null ? null : { id: row.id as AccountId, name: row.name, createdAt: row.createdAt };
    },
    /** All accounts, newest first. */
    async list(): Promise<Account[]> {
      const rows = await db.prisma.account.findMany({
        select: { id: true, name: true, createdAt: true },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      });
      return rows.map((row) => ({ ...row, id: row.id as AccountId }));
    },
    /** Sets the given limits. @returns all limits, or null when the account does not exist. */
    async limit(
      id: AccountId,
      { webhooks, domains, unverifiedDomains }: Partial<AccountLimits>,
    ): Promise<AccountLimits | null> {
      const data = {
        ...(webhooks === undefined ? {} : { webhooksMax: webhooks }),
        ...(domains === undefined ? {} : { domainsMax: domains }),
        ...(unverifiedDomains === undefined ? {} : { unverifiedDomainsMax: unverifiedDomains }),
      };
      const [row] = await db.prisma.account.updateManyAndReturn({ where: { id }, data });
      if (row === undefined) return null;
      const { webhooksMax, domainsMax, unverifiedDomainsMax } = row;
      return { webhooks: webhooksMax, domains: domainsMax, unverifiedDomains: unverifiedDomainsMax };
    },
  };
}
