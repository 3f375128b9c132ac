import { LIMITS, newId } from '@postrider/domain';
import type { Clock, EmailDraft, EmailId, InboxId, ThreadId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { threadOf } from '../inbound/thread-of.ts';
import { inboxAddressOf, outcomeOf } from './send-request.ts';
import type { SendOutcome, SendRequest, Sent } from './send-request.ts';
import { addInboxSends, judgeInboxSends, lockInboxSenders } from './sql/inbox-senders.ts';
import { sendEmails } from './sql/send-emails.ts';

/** Undoes what was stored. */
class OverLimit extends Error {
  readonly outcome: SendOutcome;

  constructor(kind: 'inbox-over-limit' | 'thread-over-limit') {
    super(kind);
    this.outcome = { kind };
  }
}

/**
 * Sends mail of which some comes from inboxes' addresses, under their locks: it is stored, noted in its threads, and undone
 * where an inbox or a thread has then sent more in an hour than it may. Mail of test keys is not counted.
 */
export async function sendFromInboxes(
  db: Database,
  clock: Clock,
  request: SendRequest,
  ids: readonly EmailId[],
  values: readonly unknown[],
): Promise<SendOutcome | null> {
  try {
    return await db.transactions.run((tx) => send(tx, clock, request, ids, values));
  } catch (error) {
    if (error instanceof OverLimit) return error.outcome;
    throw error;
  }
}

async function send(
  tx: Transaction,
  clock: Clock,
  request: SendRequest,
  ids: readonly EmailId[],
  values: readonly unknown[],
): Promise<SendOutcome | null> {
  const { accountId, kind, drafts, reply } = request;
  const addresses = drafts.map(({ from }) => inboxAddressOf(from));
  const inboxes = await runIn<{ id: InboxId; address: string }>(tx.client, lockInboxSenders, [
    ...[accountId, kind, addresses.filter((address) => address !== null)],
  ]);
  const idOf = new Map(inboxes.map(({ id, address }) => [address, id]));
  if (reply !== undefined && !(await isThere(tx, reply, [...idOf.values()]))) return { kind: 'missing' };
  const [sent] = await runIn<Sent>(tx.client, sendEmails, [...values, true]);
  if (sent === undefined) throw new Error('the statement did not answer');
  const outcome = outcomeOf(sent, ids);
  if (outcome?.kind !== 'stored') return outcome;
  const notes = [];
  for (const [index, draft] of drafts.entries()) {
    const inboxId = idOf.get(addresses[index] ?? '');
    if (inboxId === undefined) continue;
    const joined = reply?.threadId ?? (await threadOf(tx, inboxId, headerIdsOf(draft)));
    const threadId = joined ?? newId('thread', clock);
    notes.push({ emailId: ids[index], inboxId, threadId, isNew: joined === null, subject: draft.subject });
  }
  const now = clock.now().toISOString();
  await runIn(tx.client, addInboxSends, [JSON.stringify(notes), now]);
  if (kind === 'live') await refuseOverLimit(tx, notes, now);
  return outcome;
}

/** @param inboxIds those that are locked: threads of a deleted one have rows for a while. */
async function isThere(
  { client }: Transaction,
  { inboxId, threadId }: NonNullable<SendRequest['reply']>,
  inboxIds: readonly InboxId[],
): Promise<boolean> {
  if (!inboxIds.includes(inboxId)) return false;
  return (await client.inboxThread.count({ where: { id: threadId, inboxId } })) > 0;
}

async function refuseOverLimit(
  tx: Transaction,
  notes: readonly { readonly inboxId: InboxId; readonly threadId: ThreadId }[],
  now: string,
): Promise<void> {
  const [judged] = await runIn<{ inboxIsOver: boolean; threadIsOver: boolean }>(tx.client, judgeInboxSends, [
    [...new Set(notes.map(({ inboxId }) => inboxId))],
    LIMITS.inboxSendsPerHour,
    [...new Set(notes.map(({ threadId }) => threadId))],
    LIMITS.threadSendsPerHour,
    now,
  ]);
  if (judged?.inboxIsOver === true) throw new OverLimit('inbox-over-limit');
  if (judged?.threadIsOver === true) throw new OverLimit('thread-over-limit');
}

const MESSAGE_ID = /<([^<>\s]+)>/g;

/** The ids of messages that a draft's own headers name. */
function headerIdsOf({ headers }: EmailDraft) {
  const idsIn = (name: string): string[] => {
    const value = Object.entries(headers).find(([written]) => written.toLowerCase() === name)?.[1] ?? '';
    return [...value.matchAll(MESSAGE_ID)].map(([, id = '']) => id);
  };
  const [inReplyTo = null] = idsIn('in-reply-to');
  return { messageId: null, inReplyTo, references: idsIn('references') };
}
