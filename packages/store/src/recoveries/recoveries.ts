import { LIMITS, newId } from '@postrider/domain';
import type { AccountId, Clock, DeadLetterReason, EventType, RecoveryId, WebhookId } from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { pageOf } from '../db/page.ts';
import type { Page } from '../db/page.ts';
import { runIn } from '../db/statement.ts';
import { subscriptionOf } from '../events/webhook-events.ts';
import { countPlanned, planRecovery } from './recovery-count.ts';
import type { Recovered, RecoveryCount, RecoveryPlan, RecoveryRequest } from './recovery-count.ts';
import { findRecovery, findRunning, insertRecovery, listRecoveries, stopRecovery } from './sql/recoveries.ts';

export const RECOVERY_STATUSES = ['running', 'finished', 'stopped'] as const;
export type RecoveryStatus = (typeof RECOVERY_STATUSES)[number];

export interface NewRecovery extends RecoveryRequest {
  /** Events a second at most. */
  readonly rate: number;
  /** The number of events that should match. If another number matches, nothing starts. */
  readonly expected?: number | undefined;
}

export interface Recovery {
  readonly id: RecoveryId;
  readonly webhookId: WebhookId;
  readonly status: RecoveryStatus;
  readonly since: Date;
  readonly until: Date;
  /** Empty: every type that the webhook gets. */
  readonly types: readonly EventType[];
  readonly only: Recovered;
  /** The reason of the dead letters; null: any. */
  readonly reason: DeadLetterReason | null;
  /** Events a second at most. */
  readonly rate: number;
  readonly matched: number;
  readonly deadLetters: number;
  /** The count ended early, so the recovery leaves out later events that match. */
  readonly hasMore: boolean;
  /** Events that were queued again. Each is delivered, failed, or in progress. */
  readonly queued: number;
  readonly delivered: number;
  /** Events that became dead letters again, or were deleted meanwhile. */
  readonly failed: number;
  readonly inProgress: number;
  /** Events that are not queued yet, or that a stopped recovery did not queue. */
  readonly left: number;
  /** The moment of the count. The recovery may have started later. */
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

interface RecoveryPageRequest {
  /** Only recoveries older than this one. */
  readonly after?: RecoveryId | undefined;
  readonly limit: number;
}

export type RecoveryStart =
  | { readonly kind: 'started'; readonly id: RecoveryId; readonly count: RecoveryCount }
  | { readonly kind: 'no webhook' }
  /** A webhook has one running recovery at most. */
  | { readonly kind: 'running'; readonly id: RecoveryId }
  /** Another number of events matches than the caller expects. */
  | { readonly kind: 'changed'; readonly count: RecoveryCount };

export type RecoveryStore = ReturnType<typeof createRecoveryStore>;

/** @param eventsCountedMax events that a count looks at, at most. */
export function createRecoveryStore(
  db: Database,
  clock: Clock,
  { eventsCountedMax = LIMITS.recoveryEventsCounted }: { readonly eventsCountedMax?: number } = {},
) {
  return {
    /** Counts what a recovery would send now. @returns null when the account has no such webhook. */
    async count(
      accountId: AccountId,
      webhookId: WebhookId,
      request: RecoveryRequest,
    ): Promise<RecoveryCount | null> {
      const plan = await planRecovery(db, accountId, webhookId, request);
      return plan === null ? null : countPlanned(db, plan, eventsCountedMax);
    },
    /** Counts, and starts a recovery of what was counted. The relays do its work. */
    async start(
      accountId: AccountId,
      webhookId: WebhookId,
      request: NewRecovery,
      by: Actor,
    ): Promise<RecoveryStart> {
      const plan = await planRecovery(db, accountId, webhookId, request);
      if (plan === null) return { kind: 'no webhook' };
      const running = await runningOf(db, accountId, webhookId);
      if (running !== null) return { kind: 'running', id: running };
      const count = await countPlanned(db, plan, eventsCountedMax);
      const { rate, expected = count.matched } = request;
      if (expected !== count.matched) return { kind: 'changed', count };
      const id = newId('recovery', clock);
      if (await insert(db, { ...plan, id, rate, count }, by)) return { kind: 'started', id, count };
      const other = await runningOf(db, accountId, webhookId);
      return other === null ? { kind: 'no webhook' } : { kind: 'running', id: other };
    },
    /** @returns the webhook's recovery that runs, or null. */
    async running(accountId: AccountId, webhookId: WebhookId): Promise<RecoveryId | null> {
      return runningOf(db, accountId, webhookId);
    },
    /** @returns null when the account has no such webhook with this recovery. */
    async find(accountId: AccountId, webhookId: WebhookId, id: RecoveryId): Promise<Recovery | null> {
      return find(db, accountId, webhookId, id);
    },
    /** The newest first. @returns 'no cursor' when `after` is not a recovery of the webhook. */
    async list(
      accountId: AccountId,
      webhookId: WebhookId,
      request: RecoveryPageRequest,
    ): Promise<Page<Recovery> | 'no webhook' | 'no cursor'> {
      return listPage(db, accountId, webhookId, request);
    },
    /**
     * Stops a recovery. Once the promise resolves, the recovery queues nothing more. What it has queued stays
     * queued. A recovery that has ended stays as it is.
     *
     * @returns null when the account has no such webhook with this recovery.
     */
    async stop(
      accountId: AccountId,
      webhookId: WebhookId,
      id: RecoveryId,
      by: Actor,
    ): Promise<Recovery | null> {
      await stop(db, { accountId, webhookId, id }, by);
      return find(db, accountId, webhookId, id);
    },
  };
}

async function find(
  db: Database,
  accountId: AccountId,
  webhookId: WebhookId,
  id: RecoveryId,
): Promise<Recovery | null> {
  const [row] = await runOn<RecoveryRow>(db.pool, findRecovery, [accountId, webhookId, id]);
  return row === undefined ? null : recoveryOf(row);
}

async function listPage(
  db: Database,
  accountId: AccountId,
  webhookId: WebhookId,
  { after, limit }: RecoveryPageRequest,
): Promise<Page<Recovery> | 'no webhook' | 'no cursor'> {
  if ((await subscriptionOf(db, accountId, webhookId)) === null) return 'no webhook';
  const cursor = after === undefined ? null : await find(db, accountId, webhookId, after);
  if (after !== undefined && cursor === null) return 'no cursor';
  const from = [cursor?.createdAt.toISOString() ?? 'infinity', after ?? ''];
  const values = [accountId, webhookId, ...from, limit + 1];
  const rows = await runOn<RecoveryRow>(db.pool, listRecoveries, values);
  return pageOf(rows.map(recoveryOf), limit);
}

/** @returns false when the webhook is gone, or has a recovery that runs. */
async function insert(
  db: Database,
  {
    id,
    rate,
    count,
    ...plan
  }: RecoveryPlan & { readonly id: RecoveryId; readonly rate: number; readonly count: RecoveryCount },
  by: Actor,
): Promise<boolean> {
  const { accountId, webhookId, request, range, asOf } = plan;
  const [since, until] = [plan.span.since.toISOString(), plan.span.until.toISOString()];
  const { types, only, reason } = request;
  const { matched, deadLetters, hasMore } = count;
  const values = [
    id,
    accountId,
    webhookId,
    since,
    until,
    types,
    only !== 'all',
    rate,
    matched,
    deadLetters,
    hasMore,
    String(range.after),
    String(range.last),
    asOf.toISOString(),
    only === 'dead_letters',
    reason ?? null,
  ];
  return db.transactions.run(async (tx) => {
    const inserted = await runIn(tx.client, insertRecovery, values);
    if (inserted.length === 0) return false;
    const asked = { since, until, types, only, reason, rate, dead_letters: deadLetters };
    const after = hasMore ? { ...asked, has_more: true } : asked;
    const what = { action: 'recovery.start', accountId, target: id, webhookId, count: matched } as const;
    await recordAudit(tx, by, { ...what, after });
    return true;
  });
}

interface RecoveryIds {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  readonly id: RecoveryId;
}

async function stop(db: Database, { accountId, webhookId, id }: RecoveryIds, by: Actor): Promise<void> {
  await db.transactions.run(async (tx) => {
    const stopped = await runIn<{ queued: number }>(tx.client, stopRecovery, [accountId, webhookId, id]);
    for (const { queued } of stopped) {
      const what = { action: 'recovery.stop', accountId, target: id, webhookId, count: 1 } as const;
      await recordAudit(tx, by, { ...what, before: { queued } });
    }
  });
}

async function runningOf(
  db: Database,
  accountId: AccountId,
  webhookId: WebhookId,
): Promise<RecoveryId | null> {
  const [row] = await runOn<{ id: RecoveryId }>(db.pool, findRunning, [accountId, webhookId]);
  return row?.id ?? null;
}

export type RecoveryRow = Omit<Recovery, 'status' | 'only' | 'inProgress' | 'left'> & {
  readonly undeliveredOnly: boolean;
  readonly deadLettersOnly: boolean;
  readonly stopped: boolean;
};

export function recoveryOf({ undeliveredOnly, deadLettersOnly, stopped, ...row }: RecoveryRow): Recovery {
  const { matched, queued, delivered, failed, endedAt } = row;
  const status = statusOf(endedAt, stopped);
  const onlyEvents = undeliveredOnly ? 'undelivered' : 'all';
  return {
    ...row,
    status,
    only: deadLettersOnly ? 'dead_letters' : onlyEvents,
    inProgress: queued - delivered - failed,
    left: status === 'finished' ? 0 : Math.max(0, matched - queued),
  };
}

function statusOf(endedAt: Date | null, stopped: boolean): RecoveryStatus {
  if (endedAt === null) return 'running';
  return stopped ? 'stopped' : 'finished';
}
