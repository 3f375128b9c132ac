import type { AccountId, DeadLetterReason, EventType, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { readPostgresTime } from '../db/postgres-time.ts';
import { letterFilters } from '../deliveries/dead-letters.ts';
import { countReplayable } from '../deliveries/sql/replay-dead-letters.ts';
import { rangeOf, rangeValues } from '../events/events.ts';
import { readLastPosition } from '../events/settled-position.ts';
import { subscriptionOf } from '../events/webhook-events.ts';
import type { Subscription } from '../events/webhook-events.ts';
import { countRecoverable } from './sql/recoverable-events.ts';

/** Which events a recovery sends: those that the endpoint did not take, or all. */
export const RECOVERED_EVENTS = ['undelivered', 'all'] as const;

/** A recovery sends events, or only dead letters, even if their events are deleted. */
export const RECOVERED = [...RECOVERED_EVENTS, 'dead_letters'] as const;
export type Recovered = (typeof RECOVERED)[number];

export interface RecoveryRequest {
  /** Events recorded, or dead letters made, at this time or later. */
  readonly since: Date;
  /** Recorded or made before this time. Absent: before the count. */
  readonly until?: Date | undefined;
  /** Empty: every type that the webhook gets. Dead letters: one type at most. */
  readonly types: readonly EventType[];
  readonly only: Recovered;
  /** The reason of dead letters. Absent: any. */
  readonly reason?: DeadLetterReason | undefined;
  /** The moment of an earlier count: what failed since is left out. Absent: now. */
  readonly asOf?: Date | undefined;
  /** Asked before each page of a count. False: the count ends there. Absent: it goes on. */
  readonly mayGoOn?: (() => boolean) | undefined;
}

/** The number of events that a recovery would send, and their times. */
export interface RecoveryCount {
  /** The time span: not before the webhook was made, and not after the count. */
  readonly since: Date;
  readonly until: Date;
  /** The moment of the count. What fails later is not part of the recovery. */
  readonly asOf: Date;
  /** Events, or dead letters when only these are sent. */
  readonly matched: number;
  /** Matched events that have a dead letter. */
  readonly deadLetters: number;
  /** Events that are left out, because their attempts are no longer logged. */
  readonly unknown: number;
  /** The times when the first and the last matched event were recorded; null: no event matched. */
  readonly oldest: Date | null;
  readonly newest: Date | null;
  /** More events match. The count ended after a number of events, or when its caller wanted no more. */
  readonly hasMore: boolean;
}

/** Events that one statement of a count reads. */
const EVENTS_PER_PAGE = 5_000;

/** A request, with everything that the count and the steps of the recovery need. */
export interface RecoveryPlan {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  readonly subscription: Subscription;
  readonly request: RecoveryRequest;
  readonly span: { readonly since: Date; readonly until: Date };
  /** Positions of events: the first event is behind `after`. */
  readonly range: { readonly after: bigint; readonly last: bigint };
  readonly asOf: Date;
}

/** @returns null when the account has no such webhook, of its own or of a routing rule. */
export async function planRecovery(
  db: Database,
  accountId: AccountId,
  webhookId: WebhookId,
  request: RecoveryRequest,
): Promise<RecoveryPlan | null> {
  const subscription = await subscriptionOf(db, accountId, webhookId);
  if (subscription === null) return null;
  const now = await readPostgresTime(db.pool);
  const asOf = request.asOf === undefined || request.asOf > now ? now : request.asOf;
  const { since, until = asOf, only } = request;
  const isOfEvents = only !== 'dead_letters';
  const span = {
    since: isOfEvents ? laterOf(since, subscription.since) : since,
    until: until < asOf ? until : asOf,
  };
  // Read after `asOf`. An event with a later position gets its own delivery, so no step has to read it.
  const last = await readLastPosition(db.pool);
  const range = await rangeOf(db, eventTimes(span, asOf), { after: 0n, last });
  return { accountId, webhookId, subscription, request, span, range, asOf };
}

/**
 * The times that limit the events of a recovery. If the span ends at the count, only `since` and the last
 * position limit them. If `asOf` is an earlier count, newer events are read too, but their state leaves them
 * out.
 */
export function eventTimes(
  { since, until }: RecoveryPlan['span'],
  asOf: Date,
): { readonly since: Date; readonly until?: Date } {
  return until < asOf ? { since, until } : { since };
}

function laterOf(one: Date, other: Date): Date {
  return one > other ? one : other;
}

interface CountRow {
  /** Events that were read. */
  readonly found: number;
  /** The position of the last one; null: no event was read. */
  readonly foundTo: string | null;
  readonly matched: number;
  readonly deadLetters: number;
  readonly unknown: number;
  readonly oldest: Date | null;
  readonly newest: Date | null;
}

/** @param max events or dead letters to look at. */
export async function countPlanned(db: Database, plan: RecoveryPlan, max: number): Promise<RecoveryCount> {
  return plan.request.only === 'dead_letters' ? countLetters(db, plan, max) : countEvents(db, plan, max);
}

const NOTHING = { matched: 0, deadLetters: 0, unknown: 0, oldest: null, newest: null, hasMore: false };

async function countLetters(db: Database, plan: RecoveryPlan, lettersMax: number): Promise<RecoveryCount> {
  const { accountId, webhookId, request, span, asOf } = plan;
  const filters = letterFilters({ type: request.types[0], reason: request.reason });
  if (request.mayGoOn?.() === false) return { ...span, asOf, ...NOTHING, hasMore: true };
  const times = [span.since.toISOString(), span.until.toISOString()];
  const [row] = await runOn<{ matched: number; oldest: Date | null; newest: Date | null }>(
    db.pool,
    countReplayable(filters),
    [accountId, webhookId, 'infinity', '', lettersMax + 1, ...times, ...Object.values(filters)],
  );
  if (row === undefined) throw new Error('an aggregate returned no row');
  const matched = Math.min(row.matched, lettersMax);
  return { ...span, asOf, ...row, matched, deadLetters: matched, unknown: 0, hasMore: row.matched > matched };
}

/** Counts page by page, so that no statement takes long. Each type is read alone, in index order. */
async function countEvents(db: Database, plan: RecoveryPlan, eventsMax: number): Promise<RecoveryCount> {
  const { accountId, webhookId, subscription, request, span, range, asOf } = plan;
  const { rule, domains, types } = subscription;
  const rest = [webhookId, rule, domains, request.only === 'undelivered', asOf.toISOString()];
  const times = eventTimes(span, asOf);
  let count: RecoveryCount = { ...span, asOf, ...NOTHING };
  let left = eventsMax;
  for (const type of wantedTypes(types, request.types)) {
    let { after } = range;
    let isLast = false;
    while (!isLast) {
      if (left === 0 || request.mayGoOn?.() === false) return { ...count, hasMore: true };
      const rowsMax = Math.min(EVENTS_PER_PAGE, left);
      const values = [...rangeValues(accountId, [type], times, { ...range, after }, rowsMax), ...rest];
      const [page] = await runOn<CountRow>(db.pool, countRecoverable, values);
      if (page === undefined) throw new Error('an aggregate returned no row');
      count = sumOf(count, page);
      left -= page.found;
      after = BigInt(page.foundTo ?? after);
      isLast = page.found < rowsMax;
    }
  }
  return count;
}

/** The types of a webhook that a request asks for. */
export function wantedTypes(
  received: readonly EventType[],
  asked: readonly EventType[],
): readonly EventType[] {
  return received.filter((type) => asked.length === 0 || asked.includes(type));
}

function sumOf(count: RecoveryCount, page: CountRow): RecoveryCount {
  return {
    ...count,
    matched: count.matched + page.matched,
    deadLetters: count.deadLetters + page.deadLetters,
    unknown: count.unknown + page.unknown,
    oldest: [count.oldest, page.oldest].filter((time) => time !== null).sort(byTime)[0] ?? null,
    newest:
      [count.newest, page.newest]
        .filter((time) => time !== null)
        .sort(byTime)
        .at(-1) ?? null,
  };
}

function byTime(one: Date, other: Date): number {
  return one.getTime() - other.getTime();
}
