import type { AccountId, RecoveryId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import type { Actor } from '../audit/audit.ts';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';
import { recoveryOf } from './recoveries.ts';
import type { Recovery, RecoveryRow } from './recoveries.ts';
import { OUTCOMES, SHOWN } from './sql/recoveries.ts';

/** A recovery of any account, with its webhook and who started it. */
export interface FoundRecovery extends Recovery {
  readonly accountId: AccountId;
  readonly accountName: string | null;
  readonly endpoint: string;
  /** A failing endpoint gets one event in `FAILING_STEP_SECONDS`. Null: it does not fail. */
  readonly failingSince: Date | null;
  /** The recovery waits until `account resume`. */
  readonly isSuspended: boolean;
  /** From the audit. Without its entry: the moment of the count, which may be earlier. */
  readonly startedAt: Date;
  /** Null: the audit no longer has the entry. */
  readonly startedBy: (Pick<Actor, 'kind' | 'name'> & { readonly note: string | null }) | null;
}

/**
 * The audit entry about the start of the recovery `r`. The entry is found by its target, so the action has a
 * form that no index has.
 */
const START = `
    left join lateral (
      select s.created_at as at, jsonb_build_object('kind', s.actor_kind, 'name', s.actor, 'note', s.note) as by
      from audit s
      where s.target = r.id and greatest(s.action, '') = 'recovery.start'
      order by s.created_at, s.id limit 1
    ) started on true`;

const describe = (recoveries: string): string => `
    select ${SHOWN}, r.account_id as "accountId", w.endpoint, w.failing_since as "failingSince",
           coalesce((select a.suspended_at is not null from accounts a where a.id = r.account_id), false) as "isSuspended",
           (select a.name from accounts a where a.id = r.account_id) as "accountName",
           coalesce(started.at, r.created_at) as "startedAt", started.by as "startedBy"
    from (${recoveries}) r
    cross join lateral (select * from webhooks x where x.id = r.webhook_id and x.removed_at is null offset 0) w ${OUTCOMES} ${START}
    order by r.id desc`;

const FIND = statement('find-recovery-by-id')`${describe('select * from recoveries where id = $1')}`;

/** Ids begin with `rec_`, so each is before `red`. $1 recovery before the page, or null, $2 rows. */
const LIST = statement('list-recoveries-of-all')`${describe(
  `select * from recoveries where id < coalesce($1::text, 'red') order by id desc limit $2`,
)}`;

/** $1 id of the recovery before the page, or null, $2 rows, $3 webhook. */
const LIST_OF_WEBHOOK = statement('list-recoveries-of-webhook')`${describe(
  `select * from recoveries
      where webhook_id = $3
        and (created_at, id) < (coalesce((select b.created_at from recoveries b where b.id = $1), 'infinity'), coalesce($1, ''))
      order by created_at desc, id desc limit $2`,
)}`;

/**
 * $1 rows. Cost: the running recoveries, one for a webhook at most. The order has a form that no index has,
 * so Postgres does not read the ended recoveries.
 */
const LIST_RUNNING = statement('list-running-recoveries')`${describe(
  `select * from recoveries where ended_at is null order by greatest(id, '') desc limit $1`,
)}`;

/** $1 webhooks. */
const RUNNING_AT = statement('running-recoveries-at')`
    select r.webhook_id as "webhookId", r.id
    from unnest($1::text[]) w (id)
    cross join lateral (
      select * from recoveries x where x.webhook_id = w.id and x.ended_at is null offset 0
    ) r`;

type Row = RecoveryRow & Omit<FoundRecovery, keyof Recovery>;

/** `recoveryOf` keeps the columns that only `FoundRecovery` has. */
const foundOf = (row: Row): FoundRecovery => recoveryOf(row) as FoundRecovery;

/** Recoveries for an operator: those of every account. */
export function createRecoveryLookUps({ pool }: { readonly pool: Pool }) {
  return {
    async find(id: RecoveryId): Promise<FoundRecovery | null> {
      const [row] = await runOn<Row>(pool, FIND, [id]);
      return row === undefined ? null : foundOf(row);
    },
    /** The newest first. */
    async list(
      {
        webhookId,
        after,
      }: { readonly webhookId?: WebhookId | undefined; readonly after?: RecoveryId | undefined },
      limit: number,
    ): Promise<FoundRecovery[]> {
      const page = [after ?? null, limit];
      const rows =
        webhookId === undefined
          ? await runOn<Row>(pool, LIST, page)
          : await runOn<Row>(pool, LIST_OF_WEBHOOK, [...page, webhookId]);
      return rows.map(foundOf);
    },
    /** The recoveries that run, the newest first. */
    async running(limit: number): Promise<FoundRecovery[]> {
      return (await runOn<Row>(pool, LIST_RUNNING, [limit])).map(foundOf);
    },
    /** The running recovery of each webhook that has one. */
    async runningAt(ids: readonly WebhookId[]): Promise<ReadonlyMap<WebhookId, RecoveryId>> {
      const rows = await runOn<{ webhookId: WebhookId; id: RecoveryId }>(pool, RUNNING_AT, [ids]);
      return new Map(rows.map(({ webhookId, id }) => [webhookId, id]));
    },
  };
}
