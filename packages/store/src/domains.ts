import { newId } from '@postrider/domain';
import type { AccountId, Clock, DomainId } from '@postrider/domain';
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';
import { mappingUnavailable } from './errors.ts';
import type { Domain as DomainRow, DomainStatus } from './generated/client.ts';
import { readPage } from './page.ts';
import type { Page, PageRequest } from './page.ts';
import { inTransaction } from './pool.ts';
import { addDomain } from './sql/add-domain.ts';
import { lockDomains, settleDomains } from './sql/settle-domains.ts';
import { run } from './statement.ts';

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
}

/**
 * Sending domains: a name belongs to one account of all. Another account's domain reads as missing. Those that are verified
 * by the one above them are so as long as that is.
 */
export interface DomainStore {
  /** @returns null when the name is taken, by whomever. */
  add(accountId: AccountId, domain: NewDomain): Promise<Domain | null>;
  find(accountId: AccountId, id: DomainId): Promise<Domain | null>;
  isTaken(name: string): Promise<boolean>;
  /** The newest first. @returns null when the cursor is none of the account's domains. */
  list(accountId: AccountId, request: PageRequest<'domain'>): Promise<Page<Domain> | null>;
  /** @returns false when there is none. */
  update(accountId: AccountId, id: DomainId, state: DomainState): Promise<boolean>;
  /** @returns false when there is none. */
  delete(accountId: AccountId, id: DomainId): Promise<boolean>;
}

export function createDomainStore(db: Database, clock: Clock): DomainStore {
  const { domain: domains } = db.prisma;

  async function find(accountId: AccountId, id: DomainId): Promise<Domain | null> {
    const row = await mappingUnavailable(() => domains.findFirst({ where: { id, accountId } }));
    return row === null ? null : domainOf(row);
  }

  return {
    async add(accountId, domain) {
      const id = newId('domain', clock);
      const { name, region, status, records } = domain;
      const values = [id, accountId, name, region, status, JSON.stringify(records), clock.now()];
      const added = await changing(db, accountId, async (client) => {
        const rows = await run(client, addDomain, values);
        return rows.length === 0 ? null : name;
      });
      return added === null ? null : find(accountId, id);
    },
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
      const name = await changing(db, accountId, async (client) => {
        const set =
          'update domains set status = $3, records = $4 where account_id = $1 and id = $2 returning name';
        const { rows } = await client.query<Named>(set, [accountId, id, status, JSON.stringify(records)]);
        return rows[0]?.name ?? null;
      });
      return name !== null;
    },
    async delete(accountId, id) {
      const name = await changing(db, accountId, async (client) => {
        const gone = 'delete from domains where account_id = $1 and id = $2 returning name';
        const { rows } = await client.query<Named>(gone, [accountId, id]);
        return rows[0]?.name ?? null;
      });
      return name !== null;
    },
  };
}

/** @param change gives the name that it has changed, or null when there is none. */
async function changing(
  db: Database,
  accountId: AccountId,
  change: (client: PoolClient) => Promise<string | null>,
): Promise<string | null> {
  return mappingUnavailable(() =>
    inTransaction(db.pool, async (client) => {
      await run(client, lockDomains, [accountId]);
      const name = await change(client);
      if (name !== null) await run(client, settleDomains, [accountId, name]);
      return name;
    }),
  );
}

interface Named {
  readonly name: string;
}

function domainOf({ id, name, region, status, records, createdAt }: DomainRow): Domain {
  return { id: id as DomainId, name, region, status, records: records as object[], createdAt };
}
