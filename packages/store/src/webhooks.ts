import { isEventType, newId, newSigningSecret } from '@postrider/domain';
import type { AccountId, Clock, EventType, SecretBox, WebhookId } from '@postrider/domain';
import type { Database } from './database.ts';
import { mappingUnavailable, StoreUnavailableError } from './errors.ts';
import { removeMarkedWebhook } from './remove-webhook.ts';

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
}

export interface WebhookStore {
  /** @returns the webhook and, this once, its signing secret. */
  create(request: NewWebhook): Promise<{ webhook: Webhook; signingSecret: string }>;
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
    async create(request) {
      const id = newId('webhook', clock);
      const signingSecret = newSigningSecret();
      const { keyId, sealed } = secrets.seal(signingSecret, id);
      const row = await mappingUnavailable(() =>
        db.prisma.webhook.create({
          data: {
            id,
            accountId: request.accountId,
            subject: request.subject ?? null,
            endpoint: request.endpoint,
            events: [...request.events],
            secretKeyId: keyId,
            secretSealed: Uint8Array.from(sealed),
            createdAt: clock.now(),
          },
        }),
      );
      return { webhook: webhookOf(row), signingSecret };
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
      try {
        await removeMarkedWebhook(db.pool, id);
      } catch (error) {
        // It is removed for everybody; a relay sees to its rows, and tells if it cannot.
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
      return true;
    },
  };
}

function webhookOf(row: { id: string; endpoint: string; events: string[]; createdAt: Date }): Webhook {
  return {
    id: row.id as WebhookId,
    endpoint: row.endpoint,
    events: row.events.filter(isEventType),
    createdAt: row.createdAt,
  };
}
