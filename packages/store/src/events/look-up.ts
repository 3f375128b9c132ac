import type { AccountId, ApiKeyId, SearchText, TopicId } from '@postrider/domain';
import { readAccountNames, searchAccounts } from '../accounts/accounts.ts';
import type { Account } from '../accounts/accounts.ts';
import type { Database } from '../db/database.ts';
import { findMessages } from '../inbound/find-messages.ts';
import type { FoundMessage } from '../inbound/find-messages.ts';
import { searchEmails } from '../mail/find-emails.ts';
import type { FoundEmail } from '../mail/find-emails.ts';
import { suppressionOf } from '../mail/suppressions.ts';
import type { Suppression } from '../mail/suppressions.ts';
import { createWebhookLookUps } from '../webhooks/webhook-look-ups.ts';
import type { OwnedWebhook } from '../webhooks/webhook-look-ups.ts';
import { readNewestEvents } from './find-events.ts';
import type { NewestEvent } from './find-events.ts';

/** What support finds by an address, a domain, a Message-ID, a key, a request or a name. */
export interface Findings {
  /** The newest first, as the lists below. */
  readonly emails: readonly (FoundEmail & WithNewestEvent)[];
  readonly messages: readonly (FoundMessage & WithNewestEvent)[];
  readonly suppressions: readonly OwnedSuppression[];
  /** The webhooks that have the domain as the host of their endpoint. */
  readonly webhooks: readonly OwnedWebhook[];
  /** The accounts with the sending domain, with the text in their name, or with the key. */
  readonly accounts: readonly Account[];
  /** How many each list would have without a limit. */
  readonly counts: Readonly<Record<keyof Found, FindingCount>>;
  /**
   * How much mail and how many webhooks each account has, together. The account with the most comes first.
   */
  readonly byAccount: ReadonlyMap<AccountId, FindingCount>;
  /** The names of the accounts above. */
  readonly names: ReadonlyMap<AccountId, string>;
  /** The names of the topics above. */
  readonly topics: ReadonlyMap<TopicId, string>;
}

export interface FindingCount {
  readonly found: number;
  /** False: there may be more. */
  readonly isWhole: boolean;
}

interface WithNewestEvent {
  /** null: no event is known. */
  readonly newestEvent: NewestEvent | null;
}

export interface OwnedSuppression extends Suppression {
  readonly accountId: AccountId;
}

/** A text to look up. It may be the id of a key, but no other id: what has another id has its own page. */
export type LookedUpText =
  | Exclude<SearchText, { kind: 'id' }>
  /** The mail that an API key sent, and its account. */
  | { readonly kind: 'key'; readonly keyId: ApiKeyId };

interface Found {
  readonly emails: readonly FoundEmail[];
  readonly messages: readonly FoundMessage[];
  readonly suppressions: readonly OwnedSuppression[];
  readonly webhooks: readonly OwnedWebhook[];
  readonly accounts: readonly Account[];
}

const NOTHING: Found = { emails: [], messages: [], suppressions: [], webhooks: [], accounts: [] };

interface Bounds {
  /** Unset: every account. */
  readonly accountId?: AccountId | undefined;
  readonly limit: number;
}

/** Entries of each list that are counted. */
const COUNTED_MAX = 1_000;

/** @param limit entries of each list at most. */
export async function lookUp(
  db: Database,
  text: LookedUpText,
  { accountId, limit }: Bounds,
): Promise<Findings> {
  const ofAll = { ...NOTHING, ...(await find(db, text, { limit: COUNTED_MAX + 1 })) };
  const found = accountId === undefined ? ofAll : await findOf(db, text, accountId);
  const cut = <Entry>(entries: readonly Entry[]) => entries.slice(0, limit);
  const [emails, messages] = [cut(found.emails), cut(found.messages)];
  const events = await readNewestEvents(
    db,
    [...emails, ...messages].map(({ id }) => id),
  );
  const newestOf = ({ id }: FoundEmail | FoundMessage) => ({ newestEvent: events.get(id) ?? null });
  const byAccount = countByAccount(ofAll);
  // The search in one account may count more of its rows than the search in all.
  if (accountId !== undefined) for (const [id, count] of countByAccount(found)) byAccount.set(id, count);
  const owners = [...byAccount.keys(), ...cut(found.suppressions).map((each) => each.accountId)];
  return {
    emails: emails.map((email) => ({ ...email, ...newestOf(email) })),
    messages: messages.map((message) => ({ ...message, ...newestOf(message) })),
    suppressions: cut(found.suppressions),
    webhooks: cut(found.webhooks),
    accounts: cut(found.accounts),
    counts: {
      emails: countOf(found.emails),
      messages: countOf(found.messages),
      suppressions: countOf(found.suppressions),
      webhooks: countOf(found.webhooks),
      accounts: countOf(found.accounts),
    },
    byAccount,
    names: await readAccountNames(db, owners),
    topics: await readTopicNames(db, cut(found.suppressions)),
  };
}

async function readTopicNames(
  { prisma }: Database,
  suppressions: readonly Suppression[],
): Promise<ReadonlyMap<TopicId, string>> {
  const ids = suppressions.flatMap(({ topicId }) => topicId ?? []);
  if (ids.length === 0) return new Map();
  const topics = await prisma.topic.findMany({
    where: { id: { in: ids } },
    select: { id: true, name: true },
  });
  return new Map(topics.map(({ id, name }) => [id as TopicId, name]));
}

async function findOf(db: Database, text: LookedUpText, accountId: AccountId): Promise<Found> {
  const found = { ...NOTHING, ...(await find(db, text, { accountId, limit: COUNTED_MAX + 1 })) };
  return { ...found, accounts: found.accounts.filter(({ id }) => id === accountId) };
}

function countOf({ length }: readonly unknown[]): FindingCount {
  return { found: Math.min(length, COUNTED_MAX), isWhole: length <= COUNTED_MAX };
}

function countByAccount({ emails, messages, webhooks }: Found): Map<AccountId, FindingCount> {
  const lists = [emails, messages, webhooks];
  const isWhole = lists.every((list) => countOf(list).isWhole);
  const rows = lists.flatMap((list) => list.slice(0, COUNTED_MAX).map(({ accountId }) => accountId));
  const counts = [...Map.groupBy(rows, (id) => id)].map(
    ([id, own]) => [id, { found: own.length, isWhole }] as const,
  );
  return new Map(counts.sort(([, one], [, other]) => other.found - one.found));
}

async function find(db: Database, text: LookedUpText, bounds: Bounds): Promise<Partial<Found>> {
  switch (text.kind) {
    case 'address':
      return byAddress(db, text.address, bounds);
    case 'messageId':
      return byMessageId(db, text.messageId, bounds);
    case 'domain':
      return byDomain(db, text.domain, bounds);
    case 'key':
      return byKey(db, text.keyId, bounds);
    case 'other':
      return byOther(db, text.text, bounds);
  }
}

/** A Message-ID looks like an address. If nothing has the address, the text is read as a Message-ID. */
async function byAddress(db: Database, address: string, bounds: Bounds): Promise<Partial<Found>> {
  const [emails, messages, suppressions] = await Promise.all([
    searchEmails(db, { by: 'address', text: address }, bounds),
    findMessages(db, { address }, bounds),
    suppressionsOf(db, address, bounds),
  ]);
  const isKnown = emails.length + messages.length + suppressions.length > 0;
  return isKnown ? { emails, messages, suppressions } : byMessageId(db, address, bounds);
}

async function byMessageId(db: Database, messageId: string, bounds: Bounds): Promise<Partial<Found>> {
  const [emails, messages] = await Promise.all([
    searchEmails(db, { by: 'messageId', text: messageId }, bounds),
    findMessages(db, { messageId }, bounds),
  ]);
  return { emails, messages };
}

async function byDomain(db: Database, domain: string, bounds: Bounds): Promise<Partial<Found>> {
  const [emails, webhooks, accounts] = await Promise.all([
    searchEmails(db, { by: 'domain', text: domain }, bounds),
    createWebhookLookUps(db).ofHost(domain, bounds),
    searchAccounts(db, domain, bounds.limit),
  ]);
  return { emails, webhooks, accounts };
}

async function byKey(db: Database, keyId: ApiKeyId, bounds: Bounds): Promise<Partial<Found>> {
  const [emails, key] = await Promise.all([
    searchEmails(db, { by: 'key', text: keyId }, bounds),
    db.prisma.apiKey.findUnique({ where: { id: keyId }, select: { accountId: true } }),
  ]);
  return { emails, accounts: key === null ? [] : await searchAccounts(db, key.accountId, 1) };
}

/** The text is a request id. If no mail has it, the text is read as a part of a name. */
async function byOther(db: Database, text: string, bounds: Bounds): Promise<Partial<Found>> {
  const emails = await searchEmails(db, { by: 'request', text }, bounds);
  return emails.length > 0 ? { emails } : { accounts: await searchAccounts(db, text, bounds.limit) };
}

async function suppressionsOf(
  db: Database,
  address: string,
  { accountId, limit }: Bounds,
): Promise<OwnedSuppression[]> {
  const rows = await db.prisma.suppression.findMany({
    where: { address, ...(accountId === undefined ? {} : { accountId }) },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
  return rows.map((row) => ({ ...suppressionOf(row), accountId: row.accountId as AccountId }));
}
