import { newEvents, newId } from '@postrider/domain';
import type { AccountId, Clock, EmailId, EventData, SuppressionId, TopicId } from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import { runOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { readPage, readRows } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { inTransaction } from '../db/pool.ts';
import { recordCause } from '../db/record-cause.ts';
import { run } from '../db/statement.ts';
import type { Queryable } from '../db/statement.ts';
import type { Suppression as SuppressionRow, SuppressionOrigin } from '../generated/client.ts';
import {
  addSuppressions,
  removeSuppressions,
  suppressionsOfOriginAfter,
  suppressionsOfOriginBefore,
} from './sql/suppressions.ts';

export type { SuppressionOrigin };

/** An address that gets no more mail from the account. */
export interface Suppression {
  readonly id: SuppressionId;
  /** Normalised by `plainAddress`, as every address here. */
  readonly address: string;
  /** null: the suppression applies to all mail. */
  readonly topicId: TopicId | null;
  readonly origin: SuppressionOrigin;
  /** The message that caused it, if there is one. */
  readonly emailId: EmailId | null;
  readonly createdAt: Date;
}

export interface AddedSuppression {
  readonly id: SuppressionId;
  readonly address: string;
  /** False: the address was already suppressed, and nothing was written. */
  readonly isNew: boolean;
}

export interface Additions {
  readonly added: readonly AddedSuppression[];
  /** At most so many deliveries were written: of the events of the new suppressions. */
  readonly deliveries: number;
}

/** An address names its suppression for all mail. A suppression for one topic has only its id. */
export type SuppressionKey =
  | { readonly id: SuppressionId; readonly address?: never }
  | { readonly address: string; readonly id?: never };

export type Removal =
  /** The ids of the suppressions that existed. */
  | { readonly kind: 'removed'; readonly ids: readonly SuppressionId[] }
  /** At least one came from a complaint, and no reason was given. Nothing was removed. */
  | { readonly kind: 'reason-missing' };

/** The addresses that an account does not send to. Another account's suppressions read as missing. */
export type SuppressionStore = ReturnType<typeof createSuppressionStore>;

export function createSuppressionStore(db: Database, clock: Clock) {
  const { suppression: suppressions } = db.prisma;
  return {
    /**
     * Suppresses addresses at the account's own request. One statement writes them, with an
     * `email.unsubscribed` for each new one.
     *
     * @param addresses each once. @returns one entry for each, in their order.
     */
    async add(accountId: AccountId, addresses: readonly string[]): Promise<Additions> {
      return add(db, clock, accountId, addresses);
    },
    async find(accountId: AccountId, { id, address }: SuppressionKey): Promise<Suppression | null> {
      const where = id === undefined ? { address, topicId: '' } : { id }; // '' in the table: all mail
      const row = await suppressions.findFirst({ where: { accountId, ...where } });
      return row === null ? null : suppressionOf(row);
    },
    /**
     * The newest first.
     *
     * @param origin null: all. @returns null when the cursor is not a suppression of the account.
     */
    async list(
      accountId: AccountId,
      request: PageRequest<'suppression'>,
      origin: SuppressionOrigin | null,
    ): Promise<Page<Suppression> | null> {
      if (origin !== null) return listOfOrigin(db, accountId, request, origin);
      return readRows(request, suppressions, { accountId }, (rows) => rows.map(suppressionOf));
    },
    /**
     * Removes all of these suppressions that exist, or none.
     *
     * @param reason is stored for each suppression that a complaint caused.
     */
    async remove(
      accountId: AccountId,
      keys: readonly SuppressionKey[],
      reason: string | null,
      by: Actor,
    ): Promise<Removal> {
      const ids = keys.flatMap((key) => key.id ?? []);
      const addresses = keys.flatMap((key) => key.address ?? []);
      const values = [accountId, ids, addresses, reason];
      return inTransaction(db.pool, (client) => remove(client, accountId, values, by));
    },
  };
}

async function listOfOrigin(
  db: Database,
  accountId: AccountId,
  request: PageRequest<'suppression'>,
  origin: SuppressionOrigin,
): Promise<Page<Suppression> | null> {
  return readPage(request, {
    positionOf: (id) =>
      db.prisma.suppression.findFirst({ where: { id, accountId, origin }, select: { createdAt: true } }),
    async read({ take }, { cursor, upwards }) {
      const from = [cursor?.createdAt ?? 'infinity', cursor?.id ?? ''];
      const values = [accountId, origin, ...from, take];
      const page = upwards ? suppressionsOfOriginBefore : suppressionsOfOriginAfter;
      return (await runOn<ListedRow>(db.pool, page, values)).map(suppressionOf);
    },
  });
}

async function remove(
  client: Queryable,
  accountId: AccountId,
  values: readonly unknown[],
  by: Actor,
): Promise<Removal> {
  const rows = await run<{ id: SuppressionId; removed: boolean }>(client, removeSuppressions, values);
  if (rows.some((row) => !row.removed)) return { kind: 'reason-missing' };
  const ids = rows.map(({ id }) => id);
  const [first] = ids;
  if (first !== undefined) {
    await recordAudit(client, by, {
      action: 'suppression.remove',
      accountId,
      target: ids.length === 1 ? first : accountId,
      count: ids.length,
      before: { suppressions: ids },
    });
  }
  return { kind: 'removed', ids };
}

async function add(
  db: Database,
  clock: Clock,
  accountId: AccountId,
  addresses: readonly string[],
): Promise<Additions> {
  const now = clock.now();
  const data = addresses.map((address) => unsubscribed(address, now));
  const recipients = addresses.map((address) => [address]);
  const batch = newEvents('email.unsubscribed', data, clock, recipients);
  const newIds = addresses.map(() => newId('suppression', clock));
  const row = await recordCause<{
    addresses: readonly string[];
    ids: readonly SuppressionId[];
    webhooks: readonly string[];
  }>(db, addSuppressions, { accountId, inboundSubject: null, ...batch }, [addresses, newIds]);
  const ids = new Map(row?.addresses.map((address, index) => [address, row.ids[index]]));
  const added = addresses.map((address, index): AddedSuppression => {
    const id = ids.get(address);
    if (id === undefined) throw new Error('an address was neither added nor found');
    return { id, address, isNew: id === newIds[index] };
  });
  const events = added.filter(({ isNew }) => isNew).length;
  return { added, deliveries: events * (row?.webhooks.length ?? 0) };
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

type ListedRow = Omit<SuppressionRow, 'accountId'>;

export function suppressionOf(row: ListedRow): Suppression {
  return {
    id: row.id as SuppressionId,
    address: row.address,
    topicId: row.topicId === '' ? null : (row.topicId as TopicId),
    origin: row.origin,
    emailId: row.emailId as EmailId | null,
    createdAt: row.createdAt,
  };
}
