import { newId } from '@postrider/domain';
import type {
  AccountId,
  AttachmentDraft,
  Clock,
  EmailDraft,
  EmailId,
  KeyKind,
  TopicId,
} from '@postrider/domain';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { sendEmails } from './sql/send-emails.ts';

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
  | { readonly kind: 'unverified-domains'; readonly names: readonly string[] };

interface Sent {
  readonly stored: boolean;
  readonly mine: boolean;
  readonly unknownTopics: readonly TopicId[];
  readonly unverifiedDomains: readonly string[];
  /** Null where no answer is remembered. */
  readonly same: boolean | null;
  readonly answer: readonly EmailId[] | null;
}

/** A second time finds what the first conflicted with, unless it was dropped in between: each such time is a day. */
const TRIES_MAX = 3;

/** @throws StoreUnavailableError */
export async function storeMail(db: Database, clock: Clock, request: SendRequest): Promise<SendOutcome> {
  // Sorted: messages of one moment are listed, and handed over, in the order in which they were asked for.
  const ids = request.drafts.map(() => newId('email', clock)).sort();
  const values = valuesOf(request, ids, clock.now());
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const [sent] = await runOn<Sent>(db.pool, sendEmails, values);
    if (sent === undefined) throw new Error('the statement did not answer');
    const outcome = outcomeOf(sent, ids);
    if (outcome?.kind === 'stored' && request.kind === 'live') db.wakeUps.send({ webhooks: [], mail: true });
    if (outcome !== null) return outcome;
  }
  throw new Error('an idempotency key was neither free nor taken');
}

/** @returns null when another request was first, too late for this one to see what it stored. */
function outcomeOf(sent: Sent, ids: readonly EmailId[]): SendOutcome | null {
  if (sent.same === true) return { kind: 'repeated', ids: sent.answer ?? [] };
  if (sent.same === false) return { kind: 'conflict', why: 'another request' };
  if (!sent.mine) return { kind: 'conflict', why: 'unfinished' };
  if (sent.unknownTopics.length > 0) return { kind: 'unknown-topics', ids: sent.unknownTopics };
  if (sent.unverifiedDomains.length > 0) return { kind: 'unverified-domains', names: sent.unverifiedDomains };
  return sent.stored ? { kind: 'stored', ids } : null;
}

function valuesOf(request: SendRequest, ids: readonly EmailId[], at: Date): unknown[] {
  const { accountId, kind, drafts, domains, idempotency } = request;
  const messages = drafts.map((draft, index) => ({ ...draft, attachments: undefined, id: ids[index] }));
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
  ];
}

/** All contents in one buffer: each is decoded into its place, and none is copied once more for the wire. */
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

/** Three bytes to four characters, less what the padding says. */
function decodedBytes({ content }: AttachmentDraft): number {
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
  return (content.length / 4) * 3 - padding;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
