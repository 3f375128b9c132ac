import { inboundAddress, parseEmailAddress } from '@postrider/domain';
import type {
  AccountId,
  ApiKeyId,
  EmailDraft,
  EmailId,
  InboxId,
  KeyKind,
  ThreadId,
  TopicId,
} from '@postrider/domain';

/** The messages that one request sends. All are stored, or none. */
export interface SendRequest {
  readonly accountId: AccountId;
  /** Mail of a test key is stored and not sent. */
  readonly kind: KeyKind;
  readonly drafts: readonly EmailDraft[];
  /** The domains that the account must have verified, in ASCII and lower case. */
  readonly domains: readonly string[];
  /** null: a repetition sends again. */
  readonly idempotency: Idempotency | null;
  /** The API key and the HTTP request. Operators find the mail by them; no HTTP route shows them. */
  readonly sentBy?: { readonly keyId: ApiKeyId; readonly requestId: string };
  /** Set for a reply or a forward, which is one message. */
  readonly reply?: SentReply;
}

export interface SentReply {
  readonly inboxId: InboxId;
  readonly threadId: ThreadId;
  /** The messages that the reply counts as in the hourly limit of the inbox's address. */
  readonly messages: number;
  /**
   * The addresses of Reply-To that the reply does not go to, because there were too many. A repetition under
   * the idempotency key returns the same list.
   */
  readonly skipped: readonly string[];
}

export interface Idempotency {
  /** The HTTP route. The same key on another route is another key. */
  readonly route: string;
  readonly key: string;
  /** Two requests with the same digest mean the same. */
  readonly digest: Buffer;
}

export type SendOutcome =
  /** In the order of the drafts. `repeated`: the answer to the first request; nothing was stored now. */
  | ({ readonly kind: 'stored' | 'repeated' } & SendAnswer)
  /** Another request, or one that still runs, has the idempotency key. */
  | { readonly kind: 'conflict'; readonly why: 'another request' | 'unfinished' }
  | { readonly kind: 'unknown-topics'; readonly ids: readonly TopicId[] }
  | { readonly kind: 'unverified-domains'; readonly names: readonly string[] }
  /** The address of an inbox, or one of its threads, has reached its hourly limit. */
  | { readonly kind: 'inbox-over-limit' | 'thread-over-limit' }
  /** The inbox or the thread of a reply does not exist. */
  | { readonly kind: 'missing' };

export interface SendAnswer {
  readonly ids: readonly EmailId[];
  /** The addresses that do not get a reply; empty for other mail. */
  readonly skipped: readonly string[];
}

/**
 * An answer as it is stored: the ids, and behind them the list of skipped addresses if there are any. The
 * previous release reads ids only. It has no replies, and only replies skip addresses.
 */
export type StoredAnswer = readonly (EmailId | readonly string[])[];

export function storedAnswer({ ids, skipped }: SendAnswer): StoredAnswer {
  return skipped.length === 0 ? ids : [...ids, skipped];
}

function sendAnswer(stored: StoredAnswer): SendAnswer {
  return {
    ids: stored.filter((entry) => typeof entry === 'string'),
    skipped: stored.filter((entry) => typeof entry !== 'string').flat(),
  };
}

/** A row of `read-known-answer`. In `send-emails`, nulls mean that no answer is stored. */
export interface KnownAnswer {
  /** False: the answer belongs to a request with another digest. */
  readonly same: boolean | null;
  readonly answer: StoredAnswer | null;
}

/** The row of `send-emails`. */
export interface Sent extends KnownAnswer {
  readonly stored: boolean;
  /**
   * From has an address that belongs to an inbox. Nothing was stored, because that needs the inbox's lock.
   */
  readonly fromInbox: boolean;
  /** False: another request holds the lock of the idempotency key. */
  readonly mine: boolean;
  readonly unknownTopics: readonly TopicId[];
  readonly unverifiedDomains: readonly string[];
}

/** The outcome of a request with a known idempotency key. */
export type Recalled = Extract<SendOutcome, { readonly kind: 'stored' | 'repeated' | 'conflict' }>;

/** @returns null when no answer is stored. */
export function recalledOf({ same, answer }: KnownAnswer): Recalled | null {
  if (same === null) return null;
  return same
    ? { kind: 'repeated', ...sendAnswer(answer ?? []) }
    : { kind: 'conflict', why: 'another request' };
}

/**
 * @returns null when another request was first, and its rows are not visible in this snapshot. Try again
 * then.
 */
export function outcomeOf(sent: Sent, answer: SendAnswer): SendOutcome | null {
  const recalled = recalledOf(sent);
  if (recalled !== null) return recalled;
  if (!sent.mine) return { kind: 'conflict', why: 'unfinished' };
  if (sent.unknownTopics.length > 0) return { kind: 'unknown-topics', ids: sent.unknownTopics };
  if (sent.unverifiedDomains.length > 0) return { kind: 'unverified-domains', names: sent.unverifiedDomains };
  return sent.stored ? { kind: 'stored', ...answer } : null;
}

/** The address in From, normalised as the addresses of inboxes are. */
export function inboxAddressOf(from: string): string | null {
  const parsed = parseEmailAddress(from);
  return parsed === null ? null : inboundAddress(parsed.address);
}
