import { isEventType, newId } from '@postrider/domain';
import type { AccountId, Clock, EventType, SecretBox, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { insertWebhook, webhookLimitReached } from './insert-webhook.ts';
import { removeAfterMark } from './remove-webhook.ts';

export interface Webhook {
  readonly id: WebhookId;
  readonly endpoint: string;
  /** What it asked for; empty: every type. */
  readonly events: readonly EventType[];
  readonly createdAt: Date;
}

export interface NewWebhook {
  readonly accountId: AccountId;
  /** Normalised by parseEndpoint. */
  readonly endpoint: string;
  readonly events: readonly EventType[];
  /** The subject of an inbound routing rule; absent: the account's own endpoint. */
  readonly subject?: string;
  /** How many webhooks an account may have that has no limit of its own. */
  readonly perAccountMax: number;
}

export type WebhookCreation =
  /** This once with its signing secret. */
  | { readonly kind: 'created'; readonly webhook: Webhook; readonly signingSecret: string }
  /** The account has `max` webhooks or more. */
  | { readonly kind: 'limit-reached'; readonly max: number };

export interface WebhookStore {
  /** The limit is exact, however many are created at once: those of inbound rules count, removed ones do not. */
  create(request: NewWebhook): Promise<WebhookCreation>;
  /** One of the account's own. Another account's, an inbound rule's and one that is removed read as missing. */
  find(accountId: AccountId, id: WebhookId): Promise<Webhook | null>;
  /** All of the account's own, newest first. */
  list(accountId: AccountId): Promise<Webhook[]>;
  /**
   * Removes the webhook with its queued deliveries and dead letters. Once it resolves none of them is seen or claimed any
   * more; of a large backlog the rows themselves go later. @returns false when there is none.
   */
  delete(accountId: AccountId, id: WebhookId): Promise<boolean>;
}

export function createWebhookStore(db: Database, secrets: SecretBox, clock: Clock): WebhookStore {
  return {
    create: (request) => createWebhook(db, secrets, clock, request),
    async find(accountId, id) {
      const row = await mappingUnavailable(() =>
        db.prisma.webhook.findFirst({
          where: { id, accountId, subject: null, removedAt: null },
          omit: { secretSealed: true },
        }),
      );
      return row === null ? null : webhookOf(row);
    },
    async list(accountId) {
      const rows = await mappingUnavailable(() =>
        db.prisma.webhook.findMany({
          where: { accountId, subject: null, removedAt: null },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
          omit: { secretSealed: true },
        }),
      );
      return rows.map(webhookOf);
    },
    async delete(accountId, id) {
      const { count } = await mappingUnavailable(() =>
        db.prisma.webhook.updateMany({
          where: { id, accountId, subject: null, removedAt: null },
          data: { removedAt: clock.now() },
        }),
      );
      if (count === 0) return false;
      await removeAfterMark(db.pool, id);
      return true;
    },
  };
}

async function createWebhook(
  db: Database,
  secrets: SecretBox,
  clock: Clock,
  { accountId, perAccountMax, subject, endpoint, events }: NewWebhook,
): Promise<WebhookCreation> {
  return db.transactions.run(async ({ client }) => {
    const max = await webhookLimitReached(client, accountId, perAccountMax);
    if (max !== null) return { kind: 'limit-reached', max };
    const { row, signingSecret } = await insertWebhook(client, secrets, {
      ...{ id: newId('webhook', clock), createdAt: clock.now() },
      ...{ accountId, subject: subject ?? null, endpoint, events },
    });
    return { kind: 'created', webhook: webhookOf(row), signingSecret };
  });
}

function webhookOf(row: { id: string; endpoint: string; events: string[]; createdAt: Date }): Webhook {
  return {
    id: row.id as WebhookId,
    endpoint: row.endpoint,
    events: row.events.filter(isEventType),
    createdAt: row.createdAt,
  };
}
