import { inboundName, inboundSubject, isEventType, newId } from '@postrider/domain';
import type {
  AccountId,
  Clock,
  EventType,
  InboundMatch,
  RoutingRuleId,
  SecretBox,
  WebhookId,
} from '@postrider/domain';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { readRows } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { runIn } from '../db/statement.ts';
import { ownsDomain } from '../domains/sql/domains.ts';
import type { InboundRoute as RuleRow, Prisma } from '../generated/client.ts';
import { insertWebhook, reachedWebhookLimit } from '../webhooks/insert-webhook.ts';
import { recordDeletion, removeAfterMark } from '../webhooks/remove-webhook.ts';
import { lockInboundAddress } from './sql/inboxes.ts';
import { addRoutingRule, deleteRoutingRule } from './sql/routing-rules.ts';

export interface NewRoutingRule {
  readonly accountId: AccountId;
  readonly match: InboundMatch;
  readonly name: string | null;
  /** Normalised by parseEndpoint. */
  readonly endpoint: string;
  /** At least one: a webhook without types would get every type. */
  readonly events: readonly EventType[];
}

/** A rule that delivers received mail to its own endpoint. */
export interface RoutingRule {
  readonly id: RoutingRuleId;
  /** An address, normalised by `inboundAddress`; or `*@` and a domain. */
  readonly match: string;
  readonly name: string | null;
  readonly endpoint: string;
  readonly events: readonly EventType[];
  /** The webhook's subject names the rule. The webhook is deleted only with the rule. */
  readonly webhookId: WebhookId;
  readonly createdAt: Date;
}

export type RoutingRuleCreation =
  /** The signing secret of the webhook is shown only here. */
  | { readonly kind: 'created'; readonly rule: RoutingRule; readonly signingSecret: string }
  /**
   * The domain is neither shared nor verified by the account, or the rule matches all addresses of a shared
   * domain.
   */
  | { readonly kind: 'foreign-domain' }
  /** On a shared domain, the local part belongs to no account. */
  | { readonly kind: 'reserved-name' }
  /** The account has `max` webhooks or more. */
  | { readonly kind: 'limit-reached'; readonly max: number }
  /** A rule of the account has the match. Or the address, on a shared domain, belongs to another account. */
  | { readonly kind: 'exists' };

export interface RoutingRuleLimits {
  /**
   * An address on a shared domain belongs to one account. No rule matches all addresses of a shared domain.
   */
  readonly sharedDomains: readonly string[];
  /** The local parts that no account may have on a shared domain. */
  readonly reservedNames: readonly string[];
  /** Applies to an account that has no limit of its own. */
  readonly webhooksPerAccountMax: number;
}

/** Routing rules, each with its webhook. Another account's rules read as missing. */
export type RoutingRuleStore = ReturnType<typeof createRoutingRuleStore>;

export function createRoutingRuleStore(
  db: Database,
  secrets: SecretBox,
  clock: Clock,
  limits: RoutingRuleLimits,
) {
  const { inboundRoute: table } = db.prisma;
  return {
    /** Creates rule and webhook, or neither. The limit of webhooks is exact, also for concurrent requests. */
    async create(rule: NewRoutingRule): Promise<RoutingRuleCreation> {
      return db.transactions.run(({ client }) => create(client, secrets, clock, limits, rule));
    },
    async find(accountId: AccountId, id: RoutingRuleId): Promise<RoutingRule | null> {
      const row = await table.findFirst({ where: { accountId, id } });
      const [rule] = await withWebhooks(db, row === null ? [] : [row]);
      return rule ?? null;
    },
    /** The newest first. @returns null when the cursor is not a rule of the account. */
    async list(accountId: AccountId, request: PageRequest<'routingRule'>): Promise<Page<RoutingRule> | null> {
      return readRows(request, table, { accountId }, (rows) => withWebhooks(db, rows));
    },
    /**
     * Deletes the rule with its webhook, queued deliveries and dead letters. The rows of a large backlog are
     * deleted later.
     *
     * @returns false when the rule does not exist.
     */
    async delete(accountId: AccountId, id: RoutingRuleId, by: Actor): Promise<boolean> {
      const values = [accountId, id, limits.sharedDomains];
      const gone = await db.transactions.run(async (tx) => {
        const [marked] = await runIn<MarkedWebhook>(tx.client, deleteRoutingRule, values);
        if (marked !== undefined) await recordDeletion(tx, accountId, marked, by);
        return marked;
      });
      if (gone === undefined) return false;
      await removeAfterMark(db.pool, gone.id);
      return true;
    },
  };
}

/** The webhook of a deleted rule. */
interface MarkedWebhook {
  readonly id: WebhookId;
  readonly endpoint: string;
}

async function create(
  client: Prisma.TransactionClient,
  secrets: SecretBox,
  clock: Clock,
  { sharedDomains, reservedNames, webhooksPerAccountMax }: RoutingRuleLimits,
  { accountId, match: { match, domain, isWholeDomain }, name, endpoint, events }: NewRoutingRule,
): Promise<RoutingRuleCreation> {
  const isShared = sharedDomains.includes(domain);
  const isAllowed = isShared
    ? !isWholeDomain
    : (await runIn(client, ownsDomain, [accountId, domain])).length > 0;
  if (!isAllowed) return { kind: 'foreign-domain' };
  if (isShared && reservedNames.includes(inboundName(match))) return { kind: 'reserved-name' };
  const max = await reachedWebhookLimit(client, accountId, webhooksPerAccountMax);
  if (max !== null) return { kind: 'limit-reached', max };
  if (isShared) await runIn(client, lockInboundAddress, [match]);
  const [id, webhookId] = [newId('routingRule', clock), newId('webhook', clock)];
  const values = [id, accountId, match, name, webhookId, isShared];
  const [added] = await runIn<{ createdAt: Date }>(client, addRoutingRule, values);
  if (added === undefined) return { kind: 'exists' };
  const { signingSecret } = await insertWebhook(client, secrets, {
    id: webhookId,
    accountId,
    endpoint,
    events,
    subject: inboundSubject(accountId, id),
  });
  return {
    kind: 'created',
    rule: { id, match, name, endpoint, events, webhookId, createdAt: added.createdAt },
    signingSecret,
  };
}

async function withWebhooks(db: Database, rows: readonly RuleRow[]): Promise<RoutingRule[]> {
  const webhooks = await db.prisma.webhook.findMany({
    where: { id: { in: rows.map(({ webhookId }) => webhookId) } },
    select: { id: true, endpoint: true, events: true },
  });
  const byId = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
  return rows.flatMap(({ id, match, name, webhookId, createdAt }) => {
    const webhook = byId.get(webhookId);
    if (webhook === undefined) return []; // deleted meanwhile
    return {
      id: id as RoutingRuleId,
      match,
      name,
      webhookId: webhookId as WebhookId,
      createdAt,
      endpoint: webhook.endpoint,
      events: webhook.events.filter(isEventType),
    };
  });
}
