import { DEAD_LETTER_REASONS, EVENT_TYPES, LIMITS, parseId } from '@postrider/domain';
import type { Clock, WebhookId } from '@postrider/domain';
import {
  countDeadLettersBefore,
  createAccountStore,
  createRecoveryLookUps,
  createRecoveryStore,
  createWebhookLookUps,
  readAttemptDays,
  readWebhookHealth,
  isUnavailable,
  RECOVERED,
} from '@postrider/store';
import type { Database, OwnedWebhook, RecoveryCount, RecoveryRequest, RecoveryStart } from '@postrider/store';
import { z } from 'zod';
import { freeText, note, readFields, single, utcTime } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { FormHandler } from '../http/serve-form.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { endpointName } from '../html/pieces.ts';
import { DAY_MS } from '../html/words.ts';
import { eventsInWords, recoverPage, recoverPath, typedNumber } from '../pages/recover.ts';
import type { CountedEvents, RecoverFields } from '../pages/recover.ts';
import type { OneCount } from './one-count.ts';
import { ownerNamed } from './owner.ts';
import type { Owners } from './owner.ts';

/** A dry run counts at most so many webhooks of an account. They share the events that one count looks at. */
const WEBHOOKS_MAX = 20;
/** A dry run or a start counts for this time, and then until the end of the page of events that it reads. */
const COUNT_MS = 10_000;

const rate = single
  .regex(/^\d{1,4}$/, { error: 'is not a whole number' })
  .transform(Number)
  .pipe(
    z
      .number()
      .min(1, { error: 'is less than 1 event per second' })
      .max(LIMITS.recoveryRateMax, { error: `is more than ${LIMITS.recoveryRateMax} events per second` }),
  );

/** The fields of the dry run. */
const asked = {
  webhook: freeText.optional(),
  since: utcTime.optional(),
  until: utcTime.optional(),
  types: z.enum(EVENT_TYPES, { error: 'is not a type of event' }).optional(),
  rate: rate.default(LIMITS.recoveryRateDefault),
  only: z.enum(RECOVERED, { error: `is not one of ${RECOVERED.join(', ')}` }).default('undelivered'),
  reason: z
    .enum(DEAD_LETTER_REASONS, { error: `is not one of ${DEAD_LETTER_REASONS.join(', ')}` })
    .optional(),
  failing: z.literal('include', { error: 'is not include' }).optional(),
};

function requestOf({ since: given, until, types, only, reason }: RecoverFields): RecoveryRequest {
  const isOfDeadLetters = only === 'dead_letters';
  const since = given ?? (isOfDeadLetters ? new Date(0) : undefined);
  if (since === undefined) throw badRequest(['Since is missing.']);
  if (until !== undefined && until <= since) throw badRequest(['Until is not after Since.'], ['until']);
  // The form still sends the reason of dead letters when the user chooses events.
  const ownReason = isOfDeadLetters ? reason : undefined;
  return { since, until, types: types === undefined ? [] : [types], only, reason: ownReason };
}

/** Dry run and start count up to the same maximum. Otherwise the numbers would differ. */
function countedMax(owner: string): number {
  return parseId('webhook', owner) === null
    ? LIMITS.recoveryEventsCounted / WEBHOOKS_MAX
    : LIMITS.recoveryEventsCounted;
}

/** Monotonic, in milliseconds. */
const monotonicMs = (): number => performance.now();

/** Starts the time of a count. @returns a function that is false when that time is over. */
function timeLimit(nowMs: () => number): () => boolean {
  const endMs = nowMs() + COUNT_MS;
  return () => nowMs() < endMs;
}

/** `/recover`: counts, and starts nothing. The count ends when the browser disconnects. */
export function showRecover(
  db: Database,
  clock: Clock,
  counting: OneCount,
  nowMs: () => number = monotonicMs,
): PageHandler {
  const accounts = createAccountStore(db, clock);
  const webhooks = createWebhookLookUps(db);
  const lookUps = createRecoveryLookUps(db);

  return async (visit) => {
    const given = readFields(asked, visit.query);
    const { webhook: owner, only } = given;
    const since = only === 'dead_letters' ? given.since : (given.since ?? dayBefore(visit.now));
    const request = requestOf({ ...given, since });
    const fields = { ...given, since, reason: request.reason };
    if (owner === undefined) return recoverPage({ fields, dryRun: null }, visit);
    const owned = await webhooksOf({ accounts, webhooks }, owner);
    const ids = owned.map(({ id }) => id);
    const recoveries = createRecoveryStore(db, clock, { eventsCountedMax: countedMax(owner) });
    const count = async () => {
      const hasTime = timeLimit(nowMs);
      const mayGoOn = (): boolean => hasTime() && visit.isConnected();
      return countAll(recoveries, owned, { ...request, mayGoOn });
    };
    const counts = await counting(count, { isWanted: visit.isConnected });
    const days = await readAttemptDays(db.pool, ids, visit.now);
    const health = await readWebhookHealth(db, ids);
    const running = await lookUps.runningAt(ids);
    const earlier =
      only === 'dead_letters'
        ? null
        : await countDeadLettersBefore(db, ids, { before: request.since, type: given.types });
    const targets = owned.flatMap((webhook) => {
      const counted = counts.get(webhook.id);
      if (counted === undefined) return [];
      return [
        {
          webhook,
          count: counted,
          day: days.get(webhook.id),
          health: health.get(webhook.id),
          running: running.get(webhook.id),
          earlier: earlier?.get(webhook.id),
        },
      ];
    });
    const account = owned[0] === undefined ? null : await accounts.describe(owned[0].accountId);
    const dryRun = { targets, account, owner };
    return recoverPage({ fields, dryRun }, visit);
  };
}

/** The result is a whole minute, as the field shows it. */
function dayBefore(now: Date): Date {
  return new Date(Math.floor((now.getTime() - DAY_MS) / 60_000) * 60_000);
}

async function webhooksOf(
  owners: Owners & { readonly webhooks: ReturnType<typeof createWebhookLookUps> },
  text: string,
): Promise<readonly OwnedWebhook[]> {
  const { accountId, webhook } = await ownerNamed(owners, text);
  if (webhook !== undefined) return [webhook];
  const page = await owners.webhooks.list(accountId, { limit: WEBHOOKS_MAX, cursor: null });
  if (page?.hasMore === true) {
    throw badRequest(
      [`Account ${text} has more than ${WEBHOOKS_MAX} webhooks. Give the id of one.`],
      ['webhook'],
    );
  }
  return page?.entries ?? [];
}

/** Counts for each webhook, all up to the same moment. */
async function countAll(
  recoveries: Pick<ReturnType<typeof createRecoveryStore>, 'count'>,
  webhooks: readonly OwnedWebhook[],
  request: RecoveryRequest,
): Promise<ReadonlyMap<WebhookId, RecoveryCount>> {
  const counts = new Map<WebhookId, RecoveryCount>();
  let asOf: Date | undefined;
  for (const { id, accountId } of webhooks) {
    const count = await recoveries.count(accountId, id, { ...request, asOf });
    if (count === null) continue;
    asOf = count.asOf;
    counts.set(id, count);
  }
  return counts;
}

/** `wh_…:28412 wh_…:85+`, as the dry run counted them. */
const countedEvents = freeText.transform((text, context) => {
  const numbers = new Map<WebhookId, CountedEvents>();
  for (const word of text.split(' ')) {
    const [, written = '', number, more] = /^(\w+):(\d{1,9})(\+?)$/.exec(word) ?? [];
    const id = parseId('webhook', written);
    if (id === null) {
      context.addIssue({ code: 'custom', message: 'is not the result of a dry run' });
      return z.NEVER;
    }
    numbers.set(id, { matched: Number(number), hasMore: more === '+' });
  }
  return numbers;
});

const startFields = {
  ...asked,
  webhook: freeText,
  at: utcTime,
  counted: countedEvents,
  count: freeText
    .transform((text) => text.replaceAll(',', ''))
    .pipe(z.string().regex(/^\d{1,9}\+?$/, { error: 'is not a number' }))
    .optional(),
  note: note.optional(),
};

/** `POST /recoveries`: starts a recovery of each webhook, if the number of its events is still the same. */
export function startRecoveries(
  db: Database,
  clock: Clock,
  counting: OneCount,
  nowMs: () => number = monotonicMs,
): FormHandler {
  const webhooks = createWebhookLookUps(db);

  return async ({ fields: given, visitor }) => {
    const { at: asOf, counted: numbers, count: typed, note: why, ...fields } = readFields(startFields, given);
    const request = { ...requestOf(fields), rate: fields.rate, asOf };
    const total = typedNumber([...numbers.values()]);
    if (total !== null && typed !== total) throw badRequest([`Count is not ${total}, the number of events.`]);
    const by = { kind: 'console', name: visitor.name, note: why } as const;
    const recoveries = createRecoveryStore(db, clock, { eventsCountedMax: countedMax(fields.webhook) });
    const startOne: StartOne = async (id, { matched, hasMore }, mayGoOn) => {
      const webhook = await orUnavailable(() => webhooks.find(id));
      if (webhook === 'unavailable') return { endpoint: id, start: { kind: 'unread' } };
      if (webhook === null) return { endpoint: id, start: { kind: 'no webhook' } };
      const endpoint = endpointName(webhook.endpoint);
      // A cut number is not compared: the next count may be cut at another number.
      const wanted = { ...request, expected: hasMore ? undefined : matched, mayGoOn };
      const start = await orUnavailable(() => recoveries.start(webhook.accountId, id, wanted, by));
      if (start === 'unavailable') return { endpoint, start: { kind: 'unknown' } };
      if (start.kind === 'changed' && start.count.hasMore && !mayGoOn())
        return { endpoint, start: { kind: 'late' } };
      if (start.kind !== 'started') return { endpoint, start };
      // This count may have been cut at a lower number than the count that the user saw.
      const count = { ...start.count, matched: Math.max(matched, start.count.matched) };
      return { endpoint, start: { ...start, count } };
    };
    const startEach = async () => startAll(numbers, startOne, timeLimit(nowMs));
    const dryRun = recoverPath(fields);
    return resultOf(await counting(startEach, { again: dryRun }), dryRun);
  };
}

type StartOne = (id: WebhookId, counted: CountedEvents, mayGoOn: () => boolean) => Promise<WebhookStart>;

/** Starts a recovery for one webhook after the other. */
async function startAll(
  numbers: ReadonlyMap<WebhookId, CountedEvents>,
  startOne: StartOne,
  mayGoOn: () => boolean,
): Promise<WebhookStart[]> {
  const starts: WebhookStart[] = [];
  let isUnanswered = false; // Postgres did not answer for an earlier webhook
  for (const [id, counted] of cutLast(numbers)) {
    // A cut number is not compared, so its recovery may also start when the time is over.
    const mayStart = mayGoOn() || (counted.hasMore && !isUnanswered);
    const one: WebhookStart = mayStart
      ? await startOne(id, counted, mayGoOn)
      : { endpoint: id, start: { kind: counted.hasMore ? 'unread' : 'late' } };
    isUnanswered ||= one.start.kind === 'unread' || one.start.kind === 'unknown';
    starts.push(one);
  }
  return starts;
}

/** What became of the start at one webhook. */
interface WebhookStart {
  readonly endpoint: string;
  readonly start:
    | RecoveryStart
    /** The time was over before the events were counted. */
    | { readonly kind: 'late' }
    /** Postgres did not answer before the recovery could start. */
    | { readonly kind: 'unread' }
    /** Postgres did not answer. The recovery may have started. */
    | { readonly kind: 'unknown' };
}

/** Cut numbers come last. The whole numbers are compared with a new count, which needs time. */
function cutLast(numbers: ReadonlyMap<WebhookId, CountedEvents>): readonly [WebhookId, CountedEvents][] {
  return [...numbers].sort(([, one], [, other]) => Number(one.hasMore) - Number(other.hasMore));
}

/**
 * The recovery of each webhook starts in its own transaction. When one fails, the rest can still start.
 *
 * @returns 'unavailable' when Postgres does not answer
 */
async function orUnavailable<T>(work: () => Promise<T>): Promise<T | 'unavailable'> {
  try {
    return await work();
  } catch (error) {
    if (isUnavailable(error)) return 'unavailable';
    throw error;
  }
}

const REFUSALS: Readonly<Record<Exclude<WebhookStart['start']['kind'], 'started'>, string>> = {
  'no webhook': 'was deleted',
  running: 'has a recovery that runs',
  changed: 'has another number of events now',
  late: 'was not counted within 10 s',
  unread: 'was not started, because Postgres did not answer',
  unknown: 'may have a recovery or not, because Postgres did not answer',
};

function resultOf(results: readonly WebhookStart[], dryRun: string): { location: string; outcome: string } {
  const started = results.flatMap(({ start }) => (start.kind === 'started' ? [start] : []));
  const events = eventsInWords(started.map((start) => start.count));
  const refused = results.flatMap(({ endpoint, start }) =>
    start.kind === 'started' ? [] : [`${endpoint} ${REFUSALS[start.kind]}`],
  );
  const isSure = results.every(({ start }) => start.kind !== 'unknown');
  const happened = isSure ? 'was started' : 'is known to have started';
  const [first] = started;
  if (first === undefined) {
    const outcome = `Nothing ${happened}. ${refused.join('. ')}. This is a new dry run.`;
    return { location: dryRun, outcome };
  }
  // The first sentence is bold, so it names what was refused.
  const notAll = refused.length === 0 ? '' : `Not every recovery ${happened}: ${refused.join('; ')}. `;
  const words = started.length === 1 ? '1 recovery runs' : `${started.length} recoveries run`;
  return {
    location: results.length === 1 ? `/recoveries/${first.id}` : '/recoveries',
    outcome: `${notAll}${words}, of ${events}.`,
  };
}
