import { LIMITS } from '@postrider/domain';
import type {
  AccountId,
  DeadLetterId,
  DeadLetterReason,
  EventId,
  EventType,
  WebhookId,
} from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { readPage } from '../db/page.ts';
import type { Page } from '../db/page.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { replayDeadLetter, replayDeadLetters } from './sql/replay-dead-letters.ts';
import type { ReplayFilters } from './sql/replay-dead-letters.ts';

/** A delivery that was given up (contract 2.4). */
export interface DeadLetter {
  readonly id: DeadLetterId;
  readonly webhookId: WebhookId;
  readonly eventId: EventId;
  readonly type: string;
  readonly attempts: number;
  readonly reason: DeadLetterReason;
  readonly lastError: string;
  /** Status of the last answer; null when no answer ever came. */
  readonly statusCode: number | null;
  readonly createdAt: Date;
}

/** An absent property matches any value. */
export interface DeadLetterFilter {
  readonly type?: EventType | undefined;
  readonly reason?: DeadLetterReason | undefined;
  /** Made at this time or later. */
  readonly since?: Date | undefined;
  /** Made before this time. */
  readonly until?: Date | undefined;
}

export interface DeadLetterListFilter extends DeadLetterFilter {
  readonly webhookId?: WebhookId | undefined;
}

/** A replay takes only dead letters older than this: a time, or a dead letter of the account. */
export type DeadLetterCut = Date | DeadLetterId;

export interface ReplayRequest extends DeadLetterFilter {
  readonly webhookId: WebhookId;
  readonly before?: DeadLetterCut | undefined;
}

export type ReplayOutcome =
  | { readonly kind: 'replayed'; readonly replayed: number; readonly remaining: number }
  | { readonly kind: 'no webhook' }
  | { readonly kind: 'no such cut' };

export type DeadLetterStore = ReturnType<typeof createDeadLetterStore>;

export function createDeadLetterStore(db: Database) {
  return {
    /**
     * The newest first, at most 100 (contract 8). A webhook that is not the account's has none.
     *
     * @param after only letters older than this one.
     * @returns null when `after` is not a dead letter of the account.
     */
    async list(
      accountId: AccountId,
      filter: DeadLetterListFilter,
      after?: DeadLetterId,
    ): Promise<Page<DeadLetter> | null> {
      return listPage(db, accountId, filter, after);
    },
    /**
     * Queues the event again at once, with a fresh set of attempts, and removes the dead letter.
     *
     * @returns false when the dead letter or its webhook is gone. Of concurrent replays, one returns true.
     */
    async replay(accountId: AccountId, id: DeadLetterId, by: Actor): Promise<boolean> {
      return db.transactions.run((tx) => replayLetter(tx, accountId, id, by));
    },
    /**
     * Replays the matching letters, the oldest first, at most 1,000. Concurrent calls replay each letter
     * once. An event that fails again becomes a new dead letter. `before` keeps it out of later calls.
     */
    async replayMatching(accountId: AccountId, request: ReplayRequest, by: Actor): Promise<ReplayOutcome> {
      const cut = await cutAt(db, accountId, request.before);
      if (cut === null) return { kind: 'no such cut' };
      return db.transactions.run((tx) => replayBatch(tx, accountId, { ...request, cut }, by));
    },
  };
}

/** Replays a dead letter in a transaction. @returns false when the letter or its webhook is gone. */
export async function replayLetter(
  tx: Transaction,
  accountId: AccountId,
  id: DeadLetterId,
  by: Actor,
): Promise<boolean> {
  const [letter] = await runIn<ReplayedLetter>(tx.client, replayDeadLetter, [accountId, id]);
  if (letter === undefined) return false;
  const { webhookId, eventId, reason, lastError, createdAt } = letter;
  const deadLetter = { id, reason, last_error: lastError, created_at: createdAt };
  await recordAudit(tx, by, {
    action: 'event.replay',
    accountId,
    target: eventId,
    webhookId,
    count: 1,
    before: { dead_letter: deadLetter },
  });
  tx.wakeWebhook(webhookId);
  return true;
}

type ReplayedLetter = Pick<DeadLetter, 'id' | 'webhookId' | 'eventId' | 'reason' | 'lastError' | 'createdAt'>;

interface ReplayedBatch {
  readonly replayed: number;
  readonly remaining: number;
  readonly oldest: Date | null;
  readonly newest: Date | null;
}

async function replayBatch(
  tx: Transaction,
  accountId: AccountId,
  { webhookId, type, reason, since, until, cut }: ReplayRequest & { readonly cut: [string, string] },
  by: Actor,
): Promise<ReplayOutcome> {
  const filter = letterFilters({ type, reason });
  const statement = replayDeadLetters(filter);
  const [row] = await runIn<ReplayedBatch>(tx.client, statement, [
    accountId,
    webhookId,
    ...cut,
    LIMITS.deadLettersReplayed,
    since?.toISOString() ?? '-infinity',
    until?.toISOString() ?? 'infinity',
    ...Object.values(filter),
  ]);
  if (row === undefined) return { kind: 'no webhook' };
  const { replayed, remaining, oldest, newest } = row;
  if (replayed > 0) {
    await recordAudit(tx, by, {
      action: 'dead-letters.replay',
      accountId,
      target: webhookId,
      webhookId,
      count: replayed,
      before: { dead_letters: { ...filter, oldest, newest } },
    });
    tx.wakeWebhook(webhookId);
  }
  return { kind: 'replayed', replayed, remaining };
}

/** Time and id of the first dead letter that is too new; null: the account has no such dead letter. */
async function cutAt(
  db: Database,
  accountId: AccountId,
  before: DeadLetterCut | undefined,
): Promise<[string, string] | null> {
  if (before === undefined) return ['infinity', ''];
  if (before instanceof Date) return [before.toISOString(), ''];
  const row = await positionOf(db, accountId, before);
  return row === null ? null : [row.createdAt.toISOString(), before];
}

async function positionOf(db: Database, accountId: AccountId, id: DeadLetterId) {
  const webhookId = { notIn: await beingRemoved(db, accountId) };
  return db.prisma.deadLetter.findFirst({ where: { id, accountId, webhookId }, select: { createdAt: true } });
}

async function listPage(
  db: Database,
  accountId: AccountId,
  { webhookId, type, reason, since, until }: DeadLetterListFilter,
  after: DeadLetterId | undefined,
): Promise<Page<DeadLetter> | null> {
  const cursor = after === undefined ? null : ({ side: 'after', id: after } as const);
  // Never both conditions: Postgres might then read all letters of the account to find one webhook's.
  const owner =
    webhookId === undefined
      ? { accountId, webhookId: { notIn: await beingRemoved(db, accountId) } }
      : { webhookId: { in: await ofAccount(db, accountId, webhookId) } };
  const timeSpan = { createdAt: { ...(since && { gte: since }), ...(until && { lt: until }) } };
  return readPage<'deadLetter', DeadLetter>(
    { limit: LIMITS.deadLettersListed, cursor },
    {
      positionOf: (id) => positionOf(db, accountId, id),
      async read({ where: keyset, ...range }) {
        const rows = await db.prisma.deadLetter.findMany({
          where: { ...owner, ...letterFilters({ type, reason }), AND: [timeSpan, keyset] },
          ...range,
          omit: { accountId: true, eventCreatedAt: true, data: true },
        });
        return rows as DeadLetter[];
      },
    },
  );
}

/**
 * Keeps only the properties that have a value. For an absent property, a replay and Prisma match any value.
 */
export function letterFilters({
  type,
  reason,
}: {
  readonly type?: EventType | undefined;
  readonly reason?: DeadLetterReason | null | undefined;
}): ReplayFilters {
  return { ...(type && { type }), ...(reason && { reason }) };
}

/** The webhook's id alone, or no id when the account has no such webhook. */
async function ofAccount(db: Database, accountId: AccountId, id: WebhookId): Promise<string[]> {
  const rows = await db.prisma.webhook.findMany({
    where: { id, accountId, removedAt: null },
    select: { id: true },
  });
  return rows.map((row) => row.id);
}

/** Webhooks whose DELETE has answered, while their dead letters are still being removed. */
async function beingRemoved(db: Database, accountId: AccountId): Promise<string[]> {
  const rows = await db.prisma.webhook.findMany({
    where: { accountId, removedAt: { not: null } },
    select: { id: true },
  });
  return rows.map(({ id }) => id);
}
