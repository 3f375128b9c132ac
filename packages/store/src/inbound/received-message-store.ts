import { inboundAddress, messageRecord, newId, recordEvent, senderPatterns } from '@postrider/domain';
import type {
  AccountId,
  AuthResult,
  Clock,
  HeldReason,
  InboxId,
  KeyKind,
  MessageId,
  ReceivedMessage,
  RoutingRuleId,
} from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { endInTransaction } from './ses-mail.ts';
import type { SesMailClaim } from './ses-mail.ts';
import { lockInbox } from './sql/inboxes.ts';
import { addMessage, findRecipients, judgeMessage } from './sql/receive-message.ts';
import { forgetSwept, SweptBlobsError } from './swept-blobs.ts';
import type { SweptBlob } from './swept-blobs.ts';
import { threadOf } from './thread-of.ts';

/**
 * Senders whom a block list is asked for. Each has up to 128 names, 17 KB together, and up to 50 targets ask
 * in one transaction. A message has one author, seldom two.
 */
const SENDERS_MAX = 20;

/** Mail as the pipeline has read and judged it. */
export interface IncomingMessage {
  /** SHA-256 of the bytes as the sender gave them. */
  readonly contentDigest: Buffer;
  /** The raw bytes in the blob store. */
  readonly blob: string;
  /** In bytes. */
  readonly size: number;
  /** Of the envelope, as written. */
  readonly recipients: readonly string[];
  /** Addresses that a block list is asked for: From's and the envelope's. Null when they are not all known. */
  readonly senders: readonly string[] | null;
  /** Ids of headers have no brackets. */
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  /** In the order of the header. */
  readonly references: readonly string[];
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly replyTo: readonly string[];
  readonly subject: string | null;
  readonly text: string | null;
  readonly html: string | null;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly attachments: readonly IncomingAttachment[];
  readonly auth: { readonly spf: AuthResult; readonly dkim: AuthResult; readonly dmarc: AuthResult };
  readonly automatic: boolean;
  /** What screening says; a block list is asked here. */
  readonly heldReason: HeldReason | null;
}

export interface IncomingAttachment {
  readonly filename: string | null;
  readonly contentType: string;
  readonly contentId: string | null;
  readonly size: number;
  readonly blob: string;
}

/** Where a message of one envelope went. */
export interface StoredMessage {
  readonly id: MessageId;
  readonly accountId: AccountId;
  readonly status: 'received' | 'held';
  readonly heldReason: HeldReason | null;
}

export type Reception =
  /** Committed. `messages` is without those that the same bytes had made before. */
  | { readonly kind: 'stored'; readonly messages: readonly StoredMessage[] }
  /** None of the recipients leads anywhere any more. */
  | { readonly kind: 'nobody' };

export interface ReceivedMessageStore {
  /** Whether mail to the address leads anywhere just now. @throws StoreUnavailableError */
  accepts(recipient: string): Promise<boolean>;
  /**
   * Stores a message for each inbox, or rule where there is no inbox, in one transaction with its events.
   *
   * @param claim of mail that SES told of: it ends in the same transaction, or stores nothing when it is no longer held
   * @throws StoreUnavailableError; whether it had committed is then unknown. A repetition of the same bytes stores nothing twice.
   * @throws SweptBlobsError when the sweep took blobs that the message names
   */
  receive(message: IncomingMessage, claim?: SesMailClaim): Promise<Reception>;
  /** Says that the bytes of swept blobs were put again. @throws StoreUnavailableError */
  forgetSwept(blobs: readonly SweptBlob[]): Promise<void>;
}

export function createReceivedMessageStore(
  db: Database,
  clock: Clock,
  sharedDomains: readonly string[],
): ReceivedMessageStore {
  const find = async (addresses: readonly string[]) =>
    runOn<Recipient>(db.pool, findRecipients, [addresses, sharedDomains]);

  return {
    async accepts(recipient) {
      const address = inboundAddress(recipient);
      return address !== null && (await find([address])).length > 0;
    },
    async receive(message, claim) {
      const written = addressesOf(message.recipients);
      const targets = targetsOf(await find([...written.keys()]), written);
      const senderNames = namesToAsk(message);
      return db.transactions.run(async (tx): Promise<Reception> => {
        const messages: StoredMessage[] = [];
        const notifiedAt = claim === undefined ? null : await endInTransaction(tx, claim);
        if (claim !== undefined && notifiedAt === null) return { kind: 'stored', messages };
        const toStore = { ...message, notifiedAt, senderNames };
        let taken = 0;
        for (const target of targets) {
          const locked = await runIn(tx.client, lockInbox, [target.inboxId, target.ruleId]);
          if (locked.length === 0) continue;
          taken += 1;
          const stored = await store(tx, clock, toStore, target, messages[0]?.id);
          if (stored !== null) messages.push(stored);
        }
        return taken === 0 ? { kind: 'nobody' } : { kind: 'stored', messages };
      });
    },
    forgetSwept: (blobs) => forgetSwept(db.pool, blobs),
  };
}

interface Recipient {
  readonly address: string;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly inboxId: InboxId | null;
  readonly ruleId: RoutingRuleId | null;
}

/** An inbox, or a rule without one, with the recipients that lead to it. */
interface Target extends Omit<Recipient, 'address'> {
  readonly receivedFor: string[];
}

/** What was written, by the address that it means. */
function addressesOf(recipients: readonly string[]): Map<string, string[]> {
  const written = new Map<string, string[]>();
  for (const recipient of recipients) {
    const address = inboundAddress(recipient);
    if (address !== null) written.set(address, [...(written.get(address) ?? []), recipient]);
  }
  return written;
}

/** In one order for all, so that two messages never wait for each other's locks. */
function targetsOf(found: readonly Recipient[], written: ReadonlyMap<string, readonly string[]>): Target[] {
  const targets = new Map<string, Target>();
  for (const { address, ...recipient } of found) {
    const key = recipient.inboxId ?? recipient.ruleId ?? '';
    const target = targets.get(key) ?? { ...recipient, receivedFor: [] };
    target.receivedFor.push(...(written.get(address) ?? []));
    targets.set(key, target);
  }
  return [...targets].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, target]) => target);
}

/** @returns null when the senders cannot be compared; none when the message is held anyway */
function namesToAsk({ senders, heldReason }: IncomingMessage): readonly string[] | null {
  if (heldReason !== null) return [];
  return senders === null || senders.length > SENDERS_MAX ? null : senderPatterns(senders);
}

interface MessageToStore extends IncomingMessage {
  readonly notifiedAt: Date | null;
  readonly senderNames: readonly string[] | null;
}

/**
 * Blocked senders are live only: mail to a test inbox is not held by them.
 *
 * @param bodyOf a message that this transaction made of the same bytes, if there is one: its body is copied
 * @returns null when the same bytes were stored before
 */
async function store(
  tx: Transaction,
  clock: Clock,
  message: MessageToStore,
  { accountId, kind, inboxId, ruleId, receivedFor }: Target,
  bodyOf: MessageId | undefined,
): Promise<StoredMessage | null> {
  const [judged] = await runIn<{ repeated: boolean; blocked: boolean }>(tx.client, judgeMessage, [
    ...[accountId, inboxId, ruleId, message.contentDigest],
    kind === 'live' ? message.senderNames : [],
    clock.now().toISOString(),
  ]);
  if (judged === undefined || judged.repeated) return null;
  const heldReason = message.heldReason ?? (judged.blocked ? 'blocked_sender' : null);
  const isThreaded = heldReason === null && inboxId !== null;
  const joined = isThreaded ? await threadOf(tx, inboxId, message) : null;
  const newThread = isThreaded && joined === null ? newId('thread', clock) : null;
  const { blob, references, html, headers, contentDigest, notifiedAt } = message;
  const record: ReceivedMessage = {
    ...recordPartOf(message),
    ...{ accountId, kind, inboxId, ruleId, receivedFor, heldReason },
    id: newId('message', clock),
    status: heldReason === null ? 'received' : 'held',
    threadId: joined ?? newThread,
    receivedAt: clock.now(),
    attachments: message.attachments.map((file) => ({ ...file, id: newId('attachment', clock) })),
  };
  const row = {
    ...{ ...record, ...record.auth, threadId: joined },
    ...{ blob, references, notifiedAt, contentDigest: contentDigest.toString('hex') },
    ...(bodyOf === undefined ? { html, headers } : { bodyOf, text: null }),
  };
  const swept = await runIn<SweptBlob & { isOver: boolean }>(tx.client, addMessage, [
    JSON.stringify(row),
    JSON.stringify(record.attachments.map((file, position) => ({ ...file, position }))),
    newThread,
  ]);
  if (swept.length > 0) throw new SweptBlobsError(swept);
  await recordReception(tx, clock, record);
  return { id: record.id, accountId, status: heldReason === null ? 'received' : 'held', heldReason };
}

/** What a message says of itself. */
function recordPartOf(message: IncomingMessage) {
  const { messageId, inReplyTo, from, to, cc, replyTo, subject, text, size, auth, automatic } = message;
  return { messageId, inReplyTo, from, to, cc, replyTo, subject, text, size, auth, automatic };
}

/** The event of a message that came, or was released. Mail to a test inbox makes none. */
export async function recordReception(
  tx: Transaction,
  clock: Clock,
  message: ReceivedMessage,
): Promise<void> {
  const { accountId, kind, status, ruleId } = message;
  if (kind === 'test') return;
  const type = status === 'held' ? 'message.held' : 'message.received';
  const rule = ruleId === null ? {} : { inboundRule: ruleId };
  await recordEvent(tx, { type, accountId, data: messageRecord(message), ...rule }, clock);
}
