import { receivedTypes, ruleOfSubject } from '@postrider/domain';
import type {
  AccountId,
  DeadLetterId,
  EmailId,
  EventId,
  EventType,
  RoutingRuleId,
  WebhookId,
} from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { replayLetter } from '../deliveries/dead-letters.ts';
import type { Page } from '../db/page.ts';
import { POSITION_MAX, positionOf, rangeOf, rangeValues } from './events.ts';
import type { EventFilter, EventPageRequest } from './events.ts';
import { domainsOf } from '../webhooks/webhooks.ts';
import { lockDeadLetters, lockEvents, lockWebhook, queueDelivery } from './sql/replay-event.ts';
import {
  findWebhookEvent,
  listWebhookEvents,
  listWebhookEventsOfEmail,
  listWebhookEventsOfRecipient,
} from './sql/webhook-events.ts';

/** The words of Resend's SDK. `pending`: never attempted. `attempting`: an attempt runs or follows. */
export const WEBHOOK_EVENT_STATUSES = ['pending', 'attempting', 'success', 'failed'] as const;
export type WebhookEventStatus = (typeof WEBHOOK_EVENT_STATUSES)[number];

/** `dropped`: ended without success or dead letter. `unknown`: ended, and its attempts are not logged. */
export const DELIVERY_FATES = ['queued', 'delivered', 'dead_letter', 'dropped', 'unknown'] as const;

/** An event that a webhook gets, with the state of its delivery there. */
export interface WebhookEvent {
  readonly id: EventId;
  readonly type: EventType;
  readonly createdAt: Date;
  /** The sent message that the event is about. Null: the event is not about one. */
  readonly emailId: EmailId | null;
  readonly status: WebhookEventStatus;
  readonly delivery: (typeof DELIVERY_FATES)[number];
  readonly attempts: number;
  readonly deadLetterId: DeadLetterId | null;
  /** Null: an attempt runs, or none follows. */
  readonly nextAttemptAt: Date | null;
}

export interface WebhookEventFilter extends EventFilter {
  readonly status?: WebhookEventStatus | undefined;
}

export interface WebhookEventPage extends Page<WebhookEvent> {
  /** Where the next page begins. */
  readonly position: bigint;
}

/** The events that one request looks at, when only some of them fit. */
export const EVENTS_LOOKED_AT_MAX = 500;

type EventRow = WebhookEvent & { readonly position: string };
interface Found {
  /** Events that the statement looked at. */
  readonly found: number;
  /** The last position that it looked at. Null: it found no event. */
  readonly foundTo: string | null;
}
/** Without a fitting event, the statement returns one row, with `id` null. */
type PageRow = Found & (EventRow | { readonly id: null });

/** What decides which events a webhook gets. */
export interface Subscription {
  readonly types: readonly EventType[];
  readonly since: Date;
  /** The routing rule that the webhook belongs to. */
  readonly rule: RoutingRuleId | null;
  /** Null: every domain. */
  readonly domains: readonly string[] | null;
}

export type WebhookEventStore = ReturnType<typeof createWebhookEventStore>;

export function createWebhookEventStore(db: Database) {
  return {
    /**
     * The newest first. A page may be short or empty although there are more: with a status, and for a
     * webhook with domains or a rule.
     *
     * @returns 'no webhook', or 'no cursor' when `after` is not an event in the account's list.
     */
    async list(
      accountId: AccountId,
      webhookId: WebhookId,
      filter: WebhookEventFilter,
      { after, limit }: EventPageRequest,
    ): Promise<WebhookEventPage | 'no webhook' | 'no cursor'> {
      const subscription = await subscriptionOf(db, accountId, webhookId);
      if (subscription === null) return 'no webhook';
      const from = await positionOf(db, accountId, after ?? POSITION_MAX);
      if (from === null) return 'no cursor';
      const isFiltered =
        filter.status !== undefined || subscription.rule !== null || subscription.domains !== null;
      const foundMax = isFiltered ? EVENTS_LOOKED_AT_MAX : limit + 1;
      const [statement, values] = await listing(db, accountId, { filter, subscription, from, foundMax });
      const { rule, domains } = subscription;
      const rest = [webhookId, rule, domains, filter.status ?? null, limit + 1];
      const rows = await runOn<PageRow>(db.pool, statement, [...values, ...rest]);
      const fitting = rows.flatMap((row) => (row.id === null ? [] : [row]));
      const entries = fitting.slice(0, limit);
      const [{ found, foundTo }] = rows as [PageRow];
      const isCut = fitting.length > limit;
      const last = isCut ? entries.at(-1)?.position : foundTo;
      return {
        entries,
        hasMore: isCut || found === foundMax,
        position: BigInt(last ?? from),
      };
    },
    /** @returns null when there is no such webhook, or it does not get the event. */
    async find(
      accountId: AccountId,
      webhookId: WebhookId,
      eventId: EventId,
    ): Promise<(WebhookEvent & { readonly data: string; readonly subject: string }) | null> {
      const subscription = await subscriptionOf(db, accountId, webhookId);
      if (subscription === null) return null;
      const values = findValues(accountId, webhookId, eventId, subscription);
      const [row] = await runOn<WebhookEvent & { data: string }>(db.pool, findWebhookEvent, values);
      return row === undefined ? null : { ...row, subject: subscription.subject };
    },
    /**
     * Queues the event again at once, with a fresh set of attempts, under its own id. A dead letter is
     * removed. An event whose delivery is outstanding is left as it is. Of concurrent replays, one queues the
     * event.
     *
     * @param seen the state of the delivery that the caller saw. @returns `pending` when a delivery was
     * outstanding, or `changed` when the state differs from `seen`: nothing is queued, and the audit has no
     * entry. `missing` when there is no such webhook, or it does not get the event.
     */
    async replay(
      accountId: AccountId,
      webhookId: WebhookId,
      eventId: EventId,
      by: Actor,
      seen?: WebhookEvent['delivery'],
    ): Promise<EventReplay> {
      const subscription = await subscriptionOf(db, accountId, webhookId);
      if (subscription === null) return 'missing';
      const values = findValues(accountId, webhookId, eventId, subscription);
      const asked = { accountId, webhookId, eventId, seen };
      return db.transactions.run((tx) => replayFound(tx, values, asked, by));
    },
  };
}

/** What a replay did: see `replay`. */
type EventReplay = 'queued' | 'pending' | 'changed' | 'missing';

interface AskedReplay {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  readonly eventId: EventId;
  readonly seen: WebhookEvent['delivery'] | undefined;
}

async function replayFound(
  tx: Transaction,
  values: unknown[],
  { accountId, webhookId, eventId, seen }: AskedReplay,
  by: Actor,
): Promise<EventReplay> {
  const locked = await runIn(tx.client, lockWebhook, [accountId, webhookId]);
  if (locked.length === 0) return 'missing';
  await runIn(tx.client, lockDeadLetters, [webhookId, [eventId]]);
  await runIn(tx.client, lockEvents, [accountId, [eventId]]);
  const [found] = await runIn<WebhookEvent>(tx.client, findWebhookEvent, values);
  if (found === undefined) return 'missing';
  if (found.delivery === 'queued') return 'pending';
  if (seen !== undefined && found.delivery !== seen) return 'changed';
  if (found.deadLetterId !== null)
    return (await replayLetter(tx, accountId, found.deadLetterId, by)) ? 'queued' : 'missing';
  await runIn(tx.client, queueDelivery, [eventId, webhookId]);
  const before = { delivery: found.delivery };
  await recordAudit(tx, by, {
    action: 'event.replay',
    accountId,
    target: eventId,
    webhookId,
    count: 1,
    before,
  });
  tx.wakeWebhook(webhookId);
  return 'queued';
}

/** The values of `findWebhookEvent`. */
function findValues(
  accountId: AccountId,
  webhookId: WebhookId,
  eventId: EventId,
  { types, since, rule, domains }: Subscription,
): unknown[] {
  return [accountId, eventId, webhookId, types, since.toISOString(), rule, domains];
}

/** @returns null when the account has no such webhook, of its own or of a routing rule. */
export async function subscriptionOf(
  db: Database,
  accountId: AccountId,
  id: WebhookId,
): Promise<(Subscription & { readonly subject: string }) | null> {
  const webhook = await db.prisma.webhook.findFirst({
    where: { id, accountId, removedAt: null },
    select: { subject: true, events: true, domains: true, createdAt: true },
  });
  if (webhook === null) return null;
  return { ...subscriptionIn(webhook), subject: webhook.subject ?? accountId };
}

/** The subscription in a row of `webhooks`. */
export function subscriptionIn(webhook: {
  readonly subject: string | null;
  readonly events: readonly string[];
  readonly domains: string[];
  readonly createdAt: Date;
}): Subscription {
  const { subject, events, createdAt } = webhook;
  return {
    types: receivedTypes(events as readonly EventType[]),
    since: createdAt,
    rule: ruleOfSubject(subject),
    domains: domainsOf(webhook),
  };
}

interface Listing {
  readonly filter: EventFilter;
  readonly subscription: Subscription;
  /** The listed events have positions before this one. */
  readonly from: bigint;
  readonly foundMax: number;
}

async function listing(
  db: Database,
  accountId: AccountId,
  { filter, subscription, from, foundMax }: Listing,
) {
  const { type, emailId, recipient, since } = filter;
  const types = subscription.types.filter((each) => type === undefined || each === type);
  const span = {
    ...filter,
    since: since === undefined || since < subscription.since ? subscription.since : since,
  };
  const range = await rangeOf(db, span, { after: 0n, last: from - 1n });
  const values = rangeValues(accountId, types, span, range, foundMax);
  if (emailId !== undefined)
    return [listWebhookEventsOfEmail, [...values, emailId, recipient ?? null]] as const;
  if (recipient !== undefined) return [listWebhookEventsOfRecipient, [...values, recipient]] as const;
  return [listWebhookEvents, values] as const;
}
