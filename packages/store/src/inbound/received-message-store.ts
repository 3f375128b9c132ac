import { messageRecord, newId, parseEmailAddress, recordEvent, senderPatterns } from '@postrider/domain';
import type {
  AccountId,
  Clock,
  HeldReason,
  InboxId,
  KeyKind,
  MessageId,
  ReceivedAttachment,
  ReceivedMessage,
  RoutingRuleId,
} from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { recipientAddress } from './recipient-address.ts';
import { senderAddress } from './sender-address.ts';
import { endInTransaction } from './ses-mail.ts';
import type { SesMailClaim } from './ses-mail.ts';
import { lockInbox } from './sql/inboxes.ts';
import { addMessage, findRecipients, judgeMessage } from './sql/receive-message.ts';
import { forgetSwept as forgetSweptBlobs, SweptBlobsError } from './swept-blobs.ts';
import type { SweptBlob } from './swept-blobs.ts';
import { threadOf } from './thread-of.ts';

/**
 * The block list is checked for at most this many senders. Up to 128 block list entries, 17 KB together, can
 * match one address, and one transaction checks up to 100 targets. A message has one author, seldom two.
 */
const SENDERS_MAX = 20;

/** The fields of the record that come from the message itself. */
type RecordPart = Pick<
  ReceivedMessage,
  | 'messageId'
  | 'inReplyTo'
  | 'from'
  | 'to'
  | 'cc'
  | 'replyTo'
  | 'subject'
  | 'text'
  | 'size'
  | 'auth'
  | 'automatic'
  | 'complete'
>;

/** Mail that the pipeline has parsed and screened. */
export interface IncomingMessage extends RecordPart {
  /** SHA-256 of the envelope and of the bytes as the sender sent them. */
  readonly digest: Buffer;
  /** The id of the raw bytes in the blob store. */
  readonly blob: string;
  /** The recipients of the envelope, as written. */
  readonly recipients: readonly string[];
  /** The addresses in From and the envelope, for the block list. null: some are unknown. */
  readonly senders: readonly string[] | null;
  /** Message-IDs without brackets, in the order of the header. */
  readonly references: readonly string[];
  readonly html: string | null;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly attachments: readonly IncomingAttachment[];
  /** The result of screening. The store checks the block list itself. */
  readonly heldReason: HeldReason | null;
}

export interface IncomingAttachment extends Omit<ReceivedAttachment, 'id'> {
  readonly blob: string;
}

/** The message as it was stored for one inbox or rule. */
export interface StoredMessage {
  readonly id: MessageId;
  readonly accountId: AccountId;
  readonly status: 'received' | 'held';
  readonly heldReason: HeldReason | null;
}

export type Reception =
  /**
   * Committed. `messages` has no entry for a target that already had the message. `messages` is empty when
   * the claim on mail from SES was no longer held: then nothing was stored.
   */
  | { readonly kind: 'stored'; readonly messages: readonly StoredMessage[] }
  /** No recipient has an inbox or a rule. */
  | { readonly kind: 'nobody' };

export type ReceivedMessageStore = ReturnType<typeof createReceivedMessageStore>;

export function createReceivedMessageStore(db: Database, clock: Clock, sharedDomains: readonly string[]) {
  const find = async (addresses: readonly string[]) =>
    runOn<Recipient>(db.pool, findRecipients, [addresses, sharedDomains]);

  return {
    /** True when the address has an inbox or a rule now. @throws StoreUnavailableError */
    async accepts(recipient: string): Promise<boolean> {
      const address = recipientAddress(recipient);
      return address !== null && (await find([address])).length > 0;
    },
    /**
     * Stores a message for each inbox, and for each rule without an inbox, in one transaction with its
     * events.
     *
     * @param claim the claim on mail from SES. It ends in the same transaction. Nothing is stored when the
     * claim is no longer held.
     * @throws StoreUnavailableError; the transaction may have committed. Receiving the same message again
     * stores nothing twice.
     * @throws SweptBlobsError when the blob sweep took blobs that the message names.
     * @throws Error when an inbox or rule of a recipient was deleted meanwhile. Call again: it looks the
     * recipients up again.
     */
    async receive(message: IncomingMessage, claim?: SesMailClaim): Promise<Reception> {
      const byAddress = recipientsByAddress(message.recipients);
      const targets = targetsOf(await find([...byAddress.keys()]), byAddress);
      const blockingEntries = blockingEntriesOf(message);
      return db.transactions.run(async (tx): Promise<Reception> => {
        const messages: StoredMessage[] = [];
        const notifiedAt = claim === undefined ? null : await endInTransaction(tx, claim);
        const isClaimLost = claim !== undefined && notifiedAt === null;
        if (isClaimLost) return { kind: 'stored', messages };
        const toStore = { ...message, notifiedAt, blockingEntries };
        for (const target of targets) {
          const locked = await runIn(tx.client, lockInbox, [target.inboxId, target.ruleId]);
          if (locked.length === 0) throw new Error('an inbox or rule of a recipient was deleted meanwhile');
          const stored = await store(tx, clock, toStore, target, messages[0]?.id);
          if (stored !== null) messages.push(stored);
        }
        return targets.length === 0 ? { kind: 'nobody' } : { kind: 'stored', messages };
      });
    },
    /** Call it after the bytes of swept blobs were stored again. @throws StoreUnavailableError */
    async forgetSwept(blobs: readonly SweptBlob[]): Promise<void> {
      await forgetSweptBlobs(db.pool, blobs);
    },
  };
}

interface Recipient {
  readonly address: string;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  /** At least one of both is set. */
  readonly inboxId: InboxId | null;
  readonly ruleId: RoutingRuleId | null;
}

/** An inbox, or a rule without an inbox, with the recipients that it matched. */
interface Target extends Omit<Recipient, 'address'> {
  readonly receivedFor: string[];
}

/** The recipients as written, keyed by the normalised address. */
function recipientsByAddress(recipients: readonly string[]): Map<string, string[]> {
  const byAddress = Map.groupBy(recipients, recipientAddress);
  byAddress.delete(null);
  return byAddress as Map<string, string[]>;
}

/**
 * Groups the recipients by inbox, or by rule where there is no inbox. Sorted, so that two transactions take
 * the locks in the same order and never deadlock.
 */
function targetsOf(found: readonly Recipient[], byAddress: ReadonlyMap<string, readonly string[]>): Target[] {
  const targets = new Map<string, Target>();
  for (const { address, ...recipient } of found) {
    const key = recipient.inboxId ?? recipient.ruleId ?? '';
    const target = targets.get(key) ?? { ...recipient, receivedFor: [] };
    target.receivedFor.push(...(byAddress.get(address) ?? []).map(withAsciiDomain));
    targets.set(key, target);
  }
  return [...targets].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, target]) => target);
}

/**
 * The recipient as written, its domain in ASCII and without a final dot. The `domains` of a webhook are
 * compared with this form.
 */
function withAsciiDomain(recipient: string): string {
  return parseEmailAddress(recipient)?.address ?? recipient;
}

/**
 * The block list entries that would hold this message. null: the senders are unknown or too many, so any
 * block list holds it. Empty: it is held anyway.
 */
function blockingEntriesOf({ senders, heldReason }: IncomingMessage): readonly string[] | null {
  if (heldReason !== null) return [];
  return senders === null || senders.length > SENDERS_MAX ? null : senderPatterns(senders);
}

interface MessageToStore extends IncomingMessage {
  /** When the API stored SES's notification. null: the mail came over SMTP. */
  readonly notifiedAt: Date | null;
  /** See `blockingEntriesOf`. */
  readonly blockingEntries: readonly string[] | null;
}

/**
 * Stores the message for one target, and records its event. The block list does not apply to a test inbox.
 *
 * @param bodyOf a message that this transaction stored from the same bytes: its body is copied.
 * @returns null when the target already had the same message.
 */
async function store(
  tx: Transaction,
  clock: Clock,
  message: MessageToStore,
  { accountId, kind, inboxId, ruleId, receivedFor }: Target,
  bodyOf: MessageId | undefined,
): Promise<StoredMessage | null> {
  const [judged] = await runIn<{ repeated: boolean; blocked: boolean; now: Date }>(tx.client, judgeMessage, [
    accountId,
    inboxId,
    ruleId,
    message.digest,
    kind === 'live' ? message.blockingEntries : [],
  ]);
  if (judged === undefined || judged.repeated) return null;
  const heldReason = message.heldReason ?? (judged.blocked ? 'blocked_sender' : null);
  const status = heldReason === null ? 'received' : 'held';
  const isThreaded = heldReason === null && inboxId !== null;
  const joined = isThreaded ? await threadOf(tx, inboxId, message) : null;
  const newThread = isThreaded && joined === null ? newId('thread', clock) : null;
  const { blob, references, html, headers, digest, notifiedAt } = message;
  const record: ReceivedMessage = {
    ...recordPartOf(message),
    accountId,
    kind,
    inboxId,
    ruleId,
    receivedFor,
    heldReason,
    id: newId('message', clock),
    status,
    threadId: joined ?? newThread,
    receivedAt: judged.now,
    attachments: message.attachments.map((file) => ({ ...file, id: newId('attachment', clock) })),
  };
  const row = {
    ...record,
    ...record.auth,
    sender: senderAddress(record.from),
    threadId: joined, // `addMessage` gets the id of a new thread apart
    blob,
    references,
    notifiedAt,
    digest: digest.toString('hex'),
    ...(bodyOf === undefined ? { html, headers } : { bodyOf, text: null }),
  };
  const swept = await runIn<SweptBlob & { isOver: boolean }>(tx.client, addMessage, [
    JSON.stringify(row),
    JSON.stringify(record.attachments.map((file, position) => ({ ...file, position }))),
    newThread,
  ]);
  if (swept.length > 0) throw new SweptBlobsError(swept);
  await recordReception(tx, clock, record);
  return { id: record.id, accountId, status, heldReason };
}

function recordPartOf({
  messageId,
  inReplyTo,
  from,
  to,
  cc,
  replyTo,
  subject,
  text,
  size,
  auth,
  automatic,
  complete,
}: IncomingMessage): RecordPart {
  return { messageId, inReplyTo, from, to, cc, replyTo, subject, text, size, auth, automatic, complete };
}

/** Records the event of a message that arrived or was released. Mail to a test inbox has no event. */
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
