import { randomFillSync } from 'node:crypto';
import { decodeTime, ulid } from 'ulid';
import type { Clock } from './clock.ts';

/** The prefixes of every public id. */
const PREFIXES = {
  account: 'acct',
  apiKey: 'key',
  webhook: 'wh',
  event: 'evt',
  deadLetter: 'dl',
  recovery: 'rec',
  email: 'em',
  message: 'msg',
  domain: 'dom',
  topic: 'top',
  suppression: 'sup',
  inbox: 'ibx',
  thread: 'thr',
  routingRule: 'rt',
  blockedSender: 'bs',
  attachment: 'att',
} as const;

export type Noun = keyof typeof PREFIXES;

/**
 * A public id: the noun's prefix, `_`, and a ULID in lower case. It sorts by time and is otherwise opaque.
 */
export type Id<N extends Noun> = string & { readonly idOf: N };

export type AccountId = Id<'account'>;
export type ApiKeyId = Id<'apiKey'>;
export type WebhookId = Id<'webhook'>;
export type EventId = Id<'event'>;
export type DeadLetterId = Id<'deadLetter'>;
export type RecoveryId = Id<'recovery'>;
export type EmailId = Id<'email'>;
export type MessageId = Id<'message'>;
export type DomainId = Id<'domain'>;
export type TopicId = Id<'topic'>;
export type SuppressionId = Id<'suppression'>;
export type InboxId = Id<'inbox'>;
export type ThreadId = Id<'thread'>;
export type RoutingRuleId = Id<'routingRule'>;
export type BlockedSenderId = Id<'blockedSender'>;
export type AttachmentId = Id<'attachment'>;

const ULID = /^[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/;

/**
 * Random bytes per request to the system. An id uses 16. Single requests would take 30 times as long as all
 * other work for an id.
 */
const RANDOM_POOL_BYTES = 4_096;

const randomBytes = new Uint8Array(RANDOM_POOL_BYTES);
let randomBytesUsed = RANDOM_POOL_BYTES;

export function newId<N extends Noun>(noun: N, clock: Clock): Id<N> {
  return `${PREFIXES[noun]}_${ulid(clock.now().getTime(), randomFraction).toLowerCase()}` as Id<N>;
}

/** @returns null when `text` cannot be an id. The caller then needs no query: nothing has this id. */
export function parseId<N extends Noun>(noun: N, text: string): Id<N> | null {
  const prefix = `${PREFIXES[noun]}_`;
  return text.startsWith(prefix) && ULID.test(text.slice(prefix.length)) ? (text as Id<N>) : null;
}

/** The pattern of an id in a JSON Schema. `parseId` accepts the same texts. */
export function idPattern(noun: Noun): string {
  return `^${PREFIXES[noun]}_[0-7][0-9a-hjkmnp-tv-z]{25}$`;
}

/** An id with the noun that its prefix names. */
export type NamedId = { [N in Noun]: { readonly noun: N; readonly id: Id<N> } }[Noun];

/** @returns null when `text` cannot be an id of any noun. */
export function parseNamedId(text: string): NamedId | null {
  const noun = (Object.keys(PREFIXES) as Noun[]).find((each) => parseId(each, text) !== null);
  return noun === undefined ? null : ({ noun, id: text } as NamedId);
}

/** The time at which an id was made; null when `text` cannot be an id. */
export function timeOfId(text: string): Date | null {
  const id = text.slice(text.indexOf('_') + 1);
  return ULID.test(id) ? new Date(decodeTime(id.toUpperCase())) : null;
}

/** A random number from 0 to 255/256, in steps of 1/256. Earlier numbers do not predict it. */
function randomFraction(): number {
  if (randomBytesUsed === RANDOM_POOL_BYTES) {
    randomFillSync(randomBytes);
    randomBytesUsed = 0;
  }
  const byte = randomBytes[randomBytesUsed] ?? 0;
  randomBytesUsed += 1;
  return byte / 256;
}
