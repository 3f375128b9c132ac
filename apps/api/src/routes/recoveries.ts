import { LIMITS, parseId, valueAt } from '@postrider/domain';
import type { AccountId, RecoveryId, WebhookId } from '@postrider/domain';
import { RECOVERED, RECOVERED_EVENTS, RECOVERY_STATUSES } from '@postrider/store';
import type { ApiKey, Recovery, RecoveryCount, RecoveryRequest, RecoveryStore } from '@postrider/store';
import { z } from 'zod';
import { AccountSlots } from '../http/account-slots.ts';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { parseFields, resourceFieldRule, strictFields } from '../http/fields.ts';
import { inSlot } from '../http/in-slot.ts';
import { idField, requestedEventType, requestedEventTypes, requestedTime } from '../http/parsed-text.ts';
import { limitParameter, parseQuery } from '../http/query-fields.ts';
import { actorOf } from '../http/request-context.ts';
import { countTakesLong, invalid, noSuch } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { Documented, KeyedRoute, RouteRequest } from './route.ts';
import { count, eventType, idOf, pageOf, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const MANAGE = { scope: 'webhooks:manage', limited: true } as const;

/** @param nowMs monotonic clock, in milliseconds. */
export function recoveryRoutes(
  recoveries: RecoveryStore,
  nowMs: () => number = () => performance.now(),
): readonly Documented[] {
  return [
    recover(recoveries, nowMs),
    listRecoveries(recoveries),
    getRecovery(recoveries),
    stopRecovery(recoveries),
  ];
}

const recoveryRequest = strictFields({
  since: requestedTime.meta({ description: 'Events recorded at this time or later.' }),
  until: requestedTime
    .optional()
    .meta({ description: 'Events recorded before this time. Absent: before the request.' }),
  types: requestedEventTypes(requestedEventType).meta({
    description: 'Empty or absent: all types that the webhook gets.',
  }),
  only: z
    .enum(RECOVERED_EVENTS, { error: `is not one of ${RECOVERED_EVENTS.join(', ')}` })
    .default('undelivered')
    .meta({ description: '`undelivered`: those that the list of events shows as `failed`.' }),
  dry_run: z
    .boolean({ error: 'is not a boolean' })
    .default(false)
    .meta({ description: 'True: counts and sends nothing.' }),
  rate: z
    .int({ error: 'is not a whole number' })
    .min(1, { error: 'is less than 1' })
    .max(LIMITS.recoveryRateMax, { error: `is more than ${LIMITS.recoveryRateMax}` })
    .default(LIMITS.recoveryRateDefault)
    .meta({ description: 'Events a second at most.' }),
  expected: z
    .int({ error: 'is not a whole number' })
    .min(0, { error: 'is less than 0' })
    .optional()
    .meta({
      description: 'The number of a dry run. If another number matches, nothing is sent.',
      maximum: 2 ** 31 - 1, // a bound that clients with 32-bit integers can have
    }),
}).meta({ id: 'RecoveryRequest' });

const requestedFields = {
  webhook: idOf('webhook'),
  since: time,
  until: time,
  types: z.array(eventType).meta({ description: 'Empty: all types that the webhook gets.' }),
  only: z.enum(RECOVERED_EVENTS),
  rate: count.meta({ description: 'Events a second at most.' }),
};
const countedFields = {
  matched: count.meta({ description: 'Events that the recovery sends.' }),
  dead_letters: count.meta({ description: 'Of the matched events, those with a dead letter.' }),
  has_more: z.boolean().meta({
    description: `True: more events match. The count ended after ${LIMITS.recoveryEventsCounted} events or ten seconds; the recovery sends them all.`,
  }),
};

const startedRecovery = z
  .object({
    object: z.literal('recovery'),
    id: idOf('recovery').nullable().meta({ description: 'null: a dry run.' }),
    dry_run: z.boolean(),
    ...requestedFields,
    ...countedFields,
    unknown: count.meta({ description: 'Events that are left out: their attempts are no longer logged.' }),
    oldest: time.nullable().meta({ description: 'When the first matched event was recorded.' }),
    newest: time.nullable().meta({ description: 'When the last matched event was recorded.' }),
    counted_at: time.meta({ description: 'What fails later is not part of the recovery.' }),
  })
  .meta({ id: 'StartedRecovery' });

/**
 * A count looks at up to half a million events, so each account gets one at a time. All accounts of this
 * process get two: each uses a connection to Postgres.
 */
const COUNT_SLOTS = { inFlightMax: 1, waitingMax: 0, waitMs: 10_000, totalInFlightMax: 2 };
/** After this time, a count reads no further page. */
const COUNT_MS = 10_000;

function recover(recoveries: RecoveryStore, nowMs: () => number): Documented<KeyedRoute> {
  const slots = new AccountSlots(COUNT_SLOTS, null);
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/webhooks/:id/recover',
    body: resourceBody,
    docs: {
      operationId: 'recoverWebhook',
      summary: 'Queue the events of a time span again',
      description:
        'Counts them, then a relay queues them step by step, the oldest first, each once and under its own id. ' +
        'Fresh events go first. A webhook has one running recovery at most.',
      request: recoveryRequest,
      success: { status: 202, body: startedRecovery },
      refusals: ['400 text', '422 text', 'validation-failed', 'not-found'],
    },
    async handle(request) {
      const { key, id: written, body, client } = request;
      const parsed = parseFields(body, recoveryRequest, ['since'], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const { since, until } = parsed.fields;
      if (until !== undefined && until <= since) {
        return invalid(`until ${quoted(valueAt(body, ['until']))} is not after since.`);
      }
      const webhookId = parseId('webhook', written);
      if (webhookId === null) return noSuch('webhook');
      return inSlot(slots, request, async () => {
        const endMs = nowMs() + COUNT_MS;
        const mayGoOn = (): boolean => !client.destroyed && nowMs() < endMs;
        return countOrStart(recoveries, key, webhookId, { ...parsed.fields, mayGoOn });
      });
    },
  };
}

async function countOrStart(
  recoveries: RecoveryStore,
  key: ApiKey,
  webhookId: WebhookId,
  request: z.output<typeof recoveryRequest> & Pick<RecoveryRequest, 'mayGoOn'>,
): Promise<Answer> {
  const { accountId } = key;
  if (request.dry_run) {
    const counted = await recoveries.count(accountId, webhookId, request);
    return counted === null ? noSuch('webhook') : startedAnswer(null, webhookId, request, counted);
  }
  const start = await recoveries.start(accountId, webhookId, request, actorOf(key));
  if (start.kind === 'no webhook') return noSuch('webhook');
  if (start.kind === 'running') return invalid(`The webhook has a recovery that runs: ${start.id}.`);
  if (start.kind === 'changed') {
    const wasCutShort = start.count.hasMore && request.mayGoOn?.() === false;
    if (wasCutShort) return countTakesLong;
    return invalid(`expected is ${request.expected}, and ${start.count.matched} events match.`);
  }
  return startedAnswer(start.id, webhookId, request, start.count);
}

function startedAnswer(
  id: RecoveryId | null,
  webhookId: WebhookId,
  { types, only, rate }: z.output<typeof recoveryRequest>,
  counted: RecoveryCount,
): Answer {
  return json<AnswerOf<typeof startedRecovery>>(202, {
    object: 'recovery',
    id,
    dry_run: id === null,
    webhook: webhookId,
    since: counted.since.toISOString(),
    until: counted.until.toISOString(),
    types,
    only,
    rate,
    matched: counted.matched,
    dead_letters: counted.deadLetters,
    has_more: counted.hasMore,
    unknown: counted.unknown,
    oldest: counted.oldest?.toISOString() ?? null,
    newest: counted.newest?.toISOString() ?? null,
    counted_at: counted.asOf.toISOString(),
  });
}

const recovery = z
  .object({
    object: z.literal('recovery'),
    id: idOf('recovery'),
    status: z.enum(RECOVERY_STATUSES).meta({
      description: '`finished`: every event was queued. The last ones may still be in progress.',
    }),
    ...requestedFields,
    only: z.enum(RECOVERED).meta({
      description:
        '`dead_letters`: the operator replays dead letters. `since` and `until` then say when these were made.',
    }),
    ...countedFields,
    queued: count.meta({ description: 'Delivered, failed and in progress together.' }),
    delivered: count.meta({ description: 'Answered with a 2xx.' }),
    failed: count.meta({
      description: 'Given up again: dead letters, and events that were deleted meanwhile.',
    }),
    in_progress: count.meta({ description: 'Waits for its first attempt or for another one.' }),
    left: count.meta({ description: 'Not queued yet; of a stopped recovery: not queued.' }),
    created_at: time.meta({ description: 'When its events were counted.' }),
    ended_at: time.nullable(),
  })
  .meta({ id: 'Recovery' });

const recoveryQuery = strictFields(
  {
    after: idField('recovery', 'a recovery')
      .optional()
      .meta({ description: 'Older than the recovery with this id.' }),
    limit: limitParameter,
  },
  'parameter',
);
const recoveryPage = pageOf(recovery).meta({ id: 'RecoveryPage' });

function listRecoveries(recoveries: RecoveryStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/webhooks/:id/recoveries',
    docs: {
      operationId: 'listRecoveries',
      summary: 'List the recoveries of a webhook, newest first',
      description: 'Those that ended are kept for 90 days.',
      query: recoveryQuery,
      success: { status: 200, body: recoveryPage },
      refusals: ['not-found', 'validation-failed'],
    },
    async handle({ key: { accountId }, id: written, query }) {
      const parsed = parseQuery(query, recoveryQuery);
      if (!parsed.ok) return parsed.refusal;
      const webhookId = parseId('webhook', written);
      if (webhookId === null) return noSuch('webhook');
      const page = await recoveries.list(accountId, webhookId, parsed.fields);
      if (page === 'no webhook') return noSuch('webhook');
      if (page === 'no cursor')
        return invalid(`after ${quoted(parsed.fields.after)} is not a recovery of the webhook.`);
      return json<AnswerOf<typeof recoveryPage>>(200, {
        object: 'list',
        has_more: page.hasMore,
        data: page.entries.map(recoveryObject),
      });
    },
  };
}

const RECOVERY_PATH = '/v1/webhooks/:id/recoveries/:recovery';

function getRecovery(recoveries: RecoveryStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: RECOVERY_PATH,
    docs: {
      operationId: 'getRecovery',
      summary: 'Read the progress of a recovery',
      success: { status: 200, body: recovery },
      refusals: ['not-found'],
    },
    handle: async (request) => recoveryAnswer(request, (...ids) => recoveries.find(...ids)),
  };
}

function stopRecovery(recoveries: RecoveryStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: RECOVERY_PATH,
    docs: {
      operationId: 'stopRecovery',
      summary: 'Stop a recovery',
      description:
        'After the answer it queues nothing more. What it has queued is still sent. A recovery that has ended stays as it is.',
      success: { status: 200, body: recovery },
      refusals: ['not-found'],
    },
    handle: async (request) =>
      recoveryAnswer(request, (...ids) => recoveries.stop(...ids, actorOf(request.key))),
  };
}

async function recoveryAnswer(
  { key, params }: RouteRequest,
  find: (account: AccountId, webhook: WebhookId, id: RecoveryId) => Promise<Recovery | null>,
): Promise<Answer> {
  const webhookId = parseId('webhook', params['id'] ?? '');
  const id = parseId('recovery', params['recovery'] ?? '');
  const found = webhookId === null || id === null ? null : await find(key.accountId, webhookId, id);
  if (found === null) return noSuch('recovery of this webhook');
  return json<AnswerOf<typeof recovery>>(200, recoveryObject(found));
}

function recoveryObject(each: Recovery): AnswerOf<typeof recovery> {
  return {
    object: 'recovery',
    id: each.id,
    status: each.status,
    webhook: each.webhookId,
    since: each.since.toISOString(),
    until: each.until.toISOString(),
    types: each.types,
    only: each.only,
    rate: each.rate,
    matched: each.matched,
    dead_letters: each.deadLetters,
    has_more: each.hasMore,
    queued: each.queued,
    delivered: each.delivered,
    failed: each.failed,
    in_progress: each.inProgress,
    left: each.left,
    created_at: each.createdAt.toISOString(),
    ended_at: each.endedAt?.toISOString() ?? null,
  };
}
