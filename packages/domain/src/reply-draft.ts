import { z } from 'zod';
import { asLine, parseEmailAddress } from './email-address.ts';
import {
  byteLength,
  emailFields,
  HTML_OR_TEXT,
  parseEmailDraft,
  TOO_MANY_RECIPIENTS,
} from './email-draft.ts';
import type { DraftFault, EmailDraft } from './email-draft.ts';
import { headersSchema } from './email-headers.ts';
import { inboundAddress } from './inbound-address.ts';
import { inWords, LIMITS } from './limits.ts';
import { newestIds } from './message-ids.ts';
import { plainAddresses } from './plain-address.ts';

/** The received or sent message that a reply answers. Ids have no angle brackets. */
export interface AnsweredMessage {
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly replyTo: readonly string[];
  readonly subject: string | null;
  /** The Message-IDs that its readers may see, the likeliest last. Empty when there is none. */
  readonly ids: readonly string[];
  readonly references: readonly string[];
}

export interface ReplyingInbox {
  readonly address: string;
  readonly fromName: string | null;
}

export interface ReplyDraft {
  readonly draft: EmailDraft;
  /** The addresses of Reply-To that do not get the reply. */
  readonly skipped: readonly string[];
  /**
   * As how many messages the reply counts in the inbox's hourly limit. A stranger chose the recipients that a
   * received message names, so each counts. A reply to the inbox's own message counts as 1.
   */
  readonly messages: number;
}

export type ReplyParse =
  | ({ readonly ok: true } & ReplyDraft)
  | { readonly ok: false; readonly fault: DraftFault };

const { shape } = emailFields;
const REPLY_MAX = inWords(LIMITS.replyBytes);
const replyAll = z.boolean({ error: 'is not true or false' }).nullish();

/** The service sets these headers, so that a reply cannot claim to answer another message. */
const REPLY_HEADERS = new Set(['in-reply-to', 'references', 'reply-to']);

/** The headers of mail that an inbox sends into a thread. */
export const threadHeadersSchema = {
  ...headersSchema(REPLY_HEADERS),
  description: 'As of `POST /v1/emails`, without `In-Reply-To`, `References` and `Reply-To`.',
};

/** The body of a reply as the OpenAPI document describes it. */
export const replyRequest = emailFields
  .pick({ text: true, html: true, cc: true, bcc: true, headers: true, attachments: true })
  .partial()
  .extend({
    text: shape.text.meta({ description: `Text and HTML together: ${REPLY_MAX} at most; one is needed.` }),
    subject: shape.subject
      .nullish()
      .meta({ description: 'Absent: that of the message, with `Re:` in front.' }),
    headers: shape.headers.optional().meta(threadHeadersSchema),
    reply_all: replyAll,
  })
  .meta({ id: 'ReplyRequest', allOf: [HTML_OR_TEXT] });

/**
 * The ids that a header can hold. A line has 998 octets (RFC 5322 2.1.1): a space, the brackets and the id.
 * An id beyond ASCII needs SMTPUTF8 (RFC 6531), which many servers lack.
 */
const WRITABLE_ID = /^[!-~]{1,995}$/;
/** RFC 5322 3.6.4 lets References grow with the mail thread. */
const WRITTEN_REFERENCES_MAX = 100;

/**
 * Turns a reply into a message from the inbox. A received message is answered to its `Reply-To`, or to its
 * sender without one. A message that the inbox sent is answered to its recipients. `reply_all` adds the other
 * recipients, without the inbox itself.
 */
export function parseReply(body: object, inbox: ReplyingInbox, answered: AnsweredMessage): ReplyParse {
  const fields = body as Readonly<Record<string, unknown>>;
  const toAll = replyAll.safeParse(fields['reply_all']);
  if (!toAll.success) {
    return fault({ field: 'reply_all', message: 'is not true or false', value: fields['reply_all'] });
  }
  const broken = inboxMailFault(fields);
  if (broken !== null) return fault(broken);
  const { to, skipped, others, unreadable } = recipientsOf(inbox, answered);
  if (to.length === 0) return fault({ field: 'The message', message: unanswerable(unreadable) });
  const parsed = parseEmailDraft({
    html: fields['html'],
    text: fields['text'],
    headers: fields['headers'],
    attachments: fields['attachments'],
    bcc: fields['bcc'],
    from: fromOf(inbox),
    to,
    cc: fields['cc'],
    subject: fields['subject'] ?? subjectWith('Re:', answered.subject),
  });
  if (!parsed.ok) return fault(firstFault(parsed.faults));
  const toOthers = toAll.data === true ? others : [];
  const cc = [...toOthers, ...parsed.draft.cc];
  if (to.length + cc.length + parsed.draft.bcc.length > LIMITS.recipients) return fault(TOO_MANY_RECIPIENTS);
  return {
    ok: true,
    draft: { ...parsed.draft, cc, headers: { ...parsed.draft.headers, ...threadHeaders(answered) } },
    skipped,
    messages: answered.direction === 'outbound' ? 1 : to.length + toOthers.length,
  };
}

/** Checks the rules of all mail that an inbox sends into a thread. @returns the first fault, or null */
export function inboxMailFault(fields: Readonly<Record<string, unknown>>): DraftFault | null {
  const reserved = namesOf(fields['headers']).find((name) => REPLY_HEADERS.has(name.toLowerCase()));
  if (reserved !== undefined) return { field: `headers.${reserved}`, message: 'is set by the service' };
  const [text, html] = [byteLength(fields['text']), byteLength(fields['html'])];
  if (text + html <= LIMITS.replyBytes) return null;
  const message = `exceeds ${REPLY_MAX}`;
  if (html === 0) return { field: 'text', message };
  return { field: 'html', message: text === 0 ? message : `${message} together with text` };
}

export function firstFault([first]: readonly DraftFault[]): DraftFault {
  return first ?? { field: 'The body', message: 'breaks a rule' };
}

function fault(found: DraftFault): ReplyParse {
  return { ok: false, fault: found };
}

function recipientsOf(inbox: ReplyingInbox, { direction, from, to, cc, replyTo }: AnsweredMessage) {
  const replyAddresses = replyTo.length > 0 ? replyTo : [from];
  const answerTo = direction === 'outbound' ? to : replyAddresses;
  const seen = new Set<string>();
  const unseen = (list: readonly string[]): string[] =>
    list.filter((text) => {
      const [address] = plainAddresses([text]);
      if (address === undefined || seen.has(address)) return false;
      // The +tags of the inbox are the inbox. Those of other addresses may be other people.
      if (inboundAddress(address) === inbox.address) return false;
      seen.add(address);
      return true;
    });
  const chosen = unseen(answerTo);
  // A message from the inbox to itself has no other address, so the answer goes to the inbox.
  const answerable = chosen.length > 0 ? chosen : answerTo.filter((text) => parseEmailAddress(text) !== null);
  // A stranger wrote Reply-To, so few of its addresses get the reply. The customer chose the recipients of
  // the inbox's own message.
  const toMax = direction === 'outbound' ? answerable.length : LIMITS.replyToAddresses;
  return {
    to: answerable.slice(0, toMax),
    skipped: answerable.slice(toMax),
    unreadable: answerTo.find((text) => text !== ''), // used only when `to` is empty
    others: unseen(direction === 'outbound' ? cc : [...to, ...cc]),
  };
}

function unanswerable(address: string | undefined): string {
  if (address === undefined) return 'has no sender address';
  return `can only be answered at ${JSON.stringify(address)}, which is not an email address`;
}

export function fromOf({ address, fromName }: ReplyingInbox): string {
  return fromName === null ? address : `"${fromName.replaceAll(/["\\]/g, String.raw`\$&`)}" <${address}>`;
}

/** The subject with a prefix such as `Re:`, unless it has that already. */
export function subjectWith(prefix: string, subject: string | null): string {
  const text = subject ?? '';
  const prefixed = text.toLowerCase().startsWith(prefix.toLowerCase()) ? text : `${prefix} ${text}`;
  return asLine(prefixed, LIMITS.headerLength);
}

export function threadHeaders({
  ids,
  references,
}: Pick<AnsweredMessage, 'ids' | 'references'>): Record<string, string> {
  const writable = (list: readonly string[]) => list.filter((id) => WRITABLE_ID.test(id));
  const headers: Record<string, string> = {};
  const last = writable(ids).at(-1);
  if (last !== undefined) headers['In-Reply-To'] = `<${last}>`;
  const chain = newestIds([...new Set(writable([...references, ...ids]))], WRITTEN_REFERENCES_MAX);
  if (chain.length > 0) headers['References'] = chain.map((id) => `<${id}>`).join(' ');
  return headers;
}

function namesOf(headers: unknown): string[] {
  return typeof headers === 'object' && headers !== null ? Object.keys(headers) : [];
}
