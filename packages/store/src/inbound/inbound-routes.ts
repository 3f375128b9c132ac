import { inboundSubject, isEventType, newId } from '@postrider/domain';
import type {
  AccountId,
  Clock,
  EventType,
  InboundMatch,
  InboundRouteId,
  SecretBox,
  WebhookId,
} from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { readPage } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { runIn } from '../db/statement.ts';
import { ownsDomain } from '../domains/sql/owns-domain.ts';
import type { InboundRoute as RouteRow, Prisma } from '../generated/client.ts';
import { insertWebhook, webhookLimitReached } from '../webhooks/insert-webhook.ts';
import { removeAfterMark } from '../webhooks/remove-webhook.ts';
import { addInboundRoute } from './sql/add-inbound-route.ts';
import { deleteInboundRoute } from './sql/delete-inbound-route.ts';
import { lockInboundAddress } from './sql/lock-inbound-address.ts';

export interface NewInboundRoute {
  readonly accountId: AccountId;
  readonly match: InboundMatch;
  readonly name: string | null;
  /** Normalised by parseEndpoint. */
  readonly endpoint: string;
  /** One at the least: to a webhook none would mean every type. */
  readonly events: readonly EventType[];
}

/** A rule that takes received mail to an endpoint of its own. */
export interface InboundRoute {
  readonly id: InboundRouteId;
  /** An address as `inboundAddress` writes it, or `*@` and a domain. */
  readonly match: string;
  readonly name: string | null;
  readonly endpoint: string;
  readonly events: readonly EventType[];
  /** Its subject names the rule. It is deleted with the rule only. */
  readonly webhookId: WebhookId;
  readonly createdAt: Date;
}

export type InboundRouteCreation =
  /** This once with the signing secret of its webhook. */
  | { readonly kind: 'created'; readonly route: InboundRoute; readonly signingSecret: string }
  /** The domain is neither shared nor verified by the account, or all mail of a shared one was asked for. */
  | { readonly kind: 'foreign-domain' }
  /** The account has `max` webhooks or more. */
  | { readonly kind: 'limit-reached'; readonly max: number }
  | { readonly kind: 'exists' };

/** Routing rules, each with its webhook. Another account's read as missing. */
export interface InboundRouteStore {
  /** Rule and webhook, or neither. The limit of webhooks is exact, however many are created at once. */
  create(route: NewInboundRoute): Promise<InboundRouteCreation>;
  find(accountId: AccountId, id: InboundRouteId): Promise<InboundRoute | null>;
  /** The newest first. @returns null when the cursor is none of the account's rules. */
  list(accountId: AccountId, request: PageRequest<'inboundRoute'>): Promise<Page<InboundRoute> | null>;
  /**
   * Deletes it with its webhook, queued deliveries and dead letters. Of a large backlog the rows go later.
   *
   * @returns false when there is none.
   */
  delete(accountId: AccountId, id: InboundRouteId): Promise<boolean>;
}

export interface InboundRouteRules {
  /** An address on these belongs to one account; no rule takes all of their mail. */
  readonly sharedDomains: readonly string[];
  /** How many webhooks an account may have that has no limit of its own. */
  readonly webhooksPerAccountMax: number;
}

export function createInboundRouteStore(
  db: Database,
  secrets: SecretBox,
  clock: Clock,
  rules: InboundRouteRules,
): InboundRouteStore {
  const { inboundRoute: routes } = db.prisma;
  return {
    create: (route) => db.transactions.run(({ client }) => create(client, secrets, clock, rules, route)),
    async find(accountId, id) {
      return mappingUnavailable(async () => {
        const row = await routes.findFirst({ where: { accountId, id } });
        const [route] = await withWebhooks(db, row === null ? [] : [row]);
        return route ?? null;
      });
    },
    async list(accountId, request) {
      return mappingUnavailable(() =>
        readPage(request, {
          cursor: (id) => routes.findFirst({ where: { id, accountId }, select: { createdAt: true } }),
          read: async ({ where, ...range }) =>
            withWebhooks(db, await routes.findMany({ where: { accountId, ...where }, ...range })),
        }),
      );
    },
    async delete(accountId, id) {
      const values = [accountId, id, clock.now()];
      const [gone] = await runOn<{ webhookId: WebhookId }>(db.pool, deleteInboundRoute, values);
      if (gone === undefined) return false;
      await removeAfterMark(db.pool, gone.webhookId);
      return true;
    },
  };
}

async function create(
  client: Prisma.TransactionClient,
  secrets: SecretBox,
  clock: Clock,
  { sharedDomains, webhooksPerAccountMax }: InboundRouteRules,
  { accountId, match: { match, domain, isWholeDomain }, name, endpoint, events }: NewInboundRoute,
): Promise<InboundRouteCreation> {
  const isShared = sharedDomains.includes(domain);
  const isTheirs = isShared
    ? !isWholeDomain
    : (await runIn(client, ownsDomain, [accountId, domain])).length > 0;
  if (!isTheirs) return { kind: 'foreign-domain' };
  const max = await webhookLimitReached(client, accountId, webhooksPerAccountMax);
  if (max !== null) return { kind: 'limit-reached', max };
  if (isShared) await runIn(client, lockInboundAddress, [match]);
  const [id, webhookId, createdAt] = [newId('inboundRoute', clock), newId('webhook', clock), clock.now()];
  const values = [id, accountId, match, name, webhookId, createdAt.toISOString(), isShared];
  if ((await runIn(client, addInboundRoute, values)).length === 0) return { kind: 'exists' };
  const { signingSecret } = await insertWebhook(client, secrets, {
    ...{ id: webhookId, accountId, endpoint, events, createdAt },
    subject: inboundSubject(accountId, id),
  });
  return {
    kind: 'created',
    route: { id, match, name, endpoint, events, webhookId, createdAt },
    signingSecret,
  };
}

async function withWebhooks(db: Database, rows: readonly RouteRow[]): Promise<InboundRoute[]> {
  const webhooks = await db.prisma.webhook.findMany({
    where: { id: { in: rows.map(({ webhookId }) => webhookId) } },
    select: { id: true, endpoint: true, events: true },
  });
  const byId = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
  return rows.flatMap(({ id, match, name, webhookId, createdAt }) => {
    const webhook = byId.get(webhookId);
    if (webhook === undefined) return []; // deleted meanwhile
    return {
      ...{ id: id as InboundRouteId, match, name, webhookId: webhookId as WebhookId, createdAt },
      ...{ endpoint: webhook.endpoint, events: webhook.events.filter(isEventType) },
    };
  });
}
