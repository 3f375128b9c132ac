import { LIMITS } from '@postrider/domain';
import { exactly, idOf, nullableText, pageOf, text, texts, time } from './json-schema.ts';
import type { Schema } from './json-schema.ts';

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
} as const satisfies Readonly<Record<string, Schema>>;
