import { newId } from '@postrider/domain';
import type { AccountId, Clock, DomainId } from '@postrider/domain';
import type { PoolClient } from 'pg';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { readRows } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { inTransaction } from '../db/pool.ts';
import { lockAccount } from '../db/sql/lock-account.ts';
import { run } from '../db/statement.ts';
import type { Domain as DomainRow, DomainStatus } from '../generated/client.ts';
import { reachedDomainLimit } from './domain-limits.ts';
import type { DomainLimitReached, DomainLimits } from './domain-limits.ts';
import {
  addDomain,
  beginDomainClaims,
  expiredDomainClaim,
  markVerified,
  releasedDomain,
  releaseDomain,
  settleDomains,
  updateDomain,
} from './sql/domains.ts';

/** A domain's state at the provider. */
export interface DomainState {
  /**
   * The store may write `pending` for `verified`: a verified domain needs DKIM keys of its own, or a verified
   * parent domain in the account that has them.
   */
  readonly status: DomainStatus;
  /** The DNS records that the owner publishes, as the API returns them. */
  readonly records: readonly object[];
}

export interface NewDomain extends DomainState {
  /** Normalised by `parseDomainName`. */
  readonly name: string;
  readonly region: string;
}

export interface Domain extends NewDomain {
  readonly id: DomainId;
  readonly createdAt: Date;
  /** null: it was never verified. */
  readonly firstVerifiedAt: Date | null;
}

export type DomainAddition =
  | { readonly kind: 'added'; readonly domain: Domain }
  /** An account already has the name. */
  | { readonly kind: 'taken' }
  | DomainLimitReached;

/** A claim on a domain name: other accounts cannot add the name, although its owner has not proved it. */
export interface DomainClaim {
  readonly accountId: AccountId;
  readonly id: DomainId;
  readonly name: string;
}

/**
 * Sending domains. A name belongs to at most one account. Another account's domain reads as missing. A
 * subdomain may be verified through its parent domain: it stays verified only as long as the parent does.
 */
export type DomainStore = ReturnType<typeof createDomainStore>;

export function createDomainStore(db: Database, clock: Clock) {
  return {
    /** @param limits apply to an account that has no limits of its own. */
    async add(accountId: AccountId, domain: NewDomain, limits: DomainLimits): Promise<DomainAddition> {
      return add(db, clock, accountId, domain, limits);
    },
    async find(accountId: AccountId, id: DomainId): Promise<Domain | null> {
      const row = await db.prisma.domain.findFirst({ where: { id, accountId } });
      return row === null ? null : domainOf(row);
    },
    async isTaken(name: string): Promise<boolean> {
      return (await db.prisma.domain.count({ where: { name } })) > 0;
    },
    /** The newest first. @returns null when the cursor is not a domain of the account. */
    async list(accountId: AccountId, request: PageRequest<'domain'>): Promise<Page<Domain> | null> {
      return readRows(request, db.prisma.domain, { accountId }, (rows) => rows.map(domainOf));
    },
    /** @returns false when the domain does not exist. */
    async update(accountId: AccountId, id: DomainId, { status, records }: DomainState): Promise<boolean> {
      const name = await changeUnderLock(db, clock, accountId, async (client) => {
        const values = [accountId, id, status, JSON.stringify(records), clock.now()];
        return (await run<Named>(client, updateDomain, values))[0]?.name ?? null;
      });
      return name !== null;
    },
    /** @returns false when the domain does not exist. */
    async delete(accountId: AccountId, id: DomainId): Promise<boolean> {
      const name = await changeUnderLock(db, clock, accountId, async (client) => {
        const deletion = 'delete from domains where account_id = $1 and id = $2 returning name';
        const { rows } = await client.query<Named>(deletion, [accountId, id]);
        return rows[0]?.name ?? null;
      });
      return name !== null;
    },
    /** Starts the claims of at most `max` domains that an older version stored without a start time. */
    async beginClaims(max: number): Promise<void> {
      await runOn(db.pool, beginDomainClaims, [max]);
    },
    /** @returns a random domain that was never verified and was claimed over `days` ago; or null. */
    async expiredClaim(days: number): Promise<DomainClaim | null> {
      const [claim] = await runOn<DomainClaim>(db.pool, expiredDomainClaim, [days]);
      return claim ?? null;
    },
    /**
     * Frees a name at once, whichever account has it. It also lists the name as released, because the
     * provider may still have it.
     *
     * @returns the domain that had the name; null when the name was free.
     */
    async release(name: string, by: Actor): Promise<DomainClaim | null> {
      return release(db, clock, name, by);
    },
    /** @returns a random released name, or null. */
    async releasedName(): Promise<string | null> {
      return (await runOn<Named>(db.pool, releasedDomain, []))[0]?.name ?? null;
    },
    async isReleased(name: string): Promise<boolean> {
      return (await db.prisma.releasedDomain.count({ where: { name } })) > 0;
    },
    /** Call it when the provider no longer has the name. */
    async forgetReleased(name: string): Promise<void> {
      await db.prisma.releasedDomain.deleteMany({ where: { name } });
    },
  };
}

async function add(
  db: Database,
  clock: Clock,
  accountId: AccountId,
  { name, region, status, records }: NewDomain,
  limits: DomainLimits,
): Promise<DomainAddition> {
  const id = newId('domain', clock);
  let refusal: Exclude<DomainAddition, { kind: 'added' }> = { kind: 'taken' };
  await changeUnderLock(db, clock, accountId, async (client) => {
    const reached = await reachedDomainLimit(client, accountId, name, limits);
    if (reached !== null) {
      refusal = reached;
      return null;
    }
    const values = [id, accountId, name, region, status, JSON.stringify(records), clock.now()];
    return (await run(client, addDomain, values)).length === 0 ? null : name;
  });
  const row = await db.prisma.domain.findFirst({ where: { id, accountId } });
  return row === null ? refusal : { kind: 'added', domain: domainOf(row) };
}

async function release(db: Database, clock: Clock, name: string, by: Actor): Promise<DomainClaim | null> {
  const owner = await db.prisma.domain.findUnique({ where: { name }, select: { accountId: true } });
  if (owner === null) return null;
  const accountId = owner.accountId as AccountId;
  const released: DomainClaim[] = [];
  await changeUnderLock(db, clock, accountId, async (client) => {
    const [gone] = await run<{ id: DomainId }>(client, releaseDomain, [accountId, name]);
    if (gone === undefined) return null;
    released.push({ accountId, id: gone.id, name });
    await recordAudit(client, by, {
      action: 'domain.release',
      accountId,
      target: gone.id,
      count: 1,
      before: { name },
    });
    return name;
  });
  return released[0] ?? null;
}

/**
 * Changes a domain under the account's lock, then updates the domains that depend on it.
 *
 * @param change returns the name of the domain that it changed, or null.
 */
async function changeUnderLock(
  db: Database,
  clock: Clock,
  accountId: AccountId,
  change: (client: PoolClient) => Promise<string | null>,
): Promise<string | null> {
  return inTransaction(db.pool, async (client) => {
    await run(client, lockAccount, [accountId]);
    const name = await change(client);
    if (name === null) return null;
    await run(client, settleDomains, [accountId, name, clock.now()]);
    await run(client, markVerified, [accountId, name, clock.now()]);
    return name;
  });
}

interface Named {
  readonly name: string;
}

function domainOf(row: DomainRow): Domain {
  const { id, name, region, status, records, createdAt, firstVerifiedAt } = row;
  return {
    id: id as DomainId,
    name,
    region,
    status,
    records: records as object[],
    createdAt,
    firstVerifiedAt,
  };
}
