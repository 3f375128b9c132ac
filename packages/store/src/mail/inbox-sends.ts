import { answeredIds, LIMITS, newId } from '@postrider/domain';
import type { AccountId, Clock, EmailDraft, InboxId, ThreadId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import { threadOf } from '../inbound/thread-of.ts';
import { inboxAddressOf, outcomeOf } from './send-request.ts';
import type { SendAnswer, SendOutcome, SendRequest, Sent } from './send-request.ts';
import {
  addInboxSends,
  judgeInboxSends,
  lockFormerSenders,
  lockInboxSenders,
  sendEmails,
} from './sql/send-emails.ts';

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
 * inboxes, it stores the mail and adds it to its threads. If an address or a thread then exceeds its hourly
 * limit, it rolls back. An address counts for an hour more when its inbox is deleted: another inbox of the
 * address continues the count. Mail of test keys is not counted.
 *
 * @returns null when another request with the same key was first, and this snapshot does not show it: try
 * again.
 */
export async function sendFromInboxes(
  db: Database,
  clock: Clock,
  request: SendRequest,
  answer: SendAnswer,
  values: readonly unknown[],
): Promise<SendOutcome | null> {
  try {
    return await db.transactions.run((tx) => send(tx, clock, request, answer, values));
  } catch (error) {
    if (error instanceof OverLimit) return error.outcome;
    throw error;
  }
}

async function send(
  tx: Transaction,
  clock: Clock,
  request: SendRequest,
  answer: SendAnswer,
  values: readonly unknown[],
): Promise<SendOutcome | null> {
  const { accountId, kind, drafts, reply } = request;
  const addresses = drafts.map(({ from }) => inboxAddressOf(from));
  const inboxIds = await lockSenders(
    tx,
    request,
    addresses.filter((address) => address !== null),
  );
  if (reply !== undefined && !(await threadExists(tx, reply, [...inboxIds.values()]))) {
    return { kind: 'missing' };
  }
  const inboxesAreLocked = true;
  const [sent] = await runIn<Sent>(tx.client, sendEmails, [...values, inboxesAreLocked]);
  if (sent === undefined) throw new Error('the statement did not answer');
  const outcome = outcomeOf(sent, answer);
  if (outcome?.kind !== 'stored') return outcome;
  const records = [];
  for (const [index, draft] of drafts.entries()) {
    const address = addresses[index] ?? '';
    const inboxId = inboxIds.get(address);
    if (inboxId === undefined) continue;
    const counted = { emailId: answer.ids[index], address, messages: reply?.messages ?? 1 };
    // The inbox was deleted: the mail counts, and joins no thread.
    if (inboxId === null) {
      records.push({ ...counted, inboxId, threadId: null, isNew: false });
      continue;
    }
    const joined = reply?.threadId ?? (await threadOf(tx, inboxId, headerIdsOf(draft)));
    const threadId = joined ?? newId('thread', clock);
    records.push({ ...counted, inboxId, threadId, isNew: joined === null, subject: draft.subject });
  }
  await runIn(tx.client, addInboxSends, [accountId, kind, JSON.stringify(records)]);
  if (kind === 'live') await refuseOverLimit(tx, accountId, records);
  return outcome;
}

/** @returns the inbox of each address that counts; null for an address whose inbox was deleted. */
async function lockSenders(
  { client }: Transaction,
  { accountId, kind }: SendRequest,
  addresses: readonly string[],
): Promise<Map<string, InboxId | null>> {
  const inboxes = await runIn<{ id: InboxId; address: string }>(client, lockInboxSenders, [
    accountId,
    kind,
    addresses,
  ]);
  const former =
    kind === 'live'
      ? await runIn<{ address: string }>(client, lockFormerSenders, [accountId, addresses])
      : [];
  return new Map<string, InboxId | null>([
    ...former.map(({ address }) => [address, null] as const),
    ...inboxes.map(({ id, address }) => [address, id] as const),
  ]);
}

/**
 * @param inboxIds the locked inboxes. A deleted inbox is not among them, although its threads still have
 * rows.
 */
async function threadExists(
  { client }: Transaction,
  { inboxId, threadId }: NonNullable<SendRequest['reply']>,
  inboxIds: readonly (InboxId | null)[],
): Promise<boolean> {
  if (!inboxIds.includes(inboxId)) return false;
  return (await client.inboxThread.count({ where: { id: threadId, inboxId } })) > 0;
}

async function refuseOverLimit(
  tx: Transaction,
  accountId: AccountId,
  records: readonly { readonly address: string; readonly threadId: ThreadId | null }[],
): Promise<void> {
  const [judged] = await runIn<{ inboxIsOver: boolean; threadIsOver: boolean }>(tx.client, judgeInboxSends, [
    accountId,
    [...new Set(records.map(({ address }) => address))],
    LIMITS.inboxSendsPerHour,
    [...new Set(records.flatMap(({ threadId }) => threadId ?? []))],
    LIMITS.threadSendsPerHour,
  ]);
  if (judged?.inboxIsOver === true) throw new OverLimit('inbox-over-limit');
  if (judged?.threadIsOver === true) throw new OverLimit('thread-over-limit');
}

/** The Message-IDs in a draft's own headers. */
function headerIdsOf({ headers }: EmailDraft) {
  const named = (name: string) =>
    Object.entries(headers).flatMap(([header, value]) => (header.toLowerCase() === name ? [value] : []));
  return { messageId: null, ...answeredIds(named('in-reply-to'), named('references')) };
}
