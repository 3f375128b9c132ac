import { ruleOfSubject } from '@postrider/domain';
import type { AccountId, RoutingRuleId, WebhookId } from '@postrider/domain';
import { runOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { readPage } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { statement } from '../db/statement.ts';
import type { Webhook as WebhookRow } from '../generated/client.ts';
import { SECRETS, webhookOf } from './webhooks.ts';
import type { Webhook } from './webhooks.ts';

/** A webhook of any account, without its signing secret. */
export interface OwnedWebhook extends Webhook {
  readonly accountId: AccountId;
  /** null: the webhook listens to the account. */
  readonly ruleId: RoutingRuleId | null;
  /** null: the webhook does not count as failing. */
  readonly failingSince: Date | null;
  /** When the last notice of its failure was queued, as mail or as an event. null: there was no notice. */
  readonly failingNoticeAt: Date | null;
  /** Dead letters that retention deleted. */
  readonly deadLettersDropped: number;
}

/** $1 host of an endpoint, $2 webhooks at most, $3 account or null for all. */
const FIND_OF_HOST = statement('find-webhooks-of-host')`
    select w.id from webhooks w
    where substring(w.endpoint from '^https://([^/:?#]+)') = $1 and w.removed_at is null
      and ($3::text is null or w.account_id = $3)
    order by w.id desc limit $2`;

/** Webhooks for an operator: of every account and routing rule. A removed webhook reads as missing. */
export function createWebhookLookUps(db: Pick<Database, 'prisma' | 'pool'>) {
  return {
    async find(id: WebhookId): Promise<OwnedWebhook | null> {
      const row = await db.prisma.webhook.findFirst({ where: { id, removedAt: null }, omit: SECRETS });
      return row === null ? null : ownedWebhookOf(row);
    },
    /** The newest webhooks whose endpoint has this host, the newest first. @param host in lower case */
    async ofHost(
      host: string,
      { accountId, limit }: { readonly accountId?: AccountId | undefined; readonly limit: number },
    ): Promise<OwnedWebhook[]> {
      const found = await runOn<{ id: WebhookId }>(db.pool, FIND_OF_HOST, [host, limit, accountId ?? null]);
      const id = { in: found.map((row) => row.id) };
      const rows = await db.prisma.webhook.findMany({
        where: { id },
        orderBy: { id: 'desc' },
        omit: SECRETS,
      });
      return rows.map(ownedWebhookOf);
    },
    /** The newest first. @returns null when the cursor is not a webhook of the account. */
    async list(accountId: AccountId, request: PageRequest<'webhook'>): Promise<Page<OwnedWebhook> | null> {
      const mine = { accountId, removedAt: null };
      return readPage(request, {
        positionOf: (id) =>
          db.prisma.webhook.findFirst({ where: { id, ...mine }, select: { createdAt: true } }),
        read: async ({ where, ...range }) => {
          const query = { where: { ...mine, ...where }, ...range, omit: SECRETS };
          return (await db.prisma.webhook.findMany(query)).map(ownedWebhookOf);
        },
      });
    },
  };
}

function ownedWebhookOf(row: Omit<WebhookRow, keyof typeof SECRETS>): OwnedWebhook {
  const { accountId, subject, failingSince, failingNoticeAt, deadLettersDropped } = row;
  return {
    ...webhookOf(row),
    accountId: accountId as AccountId,
    ruleId: ruleOfSubject(subject),
    failingSince,
    failingNoticeAt,
    deadLettersDropped,
  };
}
