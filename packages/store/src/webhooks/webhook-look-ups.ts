import { ruleOfSubject } from '@postrider/domain';
import type { AccountId, RoutingRuleId, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { readPage } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import type { Webhook as WebhookRow } from '../generated/client.ts';
import { webhookOf } from './webhooks.ts';
import type { Webhook } from './webhooks.ts';

/** A webhook of any account, without its signing secret. */
export interface OwnedWebhook extends Webhook {
  readonly accountId: AccountId;
  /** null: the account's own endpoint. */
  readonly ruleId: RoutingRuleId | null;
  /** null: the webhook does not count as failing. */
  readonly failingSince: Date | null;
}

/** Everything but the secret. */
const SHOWN = {
  id: true,
  accountId: true,
  subject: true,
  endpoint: true,
  events: true,
  description: true,
  domains: true,
  failingSince: true,
  createdAt: true,
} as const;

/** Webhooks for an operator: those of every account and of routing rules. A removed one reads as missing. */
export function createWebhookLookUps({ prisma }: Pick<Database, 'prisma'>) {
  return {
    async find(id: WebhookId): Promise<OwnedWebhook | null> {
      const row = await prisma.webhook.findFirst({ where: { id, removedAt: null }, select: SHOWN });
      return row === null ? null : ownedWebhookOf(row);
    },
    /** The newest first. @returns null when the cursor is not a webhook of the account. */
    async list(accountId: AccountId, request: PageRequest<'webhook'>): Promise<Page<OwnedWebhook> | null> {
      const mine = { accountId, removedAt: null };
      return readPage(request, {
        cursor: (id) => prisma.webhook.findFirst({ where: { id, ...mine }, select: { createdAt: true } }),
        read: async ({ where, ...range }) => {
          const query = { where: { ...mine, ...where }, ...range, select: SHOWN };
          return (await prisma.webhook.findMany(query)).map(ownedWebhookOf);
        },
      });
    },
  };
}

function ownedWebhookOf(row: Pick<WebhookRow, keyof typeof SHOWN>): OwnedWebhook {
  const { accountId, subject, failingSince } = row;
  return {
    ...webhookOf(row),
    accountId: accountId as AccountId,
    ruleId: ruleOfSubject(subject),
    failingSince,
  };
}
