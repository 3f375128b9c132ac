import type { KeyKind } from './api-key.ts';
import type { EventData } from './event-data.ts';
import type { AccountId, AttachmentId, InboxId, MessageId, RoutingRuleId, ThreadId } from './ids.ts';
import { LIMITS } from './limits.ts';
import type { AuthResults, HeldReason } from './screening-words.ts';

export interface ReceivedAttachment {
  readonly id: AttachmentId;
  readonly filename: string | null;
  readonly contentType: string;
  readonly contentId: string | null;
  /** Decoded size in bytes. */
  readonly size: number;
}

/** A received message of an inbox, or of a routing rule when there is no inbox. */
export interface ReceivedMessage {
  readonly id: MessageId;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly status: 'received' | 'held' | 'released';
  readonly inboxId: InboxId | null;
  readonly threadId: ThreadId | null;
  readonly ruleId: RoutingRuleId | null;
  /** The Message-ID header without angle brackets. */
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  /** `Name <address>` or a bare address. Empty when the message has none. */
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly replyTo: readonly string[];
  /** The envelope recipients that led to this inbox or rule, with their tags. */
  readonly receivedFor: readonly string[];
  readonly subject: string | null;
  /** The plain text, or the HTML converted to text. The store may cut it to just over a record's limit. */
  readonly text: string | null;
  readonly receivedAt: Date;
  /** Bytes as received. */
  readonly size: number;
  readonly attachments: readonly ReceivedAttachment[];
  readonly auth: AuthResults;
  /** True: a program sent it, such as an out-of-office reply. */
  readonly automatic: boolean;
  readonly heldReason: HeldReason | null;
  /** False: a part of the message was not read. Its raw bytes have that part. */
  readonly complete: boolean;
}

/** The limits of a message's record. */
interface Bounds {
  /** Bytes in UTF-8. */
  readonly text: number;
  readonly entries: number;
  /** Characters of the subject and of a Message-ID. */
  readonly name: number;
  /** Characters of an attachment's name, type or Content-ID. */
  readonly fileField: number;
}

const WHOLE: Bounds = {
  text: LIMITS.messageBodyBytes,
  entries: Infinity,
  name: Infinity,
  fileField: Infinity,
};

/**
 * The record in events and lists. The limits of the text, of the lists and of the attachments' fields are
 * halved until the JSON is small enough.
 */
export function messageRecord(message: ReceivedMessage): EventData<'message.received'> {
  const { recordTextBytes, recordEntries, recordNameLength, recordBytes } = LIMITS;
  for (let part = 1; ; part /= 2) {
    const entries = Math.floor(recordEntries * part);
    const fileField = Math.floor(recordNameLength * part);
    const bounds = { text: recordTextBytes * part, entries, name: recordNameLength, fileField };
    const record = recordWithin(bounds, message);
    if (entries === 0 || Buffer.byteLength(JSON.stringify(record)) <= recordBytes) return record;
  }
}

/** The record that answers a request for one message. Only text and HTML are cut, each after 1 MiB. */
export function wholeMessageRecord(
  message: ReceivedMessage,
  html: string | null,
): EventData<'message.received'> & { readonly html: string | null; readonly html_truncated: boolean } {
  const cut = cutBody(html);
  return { ...recordWithin(WHOLE, message), html: cut, html_truncated: cut !== html };
}

/** The first `LIMITS.messageBodyBytes` of a text or of HTML. It ends with a whole character. */
export function cutBody(body: string | null): string | null {
  return body === null ? null : cutText(body, LIMITS.messageBodyBytes);
}

function recordWithin(bounds: Bounds, message: ReceivedMessage): EventData<'message.received'> {
  const cutList = <Entry>(list: readonly Entry[]): Entry[] => list.slice(0, bounds.entries);
  const inBrackets = (id: string | null): string | null =>
    id === null ? null : `<${cutName(id, bounds.name)}>`;
  const text = message.text === null ? null : cutText(message.text, bounds.text);
  return {
    object: 'message',
    id: message.id,
    status: message.status,
    inbox_id: message.inboxId,
    thread_id: message.threadId,
    rule_id: message.ruleId,
    message_id: inBrackets(message.messageId),
    in_reply_to: inBrackets(message.inReplyTo),
    from: message.from,
    to: cutList(message.to),
    cc: cutList(message.cc),
    reply_to: cutList(message.replyTo),
    received_for: cutList(message.receivedFor),
    subject: message.subject === null ? null : cutName(message.subject, bounds.name),
    text,
    text_truncated: text !== message.text,
    received_at: message.receivedAt.toISOString(),
    size: message.size,
    attachments: cutList(message.attachments).map((file) => ({
      id: file.id,
      filename: file.filename === null ? null : cutName(file.filename, bounds.fileField),
      content_type: cutName(file.contentType, bounds.fileField),
      content_id: file.contentId === null ? null : cutName(file.contentId, bounds.fileField),
      size: file.size,
    })),
    auth: message.auth,
    automatic: message.automatic,
    held_reason: message.heldReason,
    complete: message.complete,
  };
}

/** The first `lengthMax` characters. */
export function cutName(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : Array.from(text).slice(0, lengthMax).join('');
}

/** Cuts after the last whole character that fits into `bytesMax` of UTF-8. */
function cutText(text: string, bytesMax: number): string {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= bytesMax) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return text.slice(0, read);
}
