import { z } from 'zod';
import { hasControlCharacter, parseEmailAddress } from './email-address.ts';
import { LIMITS } from './limits.ts';
import type { FieldFault } from './problems.ts';

/** A message as a customer asks for it, validated; addresses as written. */
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
}

export type EmailDraftParse =
  | { readonly ok: true; readonly draft: EmailDraft }
  | { readonly ok: false; readonly faults: readonly FieldFault[] };

const address = z
  .string({ error: 'must be a string' })
  .refine((text) => parseEmailAddress(text) !== null, { error: 'is not a valid email address' });

const addressList = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : (value ?? [])),
  z.array(address, { error: 'must be an email address or an array of them' }),
);

const optionalText = z
  .string({ error: 'must be a string' })
  .nullish()
  .transform((text) => text ?? null);

/** Written by the service itself, or structure of the message: not for a customer to set. */
const RESERVED_HEADERS = new Set([
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'return-path',
  'received',
  'dkim-signature',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-length',
]);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,76}$/;

const headers = z
  .record(
    z.string(),
    z
      .string({ error: 'must be a string' })
      .max(998, { error: 'is longer than 998 characters' })
      .refine((value) => !hasControlCharacter(value), { error: 'contains a control character' }),
    { error: 'must be an object of strings' },
  )
  .superRefine((record, context) => {
    if (Object.keys(record).length > LIMITS.headers) {
      context.addIssue({ code: 'custom', message: `has more than ${LIMITS.headers} headers` });
    }
    for (const name of Object.keys(record)) {
      if (!HEADER_NAME.test(name)) {
        context.addIssue({ code: 'custom', path: [name], message: 'is not a valid header name' });
      } else if (RESERVED_HEADERS.has(name.toLowerCase())) {
        context.addIssue({ code: 'custom', path: [name], message: 'is set by the service' });
      }
    }
  })
  .nullish()
  .transform((record) => record ?? {});

const emailRequest = z.object(
  {
    from: address,
    to: addressList.refine((list) => list.length > 0, { error: 'names no recipient' }),
    cc: addressList,
    bcc: addressList,
    reply_to: addressList,
    subject: z
      .string({ error: 'must be a string' })
      .max(998, { error: 'is longer than 998 characters' })
      .refine((text) => !hasControlCharacter(text), { error: 'contains a control character' }),
    html: optionalText,
    text: optionalText,
    headers,
  },
  { error: 'must be a JSON object' },
);

/** Validates the body of `POST /v1/emails`: all faults at once, each under its path as written in the request. */
export function parseEmailDraft(body: unknown): EmailDraftParse {
  const parsed = emailRequest.safeParse(body);
  if (!parsed.success) return { ok: false, faults: parsed.error.issues.map((issue) => faultOf(issue, body)) };
  const { reply_to: replyTo, ...request } = parsed.data;
  const faults = wholeMessageFaults(request);
  return faults.length > 0 ? { ok: false, faults } : { ok: true, draft: { ...request, replyTo } };
}

/** The rules that need several fields at once. */
function wholeMessageFaults(request: {
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly html: string | null;
  readonly text: string | null;
}): FieldFault[] {
  const faults: FieldFault[] = [];
  if (request.to.length + request.cc.length + request.bcc.length > LIMITS.recipients) {
    faults.push({
      field: 'to',
      message: `to, cc and bcc name more than ${LIMITS.recipients} recipients together`,
    });
  }
  if (request.html === null && request.text === null) {
    faults.push({ field: 'text', message: 'html or text is required' });
  }
  if (Buffer.byteLength(request.html ?? '') + Buffer.byteLength(request.text ?? '') > LIMITS.messageBytes) {
    faults.push({ field: 'text', message: 'html and text exceed 5 MiB together' });
  }
  return faults;
}

function faultOf(issue: z.core.$ZodIssue, body: unknown): FieldFault {
  const missing = issue.path.length === 1 && valueAt(body, issue.path) === undefined;
  return { field: pathText(issue.path, body), message: missing ? 'is required' : issue.message };
}

/** `to[2]`, `headers.<name>`; a lone address that was written without an array keeps its plain name. */
function pathText(path: readonly PropertyKey[], body: unknown): string {
  const [field, ...rest] = path;
  if (field === undefined) return '';
  const written = valueAt(body, [field]);
  const inArray = Array.isArray(written);
  return rest.reduce<string>((text, part) => {
    if (typeof part === 'number') return inArray ? `${text}[${part}]` : text;
    return `${text}.${String(part)}`;
  }, String(field));
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined,
    body,
  );
}
