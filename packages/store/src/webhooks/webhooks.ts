import { isEventType, newId } from '@postrider/domain';
import type { AccountId, Clock, EventType, SecretBox, WebhookId } from '@postrider/domain';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { runIn, statement } from '../db/statement.ts';
import type { Webhook as WebhookRow } from '../generated/client.ts';
import { insertWebhook, reachedWebhookLimit } from './insert-webhook.ts';
import type { WebhookValues } from './insert-webhook.ts';
import { recordDeletion, removeAfterMark } from './remove-webhook.ts';
import { readWebhookHealth } from './webhook-health.ts';
import type { WebhookHealth } from './webhook-health.ts';

export interface Webhook {
  readonly id: WebhookId;
  readonly endpoint: string;
  /** Empty: every type. */
  readonly events: readonly EventType[];
  readonly description: string | null;
  /** It gets only events of mail from, or received for, these domains. Null: every event. */
  readonly domains: readonly string[] | null;
  readonly createdAt: Date;
}

export interface NewWebhook extends Omit<WebhookValues, 'id' | 'subject'> {
  /** Applies to an account without a limit of its own. */
  readonly perAccountMax: number;
}

export type WebhookCreation =
  /** The only answer that holds the signing secret. */
  | { readonly kind: 'created'; readonly webhook: Webhook; readonly signingSecret: string }
  /** The account has `max` webhooks or more. */
  | { readonly kind: 'limit-reached'; readonly max: number };

/** The columns that no answer shows. */
export const SECRETS = { secretSealed: true, headersSealed: true } as const;

/** Marks a webhook as removed. $1 account, $2 webhook. Returns no row when it is missing. */
const MARK = statement('mark-webhook')`
    update webhooks set removed_at = now()
    where id = $2 and account_id = $1 and subject is null and removed_at is null
    returning endpoint`;

export type WebhookStore = ReturnType<typeof createWebhookStore>;

/** The account's own webhooks. Another account's, a routing rule's and a removed webhook read as missing. */
export function createWebhookStore(db: Database, secrets: SecretBox, clock: Clock) {
  return {
    /**
     * The limit is exact, however many webhooks are created at once. Webhooks of routing rules count, removed
     * webhooks do not.
     */
    async create(request: NewWebhook): Promise<WebhookCreation> {
      return createWebhook(db, secrets, clock, request);
    },
    async find(accountId: AccountId, id: WebhookId): Promise<Webhook | null> {
      const row = await db.prisma.webhook.findFirst({
        where: { id, accountId, subject: null, removedAt: null },
        omit: SECRETS,
      });
      return row === null ? null : webhookOf(row);
    },
    /** All webhooks, the newest first. */
    async list(accountId: AccountId): Promise<Webhook[]> {
      const rows = await db.prisma.webhook.findMany({
        where: { accountId, subject: null, removedAt: null },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        omit: SECRETS,
      });
      return rows.map(webhookOf);
    },
    /** The health of these webhooks, whichever account has them. The map lacks webhooks without a row. */
    async health(ids: readonly WebhookId[]): Promise<ReadonlyMap<WebhookId, WebhookHealth>> {
      return readWebhookHealth(db, ids);
    },
    /**
     * Removes the webhook with its queued deliveries and dead letters. Once the promise resolves, these
     * deliveries are not claimed, and nothing of the webhook is visible. The rows of a large backlog are
     * deleted later. @returns false when there is no such webhook.
     */
    async delete(accountId: AccountId, id: WebhookId, by: Actor): Promise<boolean> {
      const isMarked = await db.transactions.run(async (tx) => {
        const [row] = await runIn<{ endpoint: string }>(tx.client, MARK, [accountId, id]);
        if (row !== undefined) await recordDeletion(tx, accountId, { id, ...row }, by);
        return row !== undefined;
      });
      if (!isMarked) return false;
      await removeAfterMark(db.pool, id);
      return true;
    },
  };
}

async function createWebhook(
  db: Database,
  secrets: SecretBox,
  clock: Clock,
  { perAccountMax, ...wish }: NewWebhook,
): Promise<WebhookCreation> {
  return db.transactions.run(async ({ client }) => {
    const max = await reachedWebhookLimit(client, wish.accountId, perAccountMax);
    if (max !== null) return { kind: 'limit-reached', max };
    const { row, signingSecret } = await insertWebhook(client, secrets, {
      ...wish,
      id: newId('webhook', clock),
      subject: null,
    });
    return { kind: 'created', webhook: webhookOf(row), signingSecret };
  });
}

export function webhookOf(
  row: Pick<WebhookRow, 'id' | 'endpoint' | 'events' | 'description' | 'domains' | 'createdAt'>,
): Webhook {
  return {
    id: row.id as WebhookId,
    endpoint: row.endpoint,
    events: row.events.filter(isEventType),
    description: row.description,
    domains: domainsOf(row),
    createdAt: row.createdAt,
  };
}

/** Prisma reads null as an empty list. No webhook has an empty list. */
export function domainsOf({ domains }: Pick<WebhookRow, 'domains'>): readonly string[] | null {
  return domains.length === 0 ? null : domains;
}
