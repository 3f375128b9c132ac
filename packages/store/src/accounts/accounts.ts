import { isDeepStrictEqual } from 'node:util';
import { inboundAddress, newId, parseDomainName } from '@postrider/domain';
import type { AccountId, Clock } from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import { anyCase } from '../db/any-case.ts';
import { runOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { readRows } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { lockAccount } from '../db/sql/lock-account.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { describeAccount, findAccounts } from './sql/accounts.ts';

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

/** An account with its limits, and with counts of its keys, webhooks, domains and inboxes. */
export interface AccountDetails extends Account {
  /** null: it is not suspended. */
  readonly suspendedAt: Date | null;
  /** The address that gets mail about failing webhooks. null: no such mail. */
  readonly noticeEmail: string | null;
  readonly limits: AccountLimits;
  /** API keys that are not revoked. */
  readonly keys: number;
  /** The webhooks of routing rules count, too. */
  readonly webhooks: number;
  /** Sending domains. */
  readonly domains: number;
  /** Inboxes of live and test keys. */
  readonly inboxes: number;
}

/** A row of `describe-account`. */
type DescribedRow = Omit<AccountDetails, 'limits'> & LimitColumns;

interface LimitColumns {
  readonly webhooksMax: number | null;
  readonly domainsMax: number | null;
  readonly unverifiedDomainsMax: number | null;
}

/** What an operator changes about an account. A missing field stays as it is. */
export interface AccountChange {
  readonly name?: string;
  /** As `plainAddress` writes it. null: no mail about failing webhooks. */
  readonly noticeEmail?: string | null;
}

export function createAccountStore(db: Database, clock: Clock) {
  return {
    /**
     * @param noticeEmail as in `AccountChange`.
     * @param by null: a program makes the account for itself, and leaves no entry in the audit.
     */
    async create(name: string, noticeEmail: string | null = null, by: Actor | null = null): Promise<Account> {
      const account: Account = { id: newId('account', clock), name, createdAt: clock.now() };
      await db.transactions.run(async (tx) => {
        await tx.client.account.create({ data: { ...account, noticeEmail } });
        if (by === null) return;
        const { id } = account;
        const after = auditedValues({ name, noticeEmail }, 'an address');
        await recordAudit(tx, by, { action: 'account.create', accountId: id, target: id, count: 1, after });
      });
      return account;
    },
    /** @returns the account's values after the change, or null when it does not exist. */
    async update(id: AccountId, change: AccountChange, by: Actor): Promise<Required<AccountChange> | null> {
      return db.transactions.run((tx) => update(tx, id, change, by));
    },
    async find(id: AccountId): Promise<Account | null> {
      const row = await db.prisma.account.findUnique({ where: { id } });
      return row === null ? null : accountOf(row);
    },
    /** The newest first. @returns null when the cursor is not an account. */
    async list(request: PageRequest<'account'>): Promise<Page<Account> | null> {
      return readRows(request, db.prisma.account, {}, (rows) => rows.map(accountOf));
    },
    /**
     * Finds accounts by their id, a sending domain, the address of an inbox, or a part of their name in any
     * case.
     *
     * @returns at most `limit` accounts. Those with the id, the domain or the inbox come first, then the
     *   newest.
     */
    async search(text: string, limit: number): Promise<Account[]> {
      return searchAccounts(db, text, limit);
    },
    /** @returns null when the account does not exist. */
    async describe(id: AccountId): Promise<AccountDetails | null> {
      const [row] = await runOn<DescribedRow>(db.pool, describeAccount, [id]);
      if (row === undefined) return null;
      const { suspendedAt, noticeEmail, keys, webhooks, domains, inboxes } = row;
      const counts = { keys, webhooks, domains, inboxes };
      return { ...accountOf(row), suspendedAt, noticeEmail, limits: limitsOf(row), ...counts };
    },
    /** Sets the given limits. @returns all limits, or null when the account does not exist. */
    async limit(id: AccountId, changes: Partial<AccountLimits>, by: Actor): Promise<AccountLimits | null> {
      return db.transactions.run((tx) => setLimits(tx, id, changes, by));
    },
  };
}

async function update(
  tx: Transaction,
  id: AccountId,
  change: AccountChange,
  by: Actor,
): Promise<Required<AccountChange> | null> {
  await runIn(tx.client, lockAccount, [id]);
  const select = { name: true, noticeEmail: true };
  const before = await tx.client.account.findUnique({ where: { id }, select });
  if (before === null) return null;
  const after = { ...before, ...change };
  if (isDeepStrictEqual(before, after)) return before;
  await tx.client.account.update({ where: { id }, data: after });
  const isReplaced = before.noticeEmail !== null && before.noticeEmail !== after.noticeEmail;
  await recordAudit(tx, by, {
    action: 'account.update',
    accountId: id,
    target: id,
    count: 1,
    before: auditedValues(before, 'an address'),
    after: auditedValues(after, isReplaced ? 'another address' : 'an address'),
  });
  return after;
}

/** The audit keeps no address: it outlives an erasure. @param placeholder stands for the address. */
function auditedValues({ name, noticeEmail }: Required<AccountChange>, placeholder: string) {
  return { name, notice_email: noticeEmail === null ? null : placeholder };
}

async function setLimits(
  tx: Transaction,
  id: AccountId,
  changes: Partial<AccountLimits>,
  by: Actor,
): Promise<AccountLimits | null> {
  const [row] = await runIn<LimitColumns>(tx.client, lockAccount, [id]);
  if (row === undefined) return null;
  const before = limitsOf(row);
  const after = { ...before, ...changes };
  if (isDeepStrictEqual(before, after)) return before;
  const { webhooks, domains, unverifiedDomains } = after;
  const data = { webhooksMax: webhooks, domainsMax: domains, unverifiedDomainsMax: unverifiedDomains };
  await tx.client.account.update({ where: { id }, data });
  await recordAudit(tx, by, {
    action: 'account.limit',
    accountId: id,
    target: id,
    count: 1,
    before: limitValues(before),
    after: limitValues(after),
  });
  return after;
}

function limitValues({ webhooks, domains, unverifiedDomains }: AccountLimits) {
  return { webhooks, domains, unverified_domains: unverifiedDomains };
}

/** As `search` of the account store. */
export async function searchAccounts(
  { pool }: Pick<Database, 'pool'>,
  text: string,
  limit: number,
): Promise<Account[]> {
  const domain = parseDomainName(text);
  const name = domain.ok ? domain.name : null;
  return runOn<Account>(pool, findAccounts, [text, name, inboundAddress(text), anyCase(text), limit]);
}

/** The names of these accounts. The map lacks one that does not exist. */
export async function readAccountNames(
  { prisma }: Pick<Database, 'prisma'>,
  ids: readonly AccountId[],
): Promise<ReadonlyMap<AccountId, string>> {
  const rows = await prisma.account.findMany({
    where: { id: { in: [...new Set(ids)] } },
    select: { id: true, name: true },
  });
  return new Map(rows.map(({ id, name }) => [id as AccountId, name]));
}

function accountOf({ id, name, createdAt }: Record<'id' | 'name', string> & { createdAt: Date }): Account {
  return { id: id as AccountId, name, createdAt };
}

function limitsOf({ webhooksMax, domainsMax, unverifiedDomainsMax }: LimitColumns): AccountLimits {
  return { webhooks: webhooksMax, domains: domainsMax, unverifiedDomains: unverifiedDomainsMax };
}
