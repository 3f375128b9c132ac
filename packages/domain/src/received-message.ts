import type { KeyKind } from './api-key.ts';
import type { EventData } from './event-data.ts';
import type { AccountId, Id, InboxId } from './ids.ts';
import { LIMITS } from './limits.ts';
import type { AuthResult, HeldReason } from './screening-words.ts';

export type MessageId = Id<'message'>;
export type ThreadId = Id<'thread'>;
export type RoutingRuleId = Id<'routingRule'>;
export type AttachmentId = Id<'attachment'>;

export interface ReceivedAttachment {
  readonly id: AttachmentId;
  readonly filename: string | null;
  readonly contentType: string;
  readonly contentId: string | null;
  /** In bytes, decoded. */
  readonly size: number;
}

/** A message as an inbox, or a rule where there is no inbox, has it. */
export interface ReceivedMessage {
  readonly id: MessageId;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly status: 'received' | 'held' | 'released';
  readonly inboxId: InboxId | null;
  readonly threadId: ThreadId | null;
  readonly ruleId: RoutingRuleId | null;
  /** Of the header, without angle brackets. */
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  /** `Name <address>` or bare; empty where there is none. */
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly replyTo: readonly string[];
  /** Recipients of the envelope that led here, with their tags. */
  readonly receivedFor: readonly string[];
  readonly subject: string | null;
  /** The plain part, else the HTML turned into text. May be cut behind `LIMITS.recordTextBytes`. */
  readonly text: string | null;
  readonly receivedAt: Date;
  /** In bytes, as it came. */
  readonly size: number;
  readonly attachments: readonly ReceivedAttachment[];
  readonly auth: { readonly spf: AuthResult; readonly dkim: AuthResult; readonly dmarc: AuthResult };
  /** Sent by a program, as an answer when its reader is out of office. */
  readonly automatic: boolean;
  readonly heldReason: HeldReason | null;
}

/** How much of a message its record holds. */
interface Bounds {
  /** In bytes of UTF-8. */
  readonly text: number;
  readonly entries: number;
  /** In characters. */
  readonly name: number;
}

const BOUNDED: Bounds = {
  text: LIMITS.recordTextBytes,
  entries: LIMITS.recordEntries,
  name: LIMITS.recordNameLength,
};
const WHOLE: Bounds = { text: Infinity, entries: Infinity, name: Infinity };

/** The record of a message in its event and in lists: bounded, whatever the message is. */
export function messageRecord(message: ReceivedMessage): EventData<'message.received'> {
  return recordWithin(BOUNDED, message);
}

/** The record with all that the message has: for who asks for this one. */
export function wholeMessageRecord(message: ReceivedMessage): EventData<'message.received'> {
  return recordWithin(WHOLE, message);
}

function recordWithin(bounds: Bounds, message: ReceivedMessage): EventData<'message.received'> {
  const cutList = <Entry>(list: readonly Entry[]): Entry[] => list.slice(0, bounds.entries);
  const cut = (name: string): string => cutName(name, bounds.name);
  const cutIfAny = (name: string | null): string | null => (name === null ? null : cut(name));
  const inBrackets = (id: string | null): string | null => (id === null ? null : `<${cut(id)}>`);
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
    subject: cutIfAny(message.subject),
    text,
    text_truncated: text !== message.text,
    received_at: message.receivedAt.toISOString(),
    size: message.size,
    attachments: cutList(message.attachments).map((file) => ({
      id: file.id,
      filename: cutIfAny(file.filename),
      content_type: cut(file.contentType),
      content_id: cutIfAny(file.contentId),
      size: file.size,
    })),
    auth: message.auth,
    automatic: message.automatic,
    held_reason: message.heldReason,
  };
}

function cutName(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : Array.from(text).slice(0, lengthMax).join('');
}

/** As many whole characters as fit in so many bytes of UTF-8. */
function cutText(text: string, bytesMax: number): string {
  // One character of UTF-16 takes three bytes at the most.
  if (text.length * 3 <= bytesMax) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return text.slice(0, read);
}
