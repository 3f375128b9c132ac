import { domainsAbove, newId } from '@postrider/domain';
import type { AccountId, Clock, DomainId } from '@postrider/domain';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { mappingUnavailable } from './errors.ts';
import type { Domain as DomainRow, DomainStatus } from './generated/client.ts';
import { readPage } from './page.ts';
import type { Page, PageRequest } from './page.ts';
import { addDomain } from './sql/add-domain.ts';

/** What the provider says of a domain. */
export interface DomainState {
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

/** Sending domains: a name belongs to one account of all. Another account's domain reads as missing. */
export interface DomainStore {
  /** @returns null when the name is taken, by whomever. */
  add(accountId: AccountId, domain: NewDomain): Promise<Domain | null>;
  find(accountId: AccountId, id: DomainId): Promise<Domain | null>;
  isTaken(name: string): Promise<boolean>;
  /** Whether the account has a verified domain that this name lies under. */
  hasVerifiedAbove(accountId: AccountId, name: string): Promise<boolean>;
  /** The newest first. @returns null when the cursor is none of the account's domains. */
  list(accountId: AccountId, request: PageRequest<'domain'>): Promise<Page<Domain> | null>;
  /** @returns false when there is none. */
  update(accountId: AccountId, id: DomainId, state: DomainState): Promise<boolean>;
  /** @returns false when there is none. */
  delete(accountId: AccountId, id: DomainId): Promise<boolean>;
}

export function createDomainStore(db: Database, clock: Clock): DomainStore {
  const { domain: domains } = db.prisma;
  return {
    async add(accountId, domain) {
      const added = { id: newId('domain', clock), ...domain, createdAt: clock.now() };
      const { id, name, region, status, records, createdAt } = added;
      const values = [id, accountId, name, region, status, JSON.stringify(records), createdAt];
      const rows = await runOn(db.pool, addDomain, values);
      return rows.length === 0 ? null : added;
    },
    async find(accountId, id) {
      const row = await mappingUnavailable(() => domains.findFirst({ where: { id, accountId } }));
      return row === null ? null : domainOf(row);
    },
    async isTaken(name) {
      return (await mappingUnavailable(() => domains.count({ where: { name } }))) > 0;
    },
    async hasVerifiedAbove(accountId, name) {
      const where = { name: { in: domainsAbove(name) }, accountId, status: 'verified' } as const;
      return (await mappingUnavailable(() => domains.count({ where }))) > 0;
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
      const data = { status, records: [...records] };
      const { count } = await mappingUnavailable(() =>
        domains.updateMany({ where: { id, accountId }, data }),
      );
      return count > 0;
    },
    async delete(accountId, id) {
      const { count } = await mappingUnavailable(() => domains.deleteMany({ where: { id, accountId } }));
      return count > 0;
    },
  };
}

function domainOf({ id, name, region, status, records, createdAt }: DomainRow): Domain {
  return { id: id as DomainId, name, region, status, records: records as object[], createdAt };
}
