import { newId, plainAddresses, senderDomain } from '@postrider/domain';
import type { AccountId, AttachmentDraft, Clock, EmailDraft, EmailId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { run, runForRow } from '../db/statement.ts';
import type { Queryable } from '../db/statement.ts';
import { sendFromInboxes } from './inbox-sends.ts';
import { inboxAddressOf, outcomeOf, recalledOf, storedAnswer } from './send-request.ts';
import type {
  Idempotency,
  KnownAnswer,
  Recalled,
  SendAnswer,
  SendOutcome,
  SendRequest,
  Sent,
} from './send-request.ts';
import { keepNoticesAccount, readKnownAnswer, sendEmails } from './sql/send-emails.ts';

/**
 * A second try finds the row that the first one conflicted with. The row may have expired in between, which
 * happens at most once in 24 hours.
 */
const TRIES_MAX = 3;

/** @throws StoreUnavailableError */
export async function storeMail(db: Database, clock: Clock, request: SendRequest): Promise<SendOutcome> {
  // Sorted ids: messages created in the same millisecond are listed and sent in the order of the request.
  const ids = request.drafts.map(() => newId('email', clock)).sort();
  const answer = { ids, skipped: request.reply?.skipped ?? [] };
  const values = valuesOf(request, answer);
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const outcome =
      request.reply === undefined
        ? await sendAtOnce(db, clock, request, answer, values)
        : await sendFromInboxes(db, clock, request, answer, values);
    if (outcome?.kind === 'stored' && request.kind === 'live') db.wakeUps.send({ webhooks: [], mail: true });
    if (outcome !== null) return outcome;
  }
  throw new Error('an idempotency key was neither free nor taken');
}

/**
 * Owns the mail that Postrider itself sends. It is made when it is first needed. Its events and suppressions
 * are its own, so the mail makes no events for the webhooks that it is about.
 */
export const NOTICES_ACCOUNT = `acct_${'0'.repeat(26)}` as AccountId;

/** Makes the account `NOTICES_ACCOUNT`, unless it exists. */
export async function makeNoticesAccount(client: Queryable): Promise<void> {
  await run(client, keepNoticesAccount, [NOTICES_ACCOUNT]);
}

/**
 * Queues mail of `NOTICES_ACCOUNT` in the caller's transaction. No limit counts it.
 *
 * @returns the ids, in the order of the drafts.
 */
export async function storeNotices(
  client: Queryable,
  clock: Clock,
  drafts: readonly EmailDraft[],
): Promise<readonly EmailId[]> {
  if (drafts.length === 0) return [];
  await makeNoticesAccount(client);
  const ids = drafts.map(() => newId('email', clock));
  const request = {
    accountId: NOTICES_ACCOUNT,
    kind: 'live',
    drafts,
    domains: [],
    idempotency: null,
  } as const;
  const values = valuesOf(request, { ids, skipped: [] });
  const inboxesAreLocked = true; // no inbox sends notices, so no lock is needed
  const { stored } = await runForRow<Sent>(client, sendEmails, [...values, inboxesAreLocked]);
  if (!stored) throw new Error('a notice was not stored');
  return ids;
}

/** @throws StoreUnavailableError */
export async function recallAnswer(
  db: Database,
  { accountId, kind }: Pick<SendRequest, 'accountId' | 'kind'>,
  { route, key, digest }: Idempotency,
): Promise<Recalled | null> {
  const [known] = await runOn<KnownAnswer>(db.pool, readKnownAnswer, [accountId, kind, route, key, digest]);
  return known === undefined ? null : recalledOf(known);
}

/** Stores the mail with one statement. Mail from inboxes needs locks, and goes through `sendFromInboxes`. */
async function sendAtOnce(
  db: Database,
  clock: Clock,
  request: SendRequest,
  answer: SendAnswer,
  values: readonly unknown[],
): Promise<SendOutcome | null> {
  const inboxesAreLocked = false;
  const [sent] = await runOn<Sent>(db.pool, sendEmails, [...values, inboxesAreLocked]);
  if (sent === undefined) throw new Error('the statement did not answer');
  const outcome = outcomeOf(sent, answer);
  return outcome === null && sent.fromInbox ? sendFromInboxes(db, clock, request, answer, values) : outcome;
}

function valuesOf(request: SendRequest, answer: SendAnswer): unknown[] {
  const { ids } = answer;
  const { accountId, kind, drafts, domains, idempotency, sentBy } = request;
  const messages = drafts.map((draft, index) => ({
    ...draft,
    attachments: undefined,
    id: ids[index],
    fromDomain: senderDomain(draft.from),
  }));
  const topics = drafts.flatMap(({ topicId }) => topicId ?? []);
  const { files, contents } = filesOf(drafts, ids);
  const recipients = drafts.flatMap(({ to, cc, bcc }, index) =>
    plainAddresses([...to, ...cc, ...bcc]).map((address) => ({ emailId: ids[index], address })),
  );
  return [
    accountId,
    kind,
    JSON.stringify(messages),
    JSON.stringify(files),
    contents,
    [...new Set(domains)],
    [...new Set(topics)],
    idempotency?.route ?? null,
    idempotency?.key ?? null,
    idempotency?.digest ?? null,
    JSON.stringify(storedAnswer(answer)),
    drafts.flatMap(({ from }) => inboxAddressOf(from) ?? []),
    sentBy?.keyId ?? null,
    sentBy?.requestId ?? null,
    recipients.map(({ emailId }) => emailId),
    recipients.map(({ address }) => address),
  ];
}

/** Decodes all attachments into one buffer, so that no content is copied again on the way to Postgres. */
function filesOf(drafts: readonly EmailDraft[], ids: readonly EmailId[]) {
  const contents = Buffer.allocUnsafe(
    sumOf(drafts.flatMap(({ attachments }) => attachments).map(decodedBytes)),
  );
  let end = 0;
  const files = drafts.flatMap(({ attachments }, index) =>
    attachments.map(({ content, ...file }, position) => {
      const begins = end;
      const bytes = contents.write(content, begins, 'base64');
      end += bytes;
      return { ...file, emailId: ids[index], position, begins, bytes };
    }),
  );
  return { files, contents };
}

/** Base64 encodes three bytes as four characters. Each `=` at the end stands for one byte less. */
function decodedBytes({ content }: AttachmentDraft): number {
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
  return (content.length / 4) * 3 - padding;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
