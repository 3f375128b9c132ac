import type { AccountId, SearchText } from '@postrider/domain';
import { searchAccounts } from '../accounts/accounts.ts';
import type { Account } from '../accounts/accounts.ts';
import type { Database } from '../db/database.ts';
import { findMessages } from '../inbound/find-messages.ts';
import type { FoundMessage } from '../inbound/find-messages.ts';
import { searchEmails } from '../mail/find-emails.ts';
import type { EmailSearch, FoundEmail } from '../mail/find-emails.ts';
import { suppressionOf } from '../mail/suppressions.ts';
import type { Suppression } from '../mail/suppressions.ts';
import { createWebhookLookUps } from '../webhooks/webhook-look-ups.ts';
import type { OwnedWebhook } from '../webhooks/webhook-look-ups.ts';
import { readNewestEvents } from './find-events.ts';
import type { NewestEvent } from './find-events.ts';

/** What support finds by an address, a domain, a Message-ID, a request or a name, in all accounts. */
export interface Findings {
  /** The newest first, as the lists below. */
  readonly emails: readonly (FoundEmail & WithNewestEvent)[];
  readonly messages: readonly (FoundMessage & WithNewestEvent)[];
  readonly suppressions: readonly OwnedSuppression[];
  /** Those that have the domain as the host of their endpoint. */
  readonly webhooks: readonly OwnedWebhook[];
  /** Those with the sending domain or with the text in their name, and those of the rows above. */
  readonly accounts: readonly Account[];
  /** A list above holds the newest ones only. */
  readonly hasMore: boolean;
}

interface WithNewestEvent {
  /** null: no event is known. */
  readonly newestEvent: NewestEvent | null;
}

export interface OwnedSuppression extends Suppression {
  readonly accountId: AccountId;
}

/** A text to look up that is not an id. An id has one owner and its own page. */
export type LookedUpText = Exclude<SearchText, { kind: 'id' }>;

interface Found {
  readonly emails?: readonly FoundEmail[];
  readonly messages?: readonly FoundMessage[];
  readonly suppressions?: readonly OwnedSuppression[];
  readonly webhooks?: readonly OwnedWebhook[];
  readonly accounts?: readonly Account[];
}

/** @param limit entries of each list at most. */
export async function lookUp(db: Database, text: LookedUpText, limit: number): Promise<Findings> {
  const found = await find(db, text, limit + 1);
  const cut = <Entry>(entries: readonly Entry[] = []) => entries.slice(0, limit);
  const [emails, messages, suppressions] = [cut(found.emails), cut(found.messages), cut(found.suppressions)];
  const [webhooks, accounts] = [cut(found.webhooks), cut(found.accounts)];
  const events = await readNewestEvents(
    db,
    [...emails, ...messages].map(({ id }) => id),
  );
  const newestOf = ({ id }: FoundEmail | FoundMessage) => ({ newestEvent: events.get(id) ?? null });
  const owned = [...emails, ...messages, ...suppressions, ...webhooks].map(({ accountId }) => accountId);
  return {
    emails: emails.map((email) => ({ ...email, ...newestOf(email) })),
    messages: messages.map((message) => ({ ...message, ...newestOf(message) })),
    suppressions,
    webhooks,
    accounts: await withOwners(db, accounts, owned),
    hasMore: Object.values(found).some((entries: readonly unknown[]) => entries.length > limit),
  };
}

async function find(db: Database, text: LookedUpText, limit: number): Promise<Found> {
  switch (text.kind) {
    case 'address':
      return byAddress(db, text.address, limit);
    case 'messageId':
      return byMessageId(db, text.messageId, limit);
    case 'domain':
      return byDomain(db, text.domain, limit);
    case 'other':
      return byOther(db, text.text, limit);
  }
}

/** A Message-ID looks like an address. Without mail of the address, the text is read as one. */
async function byAddress(db: Database, address: string, limit: number): Promise<Found> {
  const [emails, messages, suppressions] = await Promise.all([
    mail(db, { by: 'address', text: address }, limit),
    findMessages(db, { address }, limit),
    suppressionsOf(db, address, limit),
  ]);
  const isKnown = emails.length + messages.length + suppressions.length > 0;
  return isKnown ? { emails, messages, suppressions } : byMessageId(db, address, limit);
}

async function byMessageId(db: Database, messageId: string, limit: number): Promise<Found> {
  const [emails, messages] = await Promise.all([
    mail(db, { by: 'messageId', text: messageId }, limit),
    findMessages(db, { messageId }, limit),
  ]);
  return { emails, messages };
}

async function byDomain(db: Database, domain: string, limit: number): Promise<Found> {
  const [emails, webhooks, accounts] = await Promise.all([
    mail(db, { by: 'domain', text: domain }, limit),
    createWebhookLookUps(db).ofHost(domain, limit),
    searchAccounts(db, domain, limit),
  ]);
  return { emails, webhooks, accounts };
}

/** The text is a request id, or else a part of a name. */
async function byOther(db: Database, text: string, limit: number): Promise<Found> {
  const emails = await mail(db, { by: 'request', text }, limit);
  return emails.length > 0 ? { emails } : { accounts: await searchAccounts(db, text, limit) };
}

async function mail(db: Database, search: EmailSearch, limit: number): Promise<FoundEmail[]> {
  return searchEmails(db, search, { limit });
}

async function suppressionsOf(db: Database, address: string, limit: number): Promise<OwnedSuppression[]> {
  const rows = await db.prisma.suppression.findMany({
    where: { address },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
  return rows.map((row) => ({ ...suppressionOf(row), accountId: row.accountId as AccountId }));
}

/** Adds the accounts with these ids that are not among them. */
async function withOwners(
  { prisma }: Database,
  accounts: readonly Account[],
  owners: readonly AccountId[],
): Promise<Account[]> {
  const missing = new Set(owners);
  for (const { id } of accounts) missing.delete(id);
  const rows = await prisma.account.findMany({ where: { id: { in: [...missing] } }, orderBy: { id: 'asc' } });
  return [
    ...accounts,
    ...rows.map((row) => ({ id: row.id as AccountId, name: row.name, createdAt: row.createdAt })),
  ];
}
