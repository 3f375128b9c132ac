import { DOMAIN_LENGTH, parseDomainName, parseId, PATTERNS } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import type { Domain, DomainStore } from '@postrider/store';
import { z } from 'zod';
import type { DomainOutcome, SendingDomains } from '../domains/sending-domains.ts';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { parseFields, resourceFieldRule, strictFields } from '../http/fields.ts';
import { listAnswer } from '../http/list-answer.ts';
import {
  domainsNotConfigured,
  domainTaken,
  noSuch,
  providerNotAsked,
  providerUnavailable,
  refusedByProvider,
  tooManyDomains,
} from '../problems/answers.ts';
import type { Documented, KeyedRoute, Refusal } from './route.ts';
import { deleted, idOf, named, pageOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const MANAGE = { scope: 'domains:manage', limited: true } as const;
const PROVIDER_REFUSALS: readonly Refusal[] = ['ses-refused', 'ses-unavailable', 'ses-not-configured'];

/** @param domains null: the mail provider has no domains, and these HTTP routes answer 503 */
export function domainRoutes(store: DomainStore, domains: SendingDomains | null): readonly Documented[] {
  const storeOrNull = domains === null ? null : store;
  return [
    createDomain(domains),
    listDomains(storeOrNull),
    getDomain(storeOrNull),
    verifyDomain(domains),
    updateDomain(storeOrNull),
    deleteDomain(domains),
  ];
}

const domainRequest = z
  .object({
    name: z
      .string({ error: 'is not a string' })
      .meta({
        pattern: PATTERNS.domain,
        maxLength: DOMAIN_LENGTH,
        description: 'A name that can be registered, or one below it.',
      })
      .transform((written, context) => {
        const parsed = parseDomainName(written);
        if (parsed.ok) return parsed.name;
        context.addIssue(parsed.fault);
        return z.NEVER;
      }),
  })
  .meta({ id: 'DomainRequest' });

/** The customer cannot turn tracking on. The operator can, in SES. */
function untracked(type: EventType) {
  const description = `A domain has no tracking setting. If the operator turned tracking on in SES, \`${type}\` events still arrive.`;
  return z.literal(false).meta({ description });
}

const domainFields = {
  id: idOf('domain'),
  name: text.meta({ description: 'In ASCII and lower case.' }),
  status: z.enum(['pending', 'verified', 'failed', 'temporary_failure']),
  created_at: time,
  region: text,
  capabilities: z.object({
    sending: z.literal('enabled'),
    receiving: z
      .enum(['enabled', 'disabled'])
      .meta({ description: '`enabled` once the domain was verified.' }),
  }),
  open_tracking: untracked('email.opened'),
  click_tracking: untracked('email.clicked'),
};
/** The store keeps the records as JSON, as the provider gave them. */
const record = z.looseObject({
  record: z.enum(['DKIM', 'SPF']),
  name: text,
  type: z.enum(['CNAME', 'MX', 'TXT']),
  ttl: z.literal('Auto'),
  status: text,
  value: text,
  priority: z.int().exactOptional(),
});
const domainEntry = z.object(domainFields);
const oneDomain = z
  .object({
    object: z.literal('domain'),
    ...domainFields,
    records: z.array(record).meta({ description: 'What has to be published in the DNS.' }),
  })
  .meta({ id: 'Domain' });

/** Checks the body before the 503 of a provider without domains: a customer always learns of a bad name. */
function createDomain(domains: SendingDomains | null): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/domains',
    body: resourceBody,
    docs: {
      operationId: 'createDomain',
      summary: 'Add a sending domain',
      request: domainRequest,
      success: { status: 200, body: oneDomain },
      refusals: ['400 text', '422 text', 'validation-failed', 'domain-taken', ...PROVIDER_REFUSALS],
    },
    async handle(request) {
      const parsed = parseFields(request.body, domainRequest, ['name'], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      if (domains === null) return domainsNotConfigured;
      return outcomeAnswer(await domains.create(request, parsed.fields.name), wholeDomain);
    },
  };
}

const domainPage = pageOf(domainEntry).meta({ id: 'DomainPage' });

function listDomains(store: DomainStore | null): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/domains',
    docs: {
      operationId: 'listDomains',
      summary: 'List domains, newest first',
      success: { status: 200, body: domainPage },
      paged: true,
      refusals: ['validation-failed', 'ses-not-configured'],
    },
    async handle({ key, query }) {
      if (store === null) return domainsNotConfigured;
      return listAnswer(query, {
        noun: 'domain',
        read: (request) => store.list(key.accountId, request),
        show: domainObject,
      });
    },
  };
}

/** Answers what the provider said last. The route does not ask the provider. */
function getDomain(domains: DomainStore | null): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/domains/:id',
    docs: {
      operationId: 'getDomain',
      summary: 'Read a domain and the records to publish',
      success: { status: 200, body: oneDomain },
      refusals: ['not-found', 'ses-not-configured'],
    },
    async handle({ key, id: written }) {
      if (domains === null) return domainsNotConfigured;
      const id = parseId('domain', written);
      const domain = id === null ? null : await domains.find(key.accountId, id);
      return domain === null ? noSuch('domain') : json(200, wholeDomain(domain));
    },
  };
}

const verifiedDomain = named('domain', 'domain').meta({ id: 'VerifiedDomain' });

/** Asks the provider at once. The result is then in the domain, not in this answer. */
function verifyDomain(domains: SendingDomains | null): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/domains/:id/verify',
    docs: {
      operationId: 'verifyDomain',
      summary: 'Ask the provider now whether a domain is verified',
      success: { status: 200, body: verifiedDomain },
      refusals: ['not-found', ...PROVIDER_REFUSALS],
    },
    async handle(request) {
      if (domains === null) return domainsNotConfigured;
      const id = parseId('domain', request.id);
      if (id === null) return noSuch('domain');
      const answer: AnswerOf<typeof verifiedDomain> = { object: 'domain', id };
      return outcomeAnswer(await domains.verify(request, id), () => answer);
    },
  };
}

/** A field that accepts one value: the one that every domain has. */
function fixed<const Value extends string | boolean>(
  value: Value,
  reason = `it is ${value} for every domain`,
) {
  return z.literal(value, { error: `cannot be set: ${reason}` }).optional();
}

const domainUpdate = strictFields({
  open_tracking: fixed(false),
  click_tracking: fixed(false),
  tls: fixed('opportunistic'),
  capabilities: z
    .object(
      {
        sending: fixed('enabled'),
        receiving: fixed('enabled', 'a domain receives once it was verified'),
      },
      { error: 'is not an object' },
    )
    .optional(),
  tracking_subdomain: z
    .null({ error: 'is not supported: links are not rewritten' })
    .optional()
    .meta({ description: 'Not supported.' }),
}).meta({ id: 'DomainUpdate' });
const updatedDomain = named('domain', 'domain').meta({ id: 'UpdatedDomain' });

/** Accepts the fixed values, for Resend's SDK. No setting of a domain can be chosen. */
function updateDomain(domains: DomainStore | null): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'patch',
    path: '/v1/domains/:id',
    body: resourceBody,
    docs: {
      operationId: 'updateDomain',
      summary: 'Confirm the settings of a domain: none of them can be chosen',
      request: domainUpdate,
      success: { status: 200, body: updatedDomain },
      refusals: ['400 text', 'validation-failed', 'not-found', 'ses-not-configured'],
    },
    async handle({ key, id: written, body }) {
      const parsed = parseFields(body, domainUpdate, [], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      if (domains === null) return domainsNotConfigured;
      const id = parseId('domain', written);
      const domain = id === null ? null : await domains.find(key.accountId, id);
      if (domain === null) return noSuch('domain');
      return json<AnswerOf<typeof updatedDomain>>(200, { object: 'domain', id: domain.id });
    },
  };
}

const deletedDomain = deleted('domain', 'domain').meta({ id: 'DeletedDomain' });

/** Removes the domain at the provider first, then here. */
function deleteDomain(domains: SendingDomains | null): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: '/v1/domains/:id',
    docs: {
      operationId: 'deleteDomain',
      summary: 'Remove a domain, here and at the provider',
      success: { status: 200, body: deletedDomain },
      refusals: ['not-found', ...PROVIDER_REFUSALS],
    },
    async handle(request) {
      if (domains === null) return domainsNotConfigured;
      const id = parseId('domain', request.id);
      if (id === null) return noSuch('domain');
      const answer: AnswerOf<typeof deletedDomain> = { object: 'domain', id, deleted: true };
      return outcomeAnswer(await domains.delete(request, id), () => answer);
    },
  };
}

/** A domain in the shape of Resend's. Fields that cannot be chosen here have fixed values. */
function domainObject(domain: Domain): AnswerOf<typeof domainEntry> {
  const { id, name, status, createdAt, region, firstVerifiedAt } = domain;
  // A process of the previous release verifies a domain without setting `firstVerifiedAt`.
  const receives = status === 'verified' || firstVerifiedAt !== null;
  return {
    id,
    name,
    status,
    created_at: createdAt.toISOString(),
    region,
    capabilities: { sending: 'enabled', receiving: receives ? 'enabled' : 'disabled' },
    open_tracking: false,
    click_tracking: false,
  };
}

function wholeDomain(domain: Domain): AnswerOf<typeof oneDomain> {
  const records = domain.records as AnswerOf<typeof oneDomain>['records'];
  return { object: 'domain', ...domainObject(domain), records };
}

/** @param body makes the answer of a success */
function outcomeAnswer<Value>(outcome: DomainOutcome<Value>, body: (value: Value) => object): Answer {
  switch (outcome.kind) {
    case 'ok':
      return json(200, body(outcome.value));
    case 'key-refused':
      return outcome.answer;
    case 'missing':
      return noSuch('domain');
    case 'taken':
      return domainTaken;
    case 'limit-reached':
      return tooManyDomains(outcome.limit, outcome.max);
    case 'refused':
      return refusedByProvider(outcome.detail);
    case 'unavailable':
      return providerUnavailable(outcome.detail);
    case 'not-asked':
      return providerNotAsked(outcome.detail);
  }
}
