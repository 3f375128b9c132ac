import { asLine } from './email-address.ts';
import { base64Length, CONTENT_ID } from './email-attachments.ts';
import type { AttachmentDraft } from './email-attachments.ts';
import { byteLength, emailFields, isAbsent, parseEmailDraft } from './email-draft.ts';
import type { DraftFault, EmailDraft } from './email-draft.ts';
import { escapedHtml, textAsHtml } from './html-text.ts';
import { inWords, LIMITS } from './limits.ts';
import { isMediaType } from './media-type.ts';
import {
  firstFault,
  fromOf,
  inboxMailFault,
  subjectWith,
  threadHeaders,
  threadHeadersSchema,
} from './reply-draft.ts';
import type { ReplyingInbox } from './reply-draft.ts';

/** The received or sent message that is forwarded. `ids` and `references` have no angle brackets. */
export interface ForwardedMessage {
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string | null;
  readonly createdAt: Date;
  readonly text: string | null;
  readonly html: string | null;
  /** The Message-IDs that its readers may see, the likeliest last: SES replaces ours. */
  readonly ids: readonly string[];
  readonly references: readonly string[];
  readonly files: readonly ForwardedFile[];
}

/** A file of the forwarded message, as that message's sender described it. */
export interface ForwardedFile {
  readonly filename: string | null;
  readonly contentType: string | null;
  readonly contentId: string | null;
  /** Bytes, decoded. */
  readonly size: number;
}

export type ForwardParse =
  | { readonly ok: true; /** without the files of the forwarded message */ readonly draft: EmailDraft }
  | { readonly ok: false; readonly fault: DraftFault };

const { shape } = emailFields;

/** The body of a forward as the OpenAPI document describes it. */
export const forwardRequest = emailFields
  .pick({ text: true, html: true, cc: true, bcc: true, attachments: true })
  .partial()
  .extend({
    to: shape.to,
    text: shape.text.meta({
      description: `Stands before the message. Text and HTML together: ${inWords(LIMITS.replyBytes)} at most.`,
    }),
    subject: shape.subject
      .nullish()
      .meta({ description: 'Absent: that of the message, with `Fwd:` in front.' }),
    headers: shape.headers.optional().meta(threadHeadersSchema),
  })
  .meta({ id: 'ForwardRequest' });

/**
 * Makes a message from the inbox: the customer's words, then the forwarded message with its header. The files
 * of the forwarded message count in the limits.
 */
export function parseForward(body: object, inbox: ReplyingInbox, original: ForwardedMessage): ForwardParse {
  const fields = body as Readonly<Record<string, unknown>>;
  const broken = inboxMailFault(fields);
  if (broken !== null) return { ok: false, fault: broken };
  const parsed = parseEmailDraft({
    to: fields['to'],
    cc: fields['cc'],
    bcc: fields['bcc'],
    html: fields['html'],
    // A forward needs no words of its own.
    text: fields['text'] ?? (isAbsent(fields['html']) ? '' : undefined),
    headers: fields['headers'],
    attachments: fields['attachments'],
    from: fromOf(inbox),
    subject: fields['subject'] ?? subjectWith('Fwd:', original.subject),
  });
  if (!parsed.ok) return { ok: false, fault: firstFault(parsed.faults) };
  const draft = {
    ...parsed.draft,
    ...bodiesOf(parsed.draft, original),
    headers: { ...parsed.draft.headers, ...threadHeaders(original) },
  };
  const tooMuch = sizeFault(draft, original.files);
  return tooMuch === null ? { ok: true, draft } : { ok: false, fault: tooMuch };
}

function sizeFault(
  { text, html, attachments }: EmailDraft,
  files: readonly ForwardedFile[],
): DraftFault | null {
  if (attachments.length + files.length > LIMITS.attachments) {
    const message = `are more than ${LIMITS.attachments} together with those of the message`;
    return { field: 'attachments', message };
  }
  const bytes =
    byteLength(text) +
    byteLength(html) +
    attachments.reduce((sum, { content }) => sum + content.length, 0) +
    files.reduce((sum, { size }) => sum + base64Length(size), 0);
  const max = inWords(LIMITS.messageBytes);
  const message = `exceeds ${max} in base64, together with the message and its attachments`;
  return bytes <= LIMITS.messageBytes ? null : { field: 'The forward', message };
}

/** Text, HTML or both, as the customer's words and the forwarded message have them. */
function bodiesOf(
  own: Pick<EmailDraft, 'text' | 'html'>,
  original: ForwardedMessage,
): Pick<EmailDraft, 'text' | 'html'> {
  const lines = headerLines(original);
  const ownText = own.text ?? '';
  const ownLines = ownText === '' ? [] : [ownText, ''];
  const text = own.text === null ? null : [...ownLines, ...lines, '', original.text ?? ''].join('\n');
  if (own.html === null && original.html === null) return { text, html: null };
  const ownHtml = own.html ?? (ownText === '' ? '' : textAsHtml(ownText));
  const forwardedHtml = original.html ?? textAsHtml(original.text ?? '');
  return { text, html: `${ownHtml}<div>${lines.map(escapedHtml).join('<br>')}</div><br>${forwardedHtml}` };
}

function headerLines({ from, to, cc, subject, createdAt }: ForwardedMessage): string[] {
  return [
    '---------- Forwarded message ----------',
    `From: ${from}`,
    `Date: ${createdAt.toUTCString()}`,
    `Subject: ${subject ?? ''}`,
    `To: ${to.join(', ')}`,
    ...(cc.length === 0 ? [] : [`Cc: ${cc.join(', ')}`]),
  ];
}

/** Turns a file of a message into an attachment to send. A stranger may have written its name and types. */
export function forwardedFile(
  { filename, contentType, contentId }: ForwardedFile,
  content: Buffer,
): AttachmentDraft {
  const name = asLine(filename ?? '', LIMITS.filenameLength);
  const id = (contentId ?? '').replace(/^<|>$/g, '');
  return {
    filename: name.trim() === '' ? 'attachment' : name,
    content: content.toString('base64'),
    contentType: contentType !== null && isMediaType(contentType) ? contentType : null,
    contentId: isContentId(id) ? id : null,
  };
}

function isContentId(text: string): boolean {
  return text !== '' && text.length <= LIMITS.contentIdLength && CONTENT_ID.test(text);
}
