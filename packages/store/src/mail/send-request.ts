import { inboundAddress, parseEmailAddress } from '@postrider/domain';
import type { AccountId, EmailDraft, EmailId, InboxId, KeyKind, ThreadId, TopicId } from '@postrider/domain';

/** Messages that one request asks to be sent: all of them or none. */
export interface SendRequest {
  readonly accountId: AccountId;
  /** Mail of a test key is stored and goes no further. */
  readonly kind: KeyKind;
  readonly drafts: readonly EmailDraft[];
  /** Names in ASCII and lower case: the account must have verified each. */
  readonly domains: readonly string[];
  /** Null: a repetition is a second request. */
  readonly idempotency: Idempotency | null;
  /** Of a reply: where its one message goes. */
  readonly reply?: { readonly inboxId: InboxId; readonly threadId: ThreadId };
}

export interface Idempotency {
  /** Keys of one route are no keys of another. */
  readonly route: string;
  readonly key: string;
  /** Of the request's meaning: two requests with the same digest are the same. */
  readonly digest: Buffer;
}

export type SendOutcome =
  /** In the order of the drafts. `repeated`: what the first request was answered, and nothing stored now. */
  | { readonly kind: 'stored' | 'repeated'; readonly ids: readonly EmailId[] }
  /** The idempotency key belongs to another request, or to one that is not finished. */
  | { readonly kind: 'conflict'; readonly why: 'another request' | 'unfinished' }
  | { readonly kind: 'unknown-topics'; readonly ids: readonly TopicId[] }
  | { readonly kind: 'unverified-domains'; readonly names: readonly string[] }
  /** An inbox, or one of its threads, has sent as much as it may in an hour. */
  | { readonly kind: 'inbox-over-limit' | 'thread-over-limit' }
  /** Of a reply: its inbox or its thread is gone. */
  | { readonly kind: 'missing' };

/** What `read-known-answer` answers, and `send-emails` with nulls where no answer is remembered. */
export interface KnownAnswer {
  readonly same: boolean | null;
  readonly answer: readonly EmailId[] | null;
}

/** What `send-emails` answers. */
export interface Sent extends KnownAnswer {
  readonly stored: boolean;
  /** The account has an inbox with the address of a sender: nothing is stored without its lock. */
  readonly fromInbox: boolean;
  readonly mine: boolean;
  readonly unknownTopics: readonly TopicId[];
  readonly unverifiedDomains: readonly string[];
}

/** What a request is told whose idempotency key is known. */
export type Recalled = Extract<SendOutcome, { readonly kind: 'stored' | 'repeated' | 'conflict' }>;

/** @returns null when no answer is remembered. */
export function recalledOf({ same, answer }: KnownAnswer): Recalled | null {
  if (same === null) return null;
  return same ? { kind: 'repeated', ids: answer ?? [] } : { kind: 'conflict', why: 'another request' };
}

/** @returns null when another request was first, too late for this one to see what it stored. */
export function outcomeOf(sent: Sent, ids: readonly EmailId[]): SendOutcome | null {
  const recalled = recalledOf(sent);
  if (recalled !== null) return recalled;
  if (!sent.mine) return { kind: 'conflict', why: 'unfinished' };
  if (sent.unknownTopics.length > 0) return { kind: 'unknown-topics', ids: sent.unknownTopics };
  if (sent.unverifiedDomains.length > 0) return { kind: 'unverified-domains', names: sent.unverifiedDomains };
  return sent.stored ? { kind: 'stored', ids } : null;
}

/** The address in From as inboxes have it. */
export function inboxAddressOf(from: string): string | null {
  const parsed = parseEmailAddress(from);
  return parsed === null ? null : inboundAddress(parsed.address);
}
