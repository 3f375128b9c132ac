import { newId, senderDomain } from '@postrider/domain';
import type { AttachmentDraft, Clock, EmailDraft, EmailId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { sendFromInboxes } from './inbox-sends.ts';
import { inboxAddressOf, outcomeOf, recalledOf } from './send-request.ts';
import type { Idempotency, KnownAnswer, Recalled, SendOutcome, SendRequest, Sent } from './send-request.ts';
import { readKnownAnswer, sendEmails } from './sql/send-emails.ts';

/**
 * A second try finds the row that the first one conflicted with. The row may have expired in between, which
 * happens at most once in 24 hours.
 */
const TRIES_MAX = 3;

/** @throws StoreUnavailableError */
export async function storeMail(db: Database, clock: Clock, request: SendRequest): Promise<SendOutcome> {
  // Sorted ids: messages created in the same millisecond are listed and sent in the order of the request.
  const ids = request.drafts.map(() => newId('email', clock)).sort();
  const values = valuesOf(request, ids, clock.now());
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const outcome =
      request.reply === undefined
        ? await sendAtOnce(db, clock, request, ids, values)
        : await sendFromInboxes(db, clock, request, ids, values);
    if (outcome?.kind === 'stored' && request.kind === 'live') db.wakeUps.send({ webhooks: [], mail: true });
    if (outcome !== null) return outcome;
  }
  throw new Error('an idempotency key was neither free nor taken');
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
  ids: readonly EmailId[],
  values: readonly unknown[],
): Promise<SendOutcome | null> {
  const [sent] = await runOn<Sent>(db.pool, sendEmails, [...values, false]);
  if (sent === undefined) throw new Error('the statement did not answer');
  const outcome = outcomeOf(sent, ids);
  return outcome === null && sent.fromInbox ? sendFromInboxes(db, clock, request, ids, values) : outcome;
}

function valuesOf(request: SendRequest, ids: readonly EmailId[], at: Date): unknown[] {
  const { accountId, kind, drafts, domains, idempotency } = request;
  const messages = drafts.map((draft, index) => ({
    ...draft,
    attachments: undefined,
    id: ids[index],
    fromDomain: senderDomain(draft.from),
  }));
  const topics = drafts.flatMap(({ topicId }) => topicId ?? []);
  const { files, contents } = filesOf(drafts, ids);
  return [
    accountId,
    kind,
    JSON.stringify(messages),
    JSON.stringify(files),
    contents,
    [...new Set(domains)],
    [...new Set(topics)],
    at.toISOString(),
    idempotency?.route ?? null,
    idempotency?.key ?? null,
    idempotency?.digest ?? null,
    JSON.stringify(ids),
    drafts.flatMap(({ from }) => inboxAddressOf(from) ?? []),
  ];
}

/** Decodes all attachments into one buffer, so that no content is copied again on the way to Postgres. */
function filesOf(drafts: readonly EmailDraft[], ids: readonly EmailId[]) {
  const contents = Buffer.allocUnsafe(
    sumOf(drafts.flatMap(({ attachments }) => attachments).map(decodedBytes)),
  );
  let begins = 0;
  const files = drafts.flatMap(({ attachments }, index) =>
    attachments.map(({ content, ...file }, position) => {
      const bytes = contents.write(content, begins, 'base64');
      begins += bytes;
      return { ...file, emailId: ids[index], position, begins: begins - bytes, bytes };
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
