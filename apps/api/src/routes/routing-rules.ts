import { ADDRESS_LENGTH, LIMITS, oneLineText, parseId, parseInboundMatch, PATTERNS } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import type { RoutingRule, RoutingRuleStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { parseFields, resourceFieldRule } from '../http/fields.ts';
import { listAnswer } from '../http/list-answer.ts';
import { parsedText, requestedEventTypes } from '../http/parsed-text.ts';
import { actorOf } from '../http/request-context.ts';
import {
  foreignInboundDomain,
  foreignWholeDomain,
  noSuch,
  reservedName,
  ruleExists,
  tooManyWebhooks,
} from '../problems/answers.ts';
import type { Documented, KeyedRoute } from './route.ts';
import {
  deleted,
  eventType,
  idOf,
  nullableText,
  pageOf,
  secretFields,
  shownSecret,
  text,
  time,
  url,
} from './schemas.ts';
import type { AnswerOf } from './schemas.ts';
import { requestedEndpoint } from './webhooks.ts';

const MANAGE = { scope: 'inbound:manage', liveOnly: true, limited: true } as const;

/**
 * A routing rule sends the events of matching mail to an endpoint of their own. Customers know it as an
 * inbound route.
 */
export function routingRuleRoutes(rules: RoutingRuleStore): readonly Documented[] {
  return [createRule(rules), listRules(rules), getRule(rules), deleteRule(rules)];
}

const MESSAGE_TYPES = ['message.received', 'message.held'] as const satisfies readonly EventType[];

const requestedMatch = parsedText(parseInboundMatch, 'is neither a bare email address nor *@ and a domain', {
  pattern: PATTERNS.inboundMatch,
  maxLength: ADDRESS_LENGTH,
  description: 'An address, or `*@` and a domain that the account has verified.',
});

const messageType = z.enum(MESSAGE_TYPES, { error: `is not one of ${MESSAGE_TYPES.join(', ')}` });

export const ruleRequest = z
  .object({
    match: requestedMatch,
    endpoint: requestedEndpoint,
    // An empty list becomes both types: a webhook with an empty list would receive events of every type.
    events: requestedEventTypes(messageType).transform((types): readonly EventType[] =>
      types.length === 0 ? MESSAGE_TYPES : types,
    ),
    name: oneLineText(LIMITS.inboundNameLength).nullish(),
  })
  .meta({ id: 'InboundRouteRequest' });

const ruleFields = {
  object: z.literal('inbound_route'),
  id: idOf('routingRule'),
  match: text.meta({ description: 'In lower case, its domain in ASCII, without a tag.' }),
  endpoint: url.meta({ format: 'uri', description: 'In normalised form.' }),
  events: z.array(eventType).min(1),
  webhook: idOf('webhook').meta({
    description:
      'The id of this rule in dead letters and below `/v1/webhooks/{id}/`, as in `…/events`. No list of webhooks has it.',
  }),
  created_at: time,
};
/** Without `name`: the client has just sent it. */
const createdRule = z.object({ ...ruleFields, ...secretFields }).meta({ id: 'CreatedInboundRoute' });

function createRule(rules: RoutingRuleStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/inbound/routes',
    body: resourceBody,
    docs: {
      operationId: 'createInboundRoute',
      summary: 'Send the events of matching mail to an endpoint of their own',
      description: 'Only this answer has the signing secret. `events` empty or absent: both types.',
      request: ruleRequest,
      success: { status: 201, body: createdRule },
      refusals: ['400 text', '422 text', 'validation-failed', 'route-exists'],
    },
    async handle({ key: { accountId }, body }) {
      const parsed = parseFields(body, ruleRequest, ['match', 'endpoint'], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const { match, endpoint, events, name = null } = parsed.fields;
      const { match: pattern, isWholeDomain } = match;
      const creation = await rules.create({ accountId, match, endpoint, events, name });
      switch (creation.kind) {
        case 'created':
          return json<AnswerOf<typeof createdRule>>(201, {
            ...ruleObject(creation.rule),
            ...shownSecret(creation.signingSecret),
          });
        case 'foreign-domain':
          return isWholeDomain ? foreignWholeDomain(pattern) : foreignInboundDomain(pattern);
        case 'reserved-name':
          return reservedName(pattern);
        case 'limit-reached':
          return tooManyWebhooks(creation.max);
        case 'exists':
          return ruleExists;
      }
    },
  };
}

const ruleEntry = z.object({ ...ruleFields, name: nullableText }).meta({ id: 'InboundRoute' });
const rulePage = pageOf(ruleEntry).meta({ id: 'InboundRoutePage' });

function listRules(rules: RoutingRuleStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/inbound/routes',
    docs: {
      operationId: 'listInboundRoutes',
      summary: 'List the rules of received mail, newest first',
      success: { status: 200, body: rulePage },
      paged: true,
      refusals: ['validation-failed'],
    },
    async handle({ key, query }) {
      return listAnswer(query, {
        noun: 'routingRule',
        read: (request) => rules.list(key.accountId, request),
        show: entryOf,
      });
    },
  };
}

function getRule(rules: RoutingRuleStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/inbound/routes/:id',
    docs: {
      operationId: 'getInboundRoute',
      summary: 'Read a rule, without its signing secret',
      success: { status: 200, body: ruleEntry },
      refusals: ['not-found'],
    },
    async handle({ key, id: written }) {
      const id = parseId('routingRule', written);
      const rule = id === null ? null : await rules.find(key.accountId, id);
      return rule === null ? noSuch('inbound route') : json(200, entryOf(rule));
    },
  };
}

const deletedRule = deleted('inbound_route', 'routingRule').meta({ id: 'DeletedInboundRoute' });

function deleteRule(rules: RoutingRuleStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: '/v1/inbound/routes/:id',
    docs: {
      operationId: 'deleteInboundRoute',
      summary: 'Delete a rule, with its webhook, its queued deliveries and its dead letters',
      success: { status: 200, body: deletedRule },
      refusals: ['not-found'],
    },
    async handle({ key, id: written }) {
      const id = parseId('routingRule', written);
      if (id === null || !(await rules.delete(key.accountId, id, actorOf(key))))
        return noSuch('inbound route');
      return json<AnswerOf<typeof deletedRule>>(200, { object: 'inbound_route', id, deleted: true });
    },
  };
}

/** The fields that all answers about a rule have. */
function ruleObject({ id, match, endpoint, events, webhookId, createdAt }: RoutingRule) {
  return {
    object: 'inbound_route',
    id,
    match,
    endpoint,
    events,
    webhook: webhookId,
    created_at: createdAt.toISOString(),
  } as const;
}

function entryOf(rule: RoutingRule): AnswerOf<typeof ruleEntry> {
  return { ...ruleObject(rule), name: rule.name };
}
