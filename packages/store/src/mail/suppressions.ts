import { newEvents, newId } from '@postrider/domain';
import type { AccountId, Clock, EmailId, EventData, SuppressionId, TopicId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { readPage } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { recordCause } from '../db/record-cause.ts';
import type { Suppression as SuppressionRow, SuppressionOrigin } from '../generated/client.ts';
import { addSuppressions, removeSuppressions } from './sql/suppressions.ts';

export type { SuppressionOrigin };

/** Somebody who is not to be written to any more. */
export interface Suppression {
  readonly id: SuppressionId;
  /** As `plainAddress` writes it, as every address here. */
  readonly address: string;
  /** Null: about anything. */
  readonly topicId: TopicId | null;
  readonly origin: SuppressionOrigin;
  /** The message that it came of, where there is one. */
  readonly emailId: EmailId | null;
  readonly createdAt: Date;
}

export interface AddedSuppression {
  readonly id: SuppressionId;
  readonly address: string;
  /** False: the address was suppressed already, and nothing was written. */
  readonly isNew: boolean;
}

/** By address, a suppression about anything is meant; one about a topic is reached by its id alone. */
export type SuppressionKey =
  | { readonly id: SuppressionId; readonly address?: never }
  | { readonly address: string; readonly id?: never };

export type Removal =
  | { readonly kind: 'removed'; /** of those that were there */ readonly ids: readonly SuppressionId[] }
  /** One of them came of a complaint, and no reason was given: all of them are still there. */
  | { readonly kind: 'reason-missing' };

/** Whom an account does not write to. Another account's suppressions read as missing. */
export interface SuppressionStore {
  /**
   * Suppresses addresses by the account's own hand. Each new one has its `email.unsubscribed`, in one statement.
   *
   * @param addresses each once. @returns one entry for each, in their order.
   */
  add(accountId: AccountId, addresses: readonly string[]): Promise<AddedSuppression[]>;
  find(accountId: AccountId, key: SuppressionKey): Promise<Suppression | null>;
  /** The newest first. @returns null when the cursor is none of the account's suppressions. */
  list(
    accountId: AccountId,
    request: PageRequest<'suppression'>,
    origin: SuppressionOrigin | null,
  ): Promise<Page<Suppression> | null>;
  /** All of those that are there, or none. @param reason kept, for each that came of a complaint. */
  remove(accountId: AccountId, keys: readonly SuppressionKey[], reason: string | null): Promise<Removal>;
}

/** The addresses in any order, and the id of each. */
interface AddedRow {
  readonly addresses: readonly string[];
  readonly ids: readonly SuppressionId[];
}

interface RemovedRow {
  readonly id: SuppressionId;
  readonly removed: boolean;
}

export function createSuppressionStore(db: Database, clock: Clock): SuppressionStore {
  const { suppression: suppressions } = db.prisma;
  return {
    add: (accountId, addresses) => addByHand(db, clock, accountId, addresses),
    async find(accountId, { id, address }) {
      const where = id === undefined ? { address, topicId: '' } : { id };
      const row = await mappingUnavailable(() => suppressions.findFirst({ where: { accountId, ...where } }));
      return row === null ? null : suppressionOf(row);
    },
    async list(accountId, request, origin) {
      const mine = { accountId, ...(origin === null ? {} : { origin }) };
      return mappingUnavailable(() =>
        readPage(request, {
          cursor: (id) => suppressions.findFirst({ where: { id, ...mine }, select: { createdAt: true } }),
          async read({ where, ...range }) {
            const rows = await suppressions.findMany({ where: { ...mine, ...where }, ...range });
            return rows.map(suppressionOf);
          },
        }),
      );
    },
    async remove(accountId, keys, reason) {
      const ids = keys.flatMap((key) => key.id ?? []);
      const addresses = keys.flatMap((key) => key.address ?? []);
      const values = [accountId, ids, addresses, reason, clock.now()];
      const rows = await runOn<RemovedRow>(db.pool, removeSuppressions, values);
      const left = rows.filter((row) => !row.removed);
      return left.length > 0
        ? { kind: 'reason-missing' }
        : { kind: 'removed', ids: rows.map(({ id }) => id) };
    },
  };
}

async function addByHand(
  db: Database,
  clock: Clock,
  accountId: AccountId,
  addresses: readonly string[],
): Promise<AddedSuppression[]> {
  const now = clock.now();
  const told = addresses.map((address) => unsubscribed(address, now));
  const events = newEvents('email.unsubscribed', told, clock);
  const given = addresses.map(() => newId('suppression', clock));
  const row = await recordCause<AddedRow>(
    db,
    addSuppressions,
    { accountId, inboundSubject: null, ...events },
    [addresses, given, now.toISOString()],
  );
  const ids = new Map(row?.addresses.map((address, index) => [address, row.ids[index]]));
  return addresses.map((address, index) => {
    const id = ids.get(address);
    if (id === undefined) throw new Error('an address was neither added nor found');
    return { id, address, isNew: id === given[index] };
  });
}

function unsubscribed(address: string, at: Date): EventData<'email.unsubscribed'> {
  return {
    email_id: null,
    to: address,
    topic: null,
    scope: 'all',
    source: 'api',
    occurred_at: at.toISOString(),
  };
}

function suppressionOf(row: SuppressionRow): Suppression {
  return {
    id: row.id as SuppressionId,
    address: row.address,
    topicId: row.topicId === '' ? null : (row.topicId as TopicId),
    origin: row.origin,
    emailId: row.emailId as EmailId | null,
    createdAt: row.createdAt,
  };
}
