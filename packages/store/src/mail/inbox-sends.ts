import { answeredIds, LIMITS, newId } from '@postrider/domain';
import type { Clock, EmailDraft, EmailId, InboxId, ThreadId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { threadOf } from '../inbound/thread-of.ts';
import { inboxAddressOf, outcomeOf } from './send-request.ts';
import type { SendOutcome, SendRequest, Sent } from './send-request.ts';
import { addInboxSends, judgeInboxSends, lockInboxSenders, sendEmails } from './sql/send-emails.ts';

/** Rolls the transaction back. */
class OverLimit extends Error {
  readonly outcome: SendOutcome;

  constructor(kind: 'inbox-over-limit' | 'thread-over-limit') {
    super(kind);
    this.outcome = { kind };
  }
}

/**
 * Sends a request's mail when at least one message has an inbox's address in From. Under the locks of the
 * inboxes, it stores the mail and adds it to its threads. If an inbox or a thread then exceeds its hourly
 * limit, it rolls back. Mail of test keys is not counted.
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
    accountId,
    kind,
    addresses.filter((address) => address !== null),
  ]);
  const idOf = new Map(inboxes.map(({ id, address }) => [address, id]));
  if (reply !== undefined && !(await threadExists(tx, reply, [...idOf.values()]))) return { kind: 'missing' };
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

/**
 * @param inboxIds the locked inboxes. A deleted inbox is not among them, although its threads still have
 * rows.
 */
async function threadExists(
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

/** The Message-IDs in a draft's own headers. */
function headerIdsOf({ headers }: EmailDraft) {
  const named = (name: string) =>
    Object.entries(headers).flatMap(([written, value]) => (written.toLowerCase() === name ? [value] : []));
  return { messageId: null, ...answeredIds(named('in-reply-to'), named('references')) };
}
