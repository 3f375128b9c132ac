import { inboundAddress, inboundDomain, inboundName, newId, parseId } from '@postrider/domain';
import type { AccountId, Clock, DomainId, InboxId, KeyKind, MailReader } from '@postrider/domain';
import type { PoolClient } from 'pg';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { queryOn, runOn } from '../db/database.ts';
import { readRows } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { inTransaction } from '../db/pool.ts';
import { lockAccount } from '../db/sql/lock-account.ts';
import { run } from '../db/statement.ts';
import { ownsDomain } from '../domains/sql/domains.ts';
import type { Inbox as InboxRow } from '../generated/client.ts';
import { addInbox, deleteInbox, lockInboundAddress, readInboxMail } from './sql/inboxes.ts';

export interface NewInbox {
  readonly accountId: AccountId;
  /** The kind of the key that creates it. All mail of the inbox has this kind. */
  readonly kind: KeyKind;
  /** Normalised by `inboundAddress`. */
  readonly address: string;
  readonly name: string;
  readonly fromName: string | null;
}

/** An inbox without the counts of its mail. */
export type InboxIdentity = Pick<Inbox, 'id' | 'address' | 'fromName'>;

export interface Inbox extends Omit<NewInbox, 'accountId'> {
  readonly id: InboxId;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The number of received messages that are not marked as read. */
  readonly unread: number;
  /** null: it has received no message. */
  readonly lastReceived: Date | null;
  /** The account's domain; null when the domain is shared, or does not receive. */
  readonly domainId: DomainId | null;
}

export type InboxCreation =
  | { readonly kind: 'created'; readonly id: InboxId }
  /** The domain is neither shared nor verified by the account. */
  | { readonly kind: 'foreign-domain' }
  /** On a shared domain, the local part belongs to no account. */
  | { readonly kind: 'reserved-name' }
  /** The account has the maximum number of inboxes. */
  | { readonly kind: 'limit-reached' }
  | { readonly kind: 'exists' };

export interface InboxRules {
  /** Every account may have inboxes on these domains. */
  readonly sharedDomains: readonly string[];
  /** The local parts that no account may have on the shared domains. */
  readonly reservedNames: readonly string[];
  /** The maximum number of inboxes of an account, live and test together. */
  readonly perAccountMax: number;
}

/**
 * Addresses that receive mail. An inbox of another account, or of the other kind of key, reads as missing.
 */
export type InboxStore = ReturnType<typeof createInboxStore>;

export function createInboxStore(db: Database, clock: Clock, rules: InboxRules) {
  const { inbox: inboxes } = db.prisma;

  return {
    /** The limit is exact, also for concurrent requests. */
    async create(inbox: NewInbox): Promise<InboxCreation> {
      return create(db, clock, rules, inbox);
    },
    /** @param idOrAddress as the customer wrote it. */
    async find(reader: MailReader, idOrAddress: string): Promise<Inbox | null> {
      const where = whereIs(reader, idOrAddress);
      if (where === null) return null;
      const row = await inboxes.findFirst({ where });
      if (row === null) return null;
      const [inbox] = await withMail(db, [row]);
      return inbox ?? null;
    },
    /** Like `find`, but does not count the mail. */
    async identify(reader: MailReader, idOrAddress: string): Promise<InboxIdentity | null> {
      const where = whereIs(reader, idOrAddress);
      if (where === null) return null;
      const select = { id: true, address: true, fromName: true };
      const row = await inboxes.findFirst({ where, select });
      return row === null ? null : { ...row, id: row.id as InboxId };
    },
    /** The newest first. @returns null when the cursor is not an inbox of the reader. */
    async list({ accountId, kind }: MailReader, request: PageRequest<'inbox'>): Promise<Page<Inbox> | null> {
      return readRows(request, inboxes, { accountId, kind }, (rows) => withMail(db, rows));
    },
    /** Changes the given fields. @returns the id; null when the inbox does not exist. */
    async update(
      reader: MailReader,
      idOrAddress: string,
      changes: Partial<Pick<NewInbox, 'name' | 'fromName'>>,
    ): Promise<InboxId | null> {
      const where = whereIs(reader, idOrAddress);
      if (where === null) return null;
      const data = { ...changes, updatedAt: clock.now() };
      const [changed] = await inboxes.updateManyAndReturn({ where, data, select: { id: true } });
      return (changed?.id ?? null) as InboxId | null;
    },
    /**
     * Frees the address and lowers the account's count. On a shared domain, other accounts wait 30 days for
     * the address. Messages and threads read as missing at once; a relay deletes their rows later.
     *
     * @returns the id; null when the inbox does not exist.
     */
    async delete({ accountId, kind }: MailReader, idOrAddress: string): Promise<InboxId | null> {
      const [gone] = await runOn<{ id: InboxId }>(db.pool, deleteInbox, [
        accountId,
        kind,
        parseId('inbox', idOrAddress),
        inboundAddress(idOrAddress),
        rules.sharedDomains,
      ]);
      return gone?.id ?? null;
    },
  };
}

async function create(
  db: Database,
  clock: Clock,
  { sharedDomains, reservedNames, perAccountMax }: InboxRules,
  { accountId, kind, address, name, fromName }: NewInbox,
): Promise<InboxCreation> {
  const id = newId('inbox', clock);
  const domain = inboundDomain(address);
  const isShared = sharedDomains.includes(domain);
  if (isShared && reservedNames.includes(inboundName(address))) return { kind: 'reserved-name' };
  return inTransaction(db.pool, async (client): Promise<InboxCreation> => {
    await run(client, lockAccount, [accountId]);
    if (!isShared && (await run(client, ownsDomain, [accountId, domain])).length === 0) {
      return { kind: 'foreign-domain' };
    }
    if ((await countOf(client, accountId)) >= perAccountMax) return { kind: 'limit-reached' };
    if (isShared) await run(client, lockInboundAddress, [address]);
    const values = [id, accountId, kind, address, name, fromName, isShared];
    const added = await run(client, addInbox, values);
    return added.length === 0 ? { kind: 'exists' } : { kind: 'created', id };
  });
}

async function countOf(client: PoolClient, accountId: AccountId): Promise<number> {
  const count = 'select count(*)::int as n from inboxes where account_id = $1';
  const { rows } = await client.query<{ n: number }>(count, [accountId]);
  return rows[0]?.n ?? 0;
}

/** @returns null when the text is neither an id nor an address. */
function whereIs({ accountId, kind }: MailReader, idOrAddress: string) {
  const id = parseId('inbox', idOrAddress);
  if (id !== null) return { accountId, kind, id };
  const address = inboundAddress(idOrAddress);
  return address === null ? null : { accountId, kind, address };
}

/** A row of `read-inbox-mail`. */
type InboxMail = Pick<Inbox, 'unread' | 'lastReceived' | 'domainId'> & { readonly id: string };

async function withMail(db: Database, rows: readonly InboxRow[]): Promise<Inbox[]> {
  const mail = await runOn<InboxMail>(db.pool, readInboxMail, [rows.map(({ id }) => id)]);
  const byId = new Map(mail.map((each) => [each.id, each]));
  return rows.flatMap((row) => {
    const found = byId.get(row.id);
    return found === undefined ? [] : [inboxOf(row, found)]; // deleted meanwhile
  });
}

function inboxOf(row: InboxRow, { unread, lastReceived, domainId }: InboxMail): Inbox {
  const { id, kind, address, name, fromName, createdAt, updatedAt } = row;
  return {
    id: id as InboxId,
    kind,
    address,
    name,
    fromName,
    createdAt,
    updatedAt,
    unread,
    lastReceived,
    domainId,
  };
}

/**
 * Names the inbox that gets the mail to `postmaster`, and to `postmaster@` of each shared domain.
 *
 * @returns its address; null when it does not exist, and then nothing has changed.
 */
export async function setPostmaster(db: Database, id: InboxId, by: Actor): Promise<string | null> {
  return inTransaction(db.pool, async (client) => {
    // One command at a time: the next statement must see the inbox that the last command named.
    await client.query("select pg_advisory_xact_lock(hashtextextended('postmaster', 0))");
    const { rows } = await client.query<{ id: string; address: string; postmaster: boolean }>(
      'select id, address, postmaster from inboxes where id = $1 or postmaster order by id for no key update',
      [id],
    );
    const inbox = rows.find((row) => row.id === id);
    if (inbox === undefined) return null;
    if (inbox.postmaster) return inbox.address;
    const former = rows.find((row) => row.postmaster)?.id ?? null;
    await client.query('update inboxes set postmaster = false where id = $1', [former]);
    await client.query('update inboxes set postmaster = true where id = $1', [id]);
    await recordAudit(client, by, {
      action: 'installation.set',
      accountId: null,
      target: 'postmaster',
      count: 1,
      before: { value: former },
      after: { value: id },
    });
    return inbox.address;
  });
}

/** @returns null when no inbox gets the mail to `postmaster`. @throws StoreUnavailableError */
export async function postmasterInbox({ pool }: Pick<Database, 'pool'>): Promise<InboxId | null> {
  const { rows } = await queryOn<{ id: InboxId }>(pool, 'select id from inboxes where postmaster');
  return rows[0]?.id ?? null;
}
