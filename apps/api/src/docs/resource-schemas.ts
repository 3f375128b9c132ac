import { LIMITS } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { exactly, idOf, nullableText, pageOf, text, texts, time } from './json-schema.ts';
import type { Schema } from './json-schema.ts';

const domain = {
  id: idOf('dom'),
  name: { type: 'string', description: 'In ASCII and lower case.' },
  status: { enum: ['pending', 'verified', 'failed', 'temporary_failure'] },
  created_at: time,
  region: text,
  capabilities: exactly({
    sending: { const: 'enabled' },
    receiving: { enum: ['enabled', 'disabled'], description: '`enabled` once the domain is verified.' },
  }),
  open_tracking: untracked('email.opened'),
  click_tracking: untracked('email.clicked'),
};

/** A domain has no tracking to choose; the operator of SES may track all the same. */
function untracked(type: EventType): Schema {
  const description = `No tracking can be chosen by domain. Where the operator has SES track, \`${type}\` arrives all the same.`;
  return { const: false, description };
}

const records: Schema = {
  type: 'array',
  description: 'What has to be published in the DNS.',
  items: {
    type: 'object',
    required: ['record', 'name', 'type', 'ttl', 'status', 'value'],
    properties: {
      record: { enum: ['DKIM', 'SPF'] },
      name: text,
      type: { enum: ['CNAME', 'MX', 'TXT'] },
      ttl: { const: 'Auto' },
      status: text,
      value: text,
      priority: { type: 'integer' },
    },
  },
};

export const suppressionOrigin: Schema = { enum: ['bounce', 'complaint', 'manual', 'unsubscribe'] };
/** In characters, which are what `maxLength` counts. */
export const reasonText: Schema = { type: 'string', maxLength: LIMITS.suppressionReasonLength };

const suppression = {
  id: idOf('sup'),
  email: text,
  topic_id: { ...nullableText, description: 'null: about anything' },
  origin: suppressionOrigin,
  source_id: { ...nullableText, description: 'The message that it came of.' },
  created_at: time,
};
const reason = {
  ...reasonText,
  type: ['string', 'null'],
  description: 'Needed to remove what a complaint has made.',
};

/** An entry of an answer that says no more than which resource it is about. */
function named(object: string, prefix: string): Schema {
  return exactly({ object: { const: object }, id: idOf(prefix) });
}

function deleted(object: string, prefix: string): Schema {
  return exactly({ object: { const: object }, id: idOf(prefix), deleted: { const: true } });
}

function many(entry: Schema): Schema {
  return exactly({ data: { type: 'array', items: entry } });
}

/** Of domains, suppressions and topics, and of unsubscribing. */
export const RESOURCE_SCHEMAS = {
  DomainRequest: { type: 'object', required: ['name'], properties: { name: text } },
  Domain: exactly({ object: { const: 'domain' }, ...domain, records }),
  DomainPage: pageOf(exactly(domain)),
  VerifiedDomain: named('domain', 'dom'),
  DeletedDomain: deleted('domain', 'dom'),
  SuppressionRequest: { type: 'object', required: ['email'], properties: { email: text } },
  SuppressionBatchRequest: { type: 'object', required: ['emails'], properties: { emails: texts } },
  SuppressionBatchRemoval: {
    type: 'object',
    properties: { emails: texts, ids: texts, reason },
    anyOf: [{ required: ['emails'] }, { required: ['ids'] }],
  },
  SuppressionRemoval: { type: 'object', properties: { reason } },
  CreatedSuppression: named('suppression', 'sup'),
  CreatedSuppressions: many(named('suppression', 'sup')),
  Suppression: exactly({ object: { const: 'suppression' }, ...suppression }),
  SuppressionPage: pageOf(exactly(suppression)),
  DeletedSuppression: deleted('suppression', 'sup'),
  DeletedSuppressions: many(deleted('suppression', 'sup')),
  UnsubscribeRequest: { type: 'object', description: 'As RFC 8058 has it, or nothing.' },
  Unsubscribed: exactly({ object: { const: 'unsubscribe' }, unsubscribed: { const: true } }),
} as const satisfies Readonly<Record<string, Schema>>;
