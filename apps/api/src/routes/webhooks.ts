import {
  DOMAIN_LENGTH,
  fieldPath,
  LIMITS,
  mailDomain,
  oneLineText,
  parseEndpoint,
  parseId,
  PATTERNS,
  receivedTypes,
  webhookHeaderFault,
  webhookHeadersSchema,
} from '@postrider/domain';
import type { WebhookHeaders } from '@postrider/domain';
import type { Webhook, WebhookHealth, WebhookStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { parseFields, resourceFieldRule, strictFields } from '../http/fields.ts';
import type { FieldsParse } from '../http/fields.ts';
import { parsedText, requestedEventType, requestedEventTypes } from '../http/parsed-text.ts';
import { actorOf } from '../http/request-context.ts';
import { noSuch, tooManyWebhooks } from '../problems/answers.ts';
import type { Documented, KeyedRoute, RouteRules } from './route.ts';
import {
  count,
  deleted,
  eventType,
  idOf,
  listOf,
  nullableText,
  secretFields,
  shownSecret,
  texts,
  time,
  url,
} from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const MANAGE = { scope: 'webhooks:manage', limited: true } as const;

export function webhookRoutes(webhooks: WebhookStore, rules: RouteRules): readonly Documented[] {
  return [
    createWebhook(webhooks, rules),
    listWebhooks(webhooks),
    getWebhook(webhooks),
    deleteWebhook(webhooks),
  ];
}

/** An https URL. The validator returns it in normalised form. */
export const requestedEndpoint = z
  .string({ error: 'is not a string' })
  // The OpenAPI document shows this pattern and length. `parseEndpoint` decides.
  .meta({
    description: 'An `https://` URL.',
    pattern: PATTERNS.endpoint,
    maxLength: LIMITS.endpointLength,
  })
  .transform((written, context) => {
    const parsed = parseEndpoint(written);
    if (parsed.ok) return parsed.endpoint;
    context.addIssue(parsed.fault);
    return z.NEVER;
  });

/**
 * The handler checks the headers: our own names depend on a setting, and a refusal must not quote a value.
 */
const requestedHeaders = z.unknown().meta(webhookHeadersSchema);

const requestedDomain = parsedText(
  (text) => mailDomain(text)?.toLowerCase() ?? null,
  'is not a domain name',
  {
    pattern: PATTERNS.mailDomain,
    maxLength: DOMAIN_LENGTH,
    description: 'In any case; a name in Unicode is kept in ASCII.',
  },
);

/** An empty list is refused: it may be a mistake of the caller, and could mean no event or every event. */
const requestedDomains = z
  .array(requestedDomain, { error: 'is not an array of domains' })
  .min(1, { error: 'is empty' })
  .max(LIMITS.webhookDomains, { error: `has more than ${LIMITS.webhookDomains} domains` })
  .transform((names) => [...new Set(names)])
  .meta({ description: 'Only events of mail from, or received for, these domains. Absent: every event.' });

/**
 * An empty list of events means every type. So a misspelt `events` must be refused: it would subscribe the
 * endpoint to the text of received mail.
 */
export const webhookRequest = strictFields({
  endpoint: requestedEndpoint,
  events: requestedEventTypes(requestedEventType),
  description: oneLineText(LIMITS.webhookDescriptionLength).nullish(),
  domains: requestedDomains.nullish(),
  headers: requestedHeaders.optional(),
}).meta({ id: 'WebhookRequest' });

const COUNTED = 'Counted up to 5,000; in a list of more than five webhooks, up to 25,000 in all.';

const webhookFields = {
  object: z.literal('webhook'),
  id: idOf('webhook'),
  endpoint: url.meta({ format: 'uri', description: 'In normalised form.' }),
  events: z.array(eventType).meta({ description: 'The types that it receives now.' }),
  description: nullableText,
  domains: texts.nullable().meta({ description: 'Null: every event.' }),
};
const createdWebhook = z.object({ ...webhookFields, ...secretFields }).meta({ id: 'CreatedWebhook' });
const webhookEntry = z
  .object({
    ...webhookFields,
    created_at: time,
    failing_since: time.nullable().meta({
      description: 'Since when the endpoint fails. Null: it does not. Postrider never pauses a webhook.',
    }),
    last_success_at: time.nullable().meta({
      description: 'When the last attempt started that a 2xx answered. Null: none is known.',
    }),
    last_error: nullableText.meta({
      description:
        'Of the last attempt that failed, or of a delivery that was refused since. Null: none is known, or the log no longer has the attempt.',
    }),
    outstanding: count.meta({ description: `Deliveries that are neither done nor given up. ${COUNTED}` }),
    dead_letters: count.meta({ description: `Dead letters. ${COUNTED}` }),
    dead_letters_dropped: count.meta({
      description:
        'Dead letters that retention deleted, since the webhook was made. A recovery sends their events while these are kept.',
    }),
  })
  .meta({ id: 'Webhook' });

/**
 * Contract 4.1: a missing field gets plain text, every other fault a problem that names the field and its
 * value.
 */
function createWebhook(
  webhooks: WebhookStore,
  { webhooksPerAccountMax: perAccountMax, signatureHeaderPrefix }: RouteRules,
): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/webhooks',
    body: resourceBody,
    docs: {
      operationId: 'createWebhook',
      summary: 'Register an endpoint for events',
      description: 'Only this answer has the signing secret. `events` empty or absent: all types.',
      request: webhookRequest,
      success: { status: 201, body: createdWebhook },
      refusals: ['400 text', '422 text', 'validation-failed'],
    },
    async handle({ key: { accountId }, body }) {
      const parsed = parseFields(body, webhookRequest, ['endpoint'], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const { endpoint, events, description = null, domains = null } = parsed.fields;
      const headers = parseHeaders(parsed.fields.headers, signatureHeaderPrefix);
      if (!headers.ok) return headers.refusal;
      const created = await webhooks.create({
        accountId,
        perAccountMax,
        endpoint,
        events,
        description,
        domains,
        headers: headers.fields,
      });
      if (created.kind === 'limit-reached') return tooManyWebhooks(created.max);
      return json<AnswerOf<typeof createdWebhook>>(201, {
        ...webhookObject(created.webhook),
        ...shownSecret(created.signingSecret),
      });
    },
  };
}

function parseHeaders(written: unknown, prefix: string): FieldsParse<WebhookHeaders | null> {
  if (written === undefined || written === null) return { ok: true, fields: null };
  const fault = webhookHeaderFault(written, prefix);
  if (fault === null) return { ok: true, fields: written as WebhookHeaders };
  const path = fault.name === null ? ['headers'] : ['headers', fault.name];
  return { ok: false, refusal: resourceFieldRule.invalid(`${fieldPath(path, {})} ${fault.message}.`) };
}

const webhookList = listOf(webhookEntry).meta({ id: 'WebhookList' });

/** Contract 4.2. */
function listWebhooks(webhooks: WebhookStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/webhooks',
    docs: {
      operationId: 'listWebhooks',
      summary: 'List all webhooks, newest first',
      success: { status: 200, body: webhookList },
      refusals: [],
    },
    async handle({ key }) {
      const found = await webhooks.list(key.accountId);
      return json<AnswerOf<typeof webhookList>>(200, {
        object: 'list',
        data: await entriesOf(webhooks, found),
      });
    },
  };
}

function getWebhook(webhooks: WebhookStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/webhooks/:id',
    docs: {
      operationId: 'getWebhook',
      summary: 'Read a webhook, without its signing secret',
      success: { status: 200, body: webhookEntry },
      refusals: ['not-found'],
    },
    async handle({ key, id: written }) {
      const id = parseId('webhook', written);
      const webhook = id === null ? null : await webhooks.find(key.accountId, id);
      const [entry] = webhook === null ? [] : await entriesOf(webhooks, [webhook]);
      return entry === undefined ? noSuch('webhook') : json(200, entry);
    },
  };
}

const deletedWebhook = deleted('webhook', 'webhook').meta({ id: 'DeletedWebhook' });

/** Contract 4.3. */
function deleteWebhook(webhooks: WebhookStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: '/v1/webhooks/:id',
    docs: {
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook, with its queued deliveries and its dead letters',
      success: { status: 200, body: deletedWebhook },
      refusals: ['not-found'],
    },
    async handle({ key, id: written }) {
      const id = parseId('webhook', written);
      if (id === null || !(await webhooks.delete(key.accountId, id, actorOf(key)))) return noSuch('webhook');
      return json<AnswerOf<typeof deletedWebhook>>(200, { object: 'webhook', id, deleted: true });
    },
  };
}

/** The fields that all answers about a webhook share (contract 2.1). */
function webhookObject({ id, endpoint, events, description, domains }: Webhook) {
  return { object: 'webhook', id, endpoint, events: receivedTypes(events), description, domains } as const;
}

/** Leaves out a webhook that was removed since it was read. */
async function entriesOf(
  webhooks: WebhookStore,
  found: readonly Webhook[],
): Promise<AnswerOf<typeof webhookEntry>[]> {
  const healths = await webhooks.health(found.map(({ id }) => id));
  return found.flatMap((webhook) => {
    const health = healths.get(webhook.id);
    return health === undefined ? [] : [entryOf(webhook, health)];
  });
}

function entryOf(webhook: Webhook, health: WebhookHealth): AnswerOf<typeof webhookEntry> {
  return {
    ...webhookObject(webhook),
    created_at: webhook.createdAt.toISOString(),
    failing_since: health.failingSince?.toISOString() ?? null,
    last_success_at: health.lastSuccessAt?.toISOString() ?? null,
    last_error: health.lastError,
    outstanding: health.outstanding,
    dead_letters: health.deadLetters,
    dead_letters_dropped: health.deadLettersDropped,
  };
}
