import { z } from 'zod';
import { isAscii } from './domain-name.ts';
import { isRecipientList, parseEmailAddress } from './email-address.ts';
import { attachmentsField, contentLength } from './email-attachments.ts';
import type { AttachmentDraft } from './email-attachments.ts';
import { headerFaults, headersSchema } from './email-headers.ts';
import { tagsField } from './email-tags.ts';
import type { EmailTag } from './email-tags.ts';
import { fieldPath, valueAt } from './field-path.ts';
import { idPattern, parseId } from './ids.ts';
import type { TopicId } from './ids.ts';
import { limitedList } from './limited-list.ts';
import { inWords, LIMITS } from './limits.ts';
import type { FieldFault } from './problems.ts';
import { oneLineText, parsedBy } from './text-field.ts';
import { ADDRESS_LENGTH, PATTERNS } from './text-patterns.ts';

/** A validated message as the customer requested it. Addresses are as written. */
export interface EmailDraft {
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly replyTo: readonly string[];
  readonly subject: string;
  readonly html: string | null;
  readonly text: string | null;
  /** Extra headers in the order given. */
  readonly headers: Readonly<Record<string, string>>;
  readonly attachments: readonly AttachmentDraft[];
  readonly tags: readonly EmailTag[];
  /** A well-formed id. Only the store knows whether the account has this topic. */
  readonly topicId: TopicId | null;
}

/** A fault of a message, with the value of its field. */
export interface DraftFault extends FieldFault {
  /** As written. Absent when the field is missing, or the fault is not about one value. */
  readonly value?: unknown;
}

export type EmailDraftParse =
  | { readonly ok: true; readonly draft: EmailDraft }
  | {
      readonly ok: false;
      readonly faults: readonly DraftFault[];
      /** The requested topic, if its id is well-formed. `faults` does not say whether the account has it. */
      readonly topicId: TopicId | null;
    };

const unsupported = z
  .union([z.null(), z.array(z.unknown()).max(0)])
  .optional()
  .meta({ description: 'Not supported.' });
/** Fields of Resend that this version does not support. Null or an empty list is accepted. */
const UNSUPPORTED = { scheduled_at: unsupported, template: unsupported };

const RECIPIENT_FIELDS = ['to', 'cc', 'bcc'] as const;

const address = z
  .string({ error: 'must be a string' })
  .refine((text) => parseEmailAddress(text) !== null && !isRecipientList(text), {
    error: 'is not a valid email address',
  })
  .meta({ pattern: PATTERNS.address, maxLength: ADDRESS_LENGTH });

const addressList = z
  .preprocess(
    (value) => (typeof value === 'string' ? [value] : value),
    limitedList(LIMITS.recipients, address, 'must be an email address or an array of them'),
  )
  .meta({ type: ['string', 'array', 'null'], pattern: PATTERNS.address, maxLength: ADDRESS_LENGTH });

const optionalText = z
  .string({ error: 'must be a string' })
  .refine((text) => !text.includes('\0'), { error: 'contains a NUL character' })
  .refine((text) => text.isWellFormed(), { error: 'contains half of a surrogate pair' })
  .meta({ pattern: PATTERNS.text })
  .nullish()
  .transform((text) => text ?? null);

// Not `z.record`: it would drop a header named `__proto__` instead of reporting it.
const headers = z
  .preprocess(
    (written) => written ?? {},
    z.unknown().transform((written, context): Record<string, string> => {
      const faults = headerFaults(written);
      for (const { name, message } of faults) {
        context.addIssue({ code: 'custom', path: name === null ? [] : [name], message });
      }
      return faults.length > 0 ? z.NEVER : (written as Record<string, string>);
    }),
  )
  .meta(headersSchema());

/** The fault of a malformed id, and of an id that the account does not have. */
export const UNKNOWN_TOPIC = 'is not a topic of this account';

const topicId = z
  .string({ error: 'must be a string' })
  .meta({ pattern: idPattern('topic') })
  .transform(parsedBy((text) => parseId('topic', text), UNKNOWN_TOPIC))
  .nullish();

export const emailFields = z.object(
  {
    from: address.meta({ description: '`local@domain` or `Name <local@domain>`' }),
    to: addressList
      .refine((list) => list.length > 0, { error: 'names no recipient' })
      .meta({
        type: ['string', 'array'],
        minItems: 1,
        description: `At most ${LIMITS.recipients} recipients, those in \`cc\` and \`bcc\` included.`,
      }),
    cc: addressList,
    bcc: addressList,
    reply_to: addressList,
    subject: oneLineText(LIMITS.headerLength, 'must be a string'),
    html: optionalText,
    text: optionalText,
    headers,
    attachments: attachmentsField,
    tags: tagsField,
    topic_id: topicId,
  },
  { error: 'must be a JSON object' },
);

/** A rule of a JSON Schema: `html` or `text` has a value. */
export const HTML_OR_TEXT = {
  anyOf: ['html', 'text'].map((field) => ({
    required: [field],
    properties: { [field]: { type: 'string' } },
  })),
};

/** The body of a send as the OpenAPI document describes it. */
export const emailRequest = emailFields.extend(UNSUPPORTED).meta({
  id: 'EmailRequest',
  description: `One of \`html\` and \`text\` is required. At most ${LIMITS.recipients} recipients in \`to\`, \`cc\` and \`bcc\` together.`,
  required: ['from', 'to', 'subject'],
  allOf: [HTML_OR_TEXT],
});

/**
 * Validates the body of `POST /v1/emails`. It reports all faults at once, each with its path as written in
 * the request (contract 7.1). A body that is not an object has one fault, with an empty path.
 */
export function parseEmailDraft(body: unknown): EmailDraftParse {
  const parsed = emailFields.safeParse(body);
  const faults = [
    ...(parsed.error?.issues.map((issue) => faultOf(issue, body)) ?? []),
    ...(isRecord(body) ? wholeMessageFaults(body) : []),
  ];
  if (!parsed.success || faults.length > 0) {
    const asked = isRecord(body) ? body['topic_id'] : null;
    return { ok: false, faults, topicId: typeof asked === 'string' ? parseId('topic', asked) : null };
  }
  const { reply_to: replyTo, topic_id: topicId = null, ...rest } = parsed.data;
  return { ok: true, draft: { ...rest, replyTo, topicId } };
}

/**
 * The addresses that need SMTPUTF8 (RFC 6531), which not every mail provider has: their local part is not
 * ASCII. A parsed address has its domain in ASCII.
 *
 * @returns one fault for each address, with its path.
 */
export function smtpUtf8Faults({ from, to, cc, bcc, replyTo }: EmailDraft): DraftFault[] {
  const fields = { from: [from], to, cc, bcc, reply_to: replyTo };
  return Object.entries(fields).flatMap(([field, addresses]) =>
    addresses.flatMap((text, index) =>
      isAscii(parseEmailAddress(text)?.address ?? '')
        ? []
        : {
            field: field === 'from' ? field : `${field}[${index}]`,
            message: 'is an address with letters beyond ASCII, which the mail provider (SES) cannot deliver',
            value: text,
          },
    ),
  );
}

export const TOO_MANY_RECIPIENTS: FieldFault = {
  field: 'to',
  message: `names more than ${LIMITS.recipients} recipients, cc and bcc included`,
};

/** The rules that need several fields, or the request as written. */
function wholeMessageFaults(body: Record<string, unknown>): FieldFault[] {
  const faults: FieldFault[] = [];
  const recipients = RECIPIENT_FIELDS.reduce((sum, field) => sum + listLength(body[field]), 0);
  if (recipients > LIMITS.recipients) faults.push(TOO_MANY_RECIPIENTS);
  if (listLength(body['reply_to']) > LIMITS.recipients) {
    faults.push({ field: 'reply_to', message: `names more than ${LIMITS.recipients} addresses` });
  }
  if (isAbsent(body['html']) && isAbsent(body['text'])) {
    faults.push({ field: 'text', message: 'is required unless html is given' });
  }
  const tooLarge = sizeFault(body);
  if (tooLarge !== null) faults.push(tooLarge);
  for (const field of ['tags', 'attachments'] as const) {
    if (listLength(body[field]) > LIMITS[field]) {
      faults.push({ field, message: `has more than ${LIMITS[field]} ${field}` });
    }
  }
  const refused = Object.keys(UNSUPPORTED).filter((field) => !unsupported.safeParse(body[field]).success);
  return [...faults, ...refused.map((field) => ({ field, message: 'is not supported' }))];
}

/** Contract 8 limits the size of one message, including its attachments in base64. */
function sizeFault({ html, text, attachments }: Record<string, unknown>): FieldFault | null {
  const bodies = byteLength(html) + byteLength(text);
  if (bodies > LIMITS.messageBytes) {
    const message = `exceeds ${inWords(LIMITS.messageBytes)}`;
    if (byteLength(text) === 0) return { field: 'html', message };
    return { field: 'text', message: byteLength(html) === 0 ? message : `${message} together with html` };
  }
  const files: unknown[] = Array.isArray(attachments) ? attachments : [];
  const encoded = files.reduce<number>(
    (sum, file) => sum + (isRecord(file) ? contentLength(file['content']) : 0),
    0,
  );
  return bodies + encoded > LIMITS.messageBytes
    ? {
        field: 'attachments',
        message: `exceed ${inWords(LIMITS.messageBytes)} in base64, together with text and html`,
      }
    : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function listLength(written: unknown): number {
  if (Array.isArray(written)) return written.length;
  return typeof written === 'string' ? 1 : 0;
}

export function byteLength(written: unknown): number {
  return typeof written === 'string' ? Buffer.byteLength(written) : 0;
}

function faultOf(issue: z.core.$ZodIssue, body: unknown): DraftFault {
  const field = fieldPath(issue.path, body);
  const parent = valueAt(body, issue.path.slice(0, -1));
  const value = valueAt(body, issue.path);
  if (isRecord(parent) && value === undefined) return { field, message: 'is required' };
  // A single address is validated as a list of one. Its path ends in 0, and the string itself is the parent.
  return { field, message: issue.message, value: typeof parent === 'string' ? parent : value };
}
