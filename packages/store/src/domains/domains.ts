import { newId } from '@postrider/domain';
import type { AccountId, Clock, DomainId } from '@postrider/domain';
import type { PoolClient } from 'pg';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { readPage } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { inTransaction } from '../db/pool.ts';
import { lockAccount } from '../db/sql/lock-account.ts';
import { run } from '../db/statement.ts';
import type { Domain as DomainRow, DomainStatus } from '../generated/client.ts';
import { reachedDomainLimit } from './domain-limits.ts';
import type { DomainLimitReached, DomainLimits } from './domain-limits.ts';
import { beginDomainClaims, expiredDomainClaim } from './sql/domain-claims.ts';
import {
  addDomain,
  markVerified,
  releasedDomain,
  releaseDomain,
  settleDomains,
  updateDomain,
} from './sql/domains.ts';

/** What the provider says of a domain. */
export interface DomainState {
  /** Verified, it is kept as pending when it has neither keys of its own nor a verified domain above it in the account. */
  readonly status: DomainStatus;
  /** What its owner publishes in the DNS, as the API answers it. */
  readonly records: readonly object[];
}

export interface NewDomain extends DomainState {
  /** As `parseDomainName` writes it. */
  readonly name: string;
  readonly region: string;
}

export interface Domain extends NewDomain {
  readonly id: DomainId;
  readonly createdAt: Date;
  /** Null: never. */
  readonly firstVerifiedAt: Date | null;
}

export type DomainAddition =
  | { readonly kind: 'added'; readonly domain: Domain }
  /** The name is taken, by whomever. */
  | { readonly kind: 'taken' }
  | DomainLimitReached;

/** A domain that keeps its name from others although nobody has proved to own it. */
export interface DomainClaim {
  readonly accountId: AccountId;
  readonly id: DomainId;
  readonly name: string;
}

/**
 * Sending domains: a name belongs to one account of all. Another account's domain reads as missing. Those that are verified
 * by the one above them are so as long as that is.
 */
export interface DomainStore {
  /** @param limits of an account that has none of its own. */
  add(accountId: AccountId, domain: NewDomain, limits: DomainLimits): Promise<DomainAddition>;
  find(accountId: AccountId, id: DomainId): Promise<Domain | null>;
  isTaken(name: string): Promise<boolean>;
  /** The newest first. @returns null when the cursor is none of the account's domains. */
  list(accountId: AccountId, request: PageRequest<'domain'>): Promise<Page<Domain> | null>;
  /** @returns false when there is none. */
  update(accountId: AccountId, id: DomainId, state: DomainState): Promise<boolean>;
  /** @returns false when there is none. */
  delete(accountId: AccountId, id: DomainId): Promise<boolean>;
  /** Begins the claims of `max` domains at the most that were stored before claims had a beginning. */
  beginClaims(max: number): Promise<void>;
  /** One of those that were never verified and are claimed since before then, at random. @returns null when there is none. */
  expiredClaim(claimedBefore: Date): Promise<DomainClaim | null>;
  /**
   * Frees a name at once, whoever has it, and notes that the provider may still have it.
   *
   * @returns whose it was; null when nobody has it.
   */
  release(name: string): Promise<DomainClaim | null>;
  /** One of the names that are noted, at random. @returns null when there is none. */
  releasedName(): Promise<string | null>;
  isReleased(name: string): Promise<boolean>;
  /** The provider does not have it any more. */
  forgetReleased(name: string): Promise<void>;
}

export function createDomainStore(db: Database, clock: Clock): DomainStore {
  const { domain: domains } = db.prisma;

  async function find(accountId: AccountId, id: DomainId): Promise<Domain | null> {
    const row = await mappingUnavailable(() => domains.findFirst({ where: { id, accountId } }));
    return row === null ? null : domainOf(row);
  }

  return {
    add: (accountId, domain, limits) => add(db, clock, accountId, domain, limits),
    find,
    async isTaken(name) {
      return (await mappingUnavailable(() => domains.count({ where: { name } }))) > 0;
    },
    async list(accountId, request) {
      return mappingUnavailable(() =>
        readPage(request, {
          cursor: (id) => domains.findFirst({ where: { id, accountId }, select: { createdAt: true } }),
          async read({ where, ...range }) {
            const rows = await domains.findMany({ where: { accountId, ...where }, ...range });
            return rows.map(domainOf);
          },
        }),
      );
    },
    async update(accountId, id, { status, records }) {
      const name = await changing(db, clock, accountId, async (client) => {
        const values = [accountId, id, status, JSON.stringify(records), clock.now()];
        return (await run<Named>(client, updateDomain, values))[0]?.name ?? null;
      });
      return name !== null;
    },
    async delete(accountId, id) {
      const name = await changing(db, clock, accountId, async (client) => {
        const gone = 'delete from domains where account_id = $1 and id = $2 returning name';
        const { rows } = await client.query<Named>(gone, [accountId, id]);
        return rows[0]?.name ?? null;
      });
      return name !== null;
    },
    async beginClaims(max) {
      await runOn(db.pool, beginDomainClaims, [max]);
    },
    async expiredClaim(before) {
      const [claim] = await runOn<DomainClaim>(db.pool, expiredDomainClaim, [before]);
      return claim ?? null;
    },
    release: (name) => release(db, clock, name),
    ...releasedNamesOf(db),
  };
}

function releasedNamesOf(db: Database) {
  const { releasedDomain: notes } = db.prisma;
  return {
    async releasedName(): Promise<string | null> {
      return (await runOn<Named>(db.pool, releasedDomain, []))[0]?.name ?? null;
    },
    async isReleased(name: string): Promise<boolean> {
      return (await mappingUnavailable(() => notes.count({ where: { name } }))) > 0;
    },
    async forgetReleased(name: string): Promise<void> {
      await mappingUnavailable(() => notes.deleteMany({ where: { name } }));
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
  let outcome: Exclude<DomainAddition, { kind: 'added' }> = { kind: 'taken' };
  await changing(db, clock, accountId, async (client) => {
    const reached = await reachedDomainLimit(client, accountId, name, limits);
    if (reached !== null) {
      outcome = reached;
      return null;
    }
    const values = [id, accountId, name, region, status, JSON.stringify(records), clock.now()];
    return (await run(client, addDomain, values)).length === 0 ? null : name;
  });
  const row = await mappingUnavailable(() => db.prisma.domain.findFirst({ where: { id, accountId } }));
  return row === null ? outcome : { kind: 'added', domain: domainOf(row) };
}

async function release(db: Database, clock: Clock, name: string): Promise<DomainClaim | null> {
  const owner = await mappingUnavailable(() =>
    db.prisma.domain.findUnique({ where: { name }, select: { accountId: true } }),
  );
  if (owner === null) return null;
  const accountId = owner.accountId as AccountId;
  const released: DomainClaim[] = [];
  await changing(db, clock, accountId, async (client) => {
    const gone = await run<{ id: DomainId }>(client, releaseDomain, [accountId, name]);
    released.push(...gone.map(({ id }) => ({ accountId, id, name })));
    return gone.length === 0 ? null : name;
  });
  return released[0] ?? null;
}

/** @param change gives the name that it has changed, or null when there is none. */
async function changing(
  db: Database,
  clock: Clock,
  accountId: AccountId,
  change: (client: PoolClient) => Promise<string | null>,
): Promise<string | null> {
  return mappingUnavailable(() =>
    inTransaction(db.pool, async (client) => {
      await run(client, lockAccount, [accountId]);
      const name = await change(client);
      if (name === null) return null;
      await run(client, settleDomains, [accountId, name, clock.now()]);
      await run(client, markVerified, [accountId, name, clock.now()]);
      return name;
    }),
  );
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
