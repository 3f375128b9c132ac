import { SAMPLES } from '@postrider/receiver/samples';
import { shownSecret } from '../routes/schemas.ts';

/** The part of an id behind its prefix, in every example. */
const ULID = '01m7yetjbeczm542h0d60ay93f';
const RECORDED = '2026-11-21T07:06:12.136Z';
const ADDRESS = 'ann@example.net';
const SENDER = 'Shop <orders@shop.example.com>';

const DELIVERED = SAMPLES.find(({ type }) => type === 'email.delivered');

/**
 * Values of fields, and of parameters, by name. `Topic.name`, with a schema or an operation before the dot,
 * wins over `name`. A field without a value here gets one by its schema: `exampleOf`.
 */
const VALUES: Readonly<Record<string, unknown>> = {
  // Mail and resources
  from: SENDER,
  to: [ADDRESS],
  cc: [],
  bcc: [],
  reply_to: [],
  received_for: ['support@shop.example.com'],
  skipped: ['eleventh@example.net'],
  subject: 'Your order',
  html: '<p>Thank you.</p>',
  text: 'Thank you.',
  message_id: '<42@mail.example.net>',
  in_reply_to: null,
  email: ADDRESS,
  recipient: ADDRESS,
  sender: 'spam.example',
  headers: [{ name: 'Subject', value: 'Where is my order?' }],
  'ReceivedEmail.headers': { subject: 'Where is my order?' },
  filename: 'receipt.pdf',
  content_type: 'application/pdf',
  content_id: null,
  'EmailAttachment.content_id': 'receipt',
  content_disposition: 'attachment',
  'EmailAttachment.content_disposition': 'inline',
  size: 12_210,
  download_url: 'https://postrider.example/links/sealed-token',
  email_address: 'support@shop.example.com',
  receiving_address: 'support@shop.example.com',
  from_name: 'Support of the shop',
  match: 'orders@shop.example.com',
  endpoint: 'https://shop.example.com/hooks/mail',
  domains: ['shop.example.com'],
  region: 'eu-central-1',
  name: 'Orders',
  'Inbox.name': 'Support',
  'Topic.name': 'News',
  'Domain.name': 'shop.example.com',
  description: 'Orders',
  'Topic.description': 'Once a month',
  tags: [{ name: 'kind', value: 'order' }],
  records: [
    {
      record: 'DKIM',
      name: 'abc._domainkey.shop.example.com',
      type: 'CNAME',
      ttl: 'Auto',
      status: 'verified',
      value: 'abc.dkim.amazonses.com',
    },
  ],
  ...shownSecret('whsec_bm90LWEtc2VjcmV0LWJ1dC10aGUtZXhhbXBsZS1vZi0'),
  // Ids that may be absent
  topic_id: null,
  source_id: null,
  inbox_id: `ibx_${ULID}`,
  thread_id: `thr_${ULID}`,
  rule_id: null,
  domain_id: `dom_${ULID}`,
  email_id: `em_${ULID}`,
  matched_email_id: `msg_${ULID}`,
  'Message.id': `msg_${ULID}`,
  'Message.attachments.id': `att_${ULID}`,
  'ThreadEmail.id': `msg_${ULID}`,
  'ThreadEmail.attachments.id': `att_${ULID}`,
  'EmailAttachment.id': `em_${ULID}.0`,
  dead_letter: null,
  // Deliveries and attempts
  status: 'success',
  'Domain.status': 'verified',
  'Message.status': 'received',
  'Recovery.status': 'finished',
  delivery: 'delivered',
  type: 'email.delivered',
  'DeadLetter.type': 'email.bounced',
  types: ['email.bounced'],
  events: ['email.delivered', 'email.bounced', 'email.complained'],
  'CreatedInboundRoute.events': ['message.received'],
  'InboundRoute.events': ['message.received'],
  data: DELIVERED?.data,
  'Event.subject': DELIVERED?.subject,
  'WebhookEvent.payload.subject': DELIVERED?.subject,
  attempts: 1,
  'DeadLetter.attempts': 8,
  attempt: 1,
  duration_ms: 48,
  status_code: 200,
  'DeadLetter.status_code': 503,
  http_status_code: 200,
  error: null,
  last_error: null,
  'DeadLetter.last_error': 'HTTP 503',
  response: 'ok',
  last_event: 'delivered',
  read: true,
  has_attachment: true,
  email_count: 2,
  unread: 1,
  outstanding: 0,
  dead_letters: 0,
  dead_letters_dropped: 0,
  held_reason: null,
  complete: true,
  replayed: 12,
  remaining: 0,
  next_cursor: 'MTIzNDU',
  'Attempt.next_cursor': null,
  'WebhookEventAttempt.id': 'MTc2MzcwODc3MjEzNjAwMC4xLjE',
  after: 'MTIzNDU',
  'listAttempts.after': 'MTc2MzcwODc3MjEzNjAwMC4xLjE',
  'listWebhookEventAttempts.after': 'MTc2MzcwODc3MjEzNjAwMC4xLjE',
  'listEmailAttachments.after': `em_${ULID}.0`,
  'listEmailAttachments.before': `em_${ULID}.0`,
  'listReceivedEmailAttachments.after': `att_${ULID}`,
  'listReceivedEmailAttachments.before': `att_${ULID}`,
  'listMessages.after': `msg_${ULID}`,
  'listMessages.before': `msg_${ULID}`,
  'listThreadEmails.after': `msg_${ULID}`,
  'listThreadEmails.before': `msg_${ULID}`,
  // Recoveries
  matched: 4_200,
  'Recovery.dead_letters': 4_180,
  'StartedRecovery.dead_letters': 4_180,
  unknown: 0,
  rate: 200,
  queued: 4_200,
  delivered: 4_200,
  failed: 0,
  in_progress: 0,
  left: 0,
  // Times
  created_at: RECORDED,
  updated_at: RECORDED,
  received_at: RECORDED,
  last_received: RECORDED,
  released_at: null,
  started_at: '2026-11-21T07:06:12.190Z',
  sent_at: '2026-11-21T07:06:12.190Z',
  last_success_at: '2026-11-21T07:06:12.190Z',
  failing_since: null,
  next_attempt_at: null,
  expires_at: '2026-11-28T07:06:12.136Z',
  ended_at: '2026-11-21T08:21:00.000Z',
  since: '2026-11-20T22:00:00.000Z',
  until: '2026-11-21T06:00:00.000Z',
  oldest: '2026-11-20T22:00:01.500Z',
  newest: '2026-11-21T05:59:58.200Z',
  counted_at: '2026-11-21T08:00:00.000Z',
  start_date: '2026-11-15T00:00:00.000Z',
  end_date: '2026-11-22T00:00:00.000Z',
  // Metrics
  granularity: 'daily',
  timezone: 'Europe/Berlin',
  metrics: ['sent', 'delivered', 'delivery_rate'],
  totals: { sent: 200, delivered: 198, delivery_rate: 0.99 },
  'EmailMetrics.data': [{ period: '2026-11-21', sent: 50, delivered: 49, delivery_rate: 0.98 }],
  'getEmailMetrics.metrics': 'sent,delivered,delivery_rate',
  'getEmailMetrics.dimensions': 'period',
  // Parameters of other queries
  query: 'order',
  'searchThreads.from': ADDRESS,
  'searchThreads.to': 'support@shop.example.com',
  'searchThreads.cc': 'team@shop.example.com',
  'searchThreads.bcc': 'archive@shop.example.com',
  folders: 'inbox',
  labels: 'urgent',
  'ThreadSummary.labels': [],
  'Thread.labels': [],
  'FoundThread.labels': [],
  limit: 20,
  'removeSuppression.reason': 'The recipient asked for mail again.',
  'removeSuppressions.reason': 'The recipients asked for mail again.',
  'listMessages.status': 'received',
  'Idempotency-Key': 'order-42',
  Range: 'bytes=0-1023',
};

/** A JSON Schema, as far as an example depends on it. */
export interface ExampleSchema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: unknown;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly anyOf?: readonly ExampleSchema[];
  readonly allOf?: readonly ExampleSchema[];
  readonly items?: ExampleSchema;
  readonly properties?: Readonly<Record<string, ExampleSchema>>;
}

/** The value for the `:id` of a path, by the beginning of the path. The first that fits counts. */
const PATH_IDS: Readonly<Record<string, string>> = {
  '/v1/webhooks/dead-letters/': `dl_${ULID}`,
  '/v1/webhooks/': `wh_${ULID}`,
  '/v1/emails/receiving/': `msg_${ULID}`,
  '/v1/emails/': `em_${ULID}`,
  '/v1/domains/': `dom_${ULID}`,
  '/v1/suppressions/': `sup_${ULID}`,
  '/v1/topics/': `top_${ULID}`,
  '/v1/inboxes/': `ibx_${ULID}`,
  '/v1/inbound/messages/': `msg_${ULID}`,
  '/v1/inbound/routes/': `rt_${ULID}`,
  '/v1/inbound/blocked-senders/': `bs_${ULID}`,
  '/u/': 'sealed-token',
  '/links/': 'sealed-token',
};
/** The values for the names in paths, except `:id`. */
const PART_IDS: Readonly<Record<string, string>> = {
  event: `evt_${ULID}`,
  recovery: `rec_${ULID}`,
  thread: `thr_${ULID}`,
  email: `msg_${ULID}`,
  attachment: `att_${ULID}`,
};

/** @throws Error when a path of a new kind needs an example */
export function exampleOfPath(path: string, name: string): string {
  const start = Object.keys(PATH_IDS).find((each) => path.startsWith(each)) ?? '';
  const id = name === 'id' ? PATH_IDS[start] : PART_IDS[name];
  if (id === undefined) throw new Error(`:${name} of ${path} needs an example in PATH_IDS or PART_IDS`);
  // An attachment of a sent message is named by the message and its index there.
  return path.startsWith('/v1/emails/:id/attachments') && name === 'attachment' ? `em_${ULID}.0` : id;
}

/** The schemas of the document, by name. */
export type ExampleSchemas = Readonly<Record<string, ExampleSchema>>;

/**
 * Makes an example of a named schema, with every field.
 *
 * @throws Error when a field needs a value in `VALUES`
 */
export function exampleOfSchema(name: string, schemas: ExampleSchemas): unknown {
  // `Topic.name` is also the value for the entries of a `TopicPage`.
  return exampleOf([name.replace(/(?:Page|List)$/, '')], schemas[name] ?? {}, schemas);
}

/** @param path the name of a schema or of an operation, then the names of fields */
export function exampleOf(path: readonly string[], schema: ExampleSchema, schemas: ExampleSchemas): unknown {
  if (schema.const !== undefined) return schema.const;
  const [, prefix] = /^\^([a-z]+_)\[0-7\]/.exec(schema.pattern ?? '') ?? [];
  if (prefix !== undefined) return `${prefix}${ULID}`;
  const fullName = path.join('.');
  const fieldName = path.slice(1).at(-1) ?? fullName;
  const name = [fullName, fieldName].find((each) => Object.hasOwn(VALUES, each));
  if (name !== undefined) return VALUES[name];
  if (schema.$ref !== undefined) return exampleOfSchema(schema.$ref.split('/').at(-1) ?? '', schemas);
  if (schema.enum !== undefined) return schema.enum[0];
  const [first] = schema.anyOf ?? [];
  if (first !== undefined) return exampleOf(path, first, schemas);
  if (schema.type === 'null') return null;
  if (schema.type === 'boolean') return false;
  if (schema.items !== undefined) return [exampleOf(path, schema.items, schemas)];
  if (schema.properties === undefined) throw new Error(`${fullName} needs an example in VALUES`);
  const fields = Object.entries(schema.properties).map(([field, each]) => {
    // An entry of a page is named by its own schema: `Topic.name`, not `Topic.data.name`.
    const isPage = field === 'data' && each.items !== undefined && !Object.hasOwn(VALUES, `${fullName}.data`);
    return [field, exampleOf(isPage ? path : [...path, field], each, schemas)] as const;
  });
  return Object.fromEntries(fields);
}
