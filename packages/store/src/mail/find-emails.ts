import type { AccountId, ApiKeyId, EmailId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';
import type { ListedEmail } from './emails.ts';
import {
  findEmailsByAddress,
  findEmailsByDomain,
  findEmailsById,
  findEmailsByKey,
  findEmailsByMessageId,
  findEmailsByRequest,
} from './sql/find-emails.ts';

/** A sent message of any account, without its text. */
export interface FoundEmail extends Omit<ListedEmail, 'replyTo' | 'headers' | 'topicId'> {
  /** The key that sent it. null: an earlier release stored it. */
  readonly apiKeyId: ApiKeyId | null;
  /** The `x-request-id` of the request that sent it. null: an earlier release stored it. */
  readonly requestId: string | null;
  /** The recipients that suppressions left out when it was sent, as `plainAddress` writes them. */
  readonly suppressedAddresses: readonly string[];
  /** The names of its files, in order. */
  readonly attachments: readonly string[];
}

/** An address or a domain finds only mail with rows in `email_recipients`. An earlier release wrote none. */
export type EmailSearch =
  /** A recipient: to, cc or bcc. As `plainAddress` writes it. */
  | { readonly by: 'address'; readonly text: string }
  /** The domain of a recipient, as in `plainAddress`. */
  | { readonly by: 'domain'; readonly text: string }
  /** The Message-ID that its recipients see, or the provider's id. Without angle brackets. */
  | { readonly by: 'messageId'; readonly text: string }
  /** The API key that sent it: its id. Of its account's messages, only the newest are looked at. */
  | { readonly by: 'key'; readonly text: string }
  /** The `x-request-id` of the request that sent it. */
  | { readonly by: 'request'; readonly text: string };

interface Bounds {
  /** Unset: every account. */
  readonly accountId?: AccountId | undefined;
  readonly limit: number;
}

/**
 * Maximum messages read, the newest first. Of all accounts, when only one account's are wanted. Of the key's
 * account, when a key is searched.
 */
const LOOKED_AT_MAX = 10_000;

const BY: Readonly<Record<EmailSearch['by'], Statement>> = {
  address: findEmailsByAddress,
  domain: findEmailsByDomain,
  messageId: findEmailsByMessageId,
  key: findEmailsByKey,
  request: findEmailsByRequest,
};

/** @returns the newest messages that fit, the newest first. */
export async function searchEmails(
  { pool }: Pick<Database, 'pool'>,
  { by, text }: EmailSearch,
  { accountId, limit }: Bounds,
): Promise<FoundEmail[]> {
  const asked = by === 'messageId' ? storedIds(text) : text;
  return runOn<FoundEmail>(pool, BY[by], [asked, accountId ?? null, limit, LOOKED_AT_MAX]);
}

/**
 * SES replaces our Message-ID with `<id@REGION.amazonses.com>`, and we store the id. Other providers keep our
 * Message-ID, which is stored in brackets. Its local part is the id of the message.
 */
function storedIds(messageId: string): string[] {
  const [localPart = ''] = messageId.split('@', 1);
  return [`<${messageId}>`, localPart];
}

/** @returns the messages that exist, the newest first. */
export async function findEmails(
  { pool }: Pick<Database, 'pool'>,
  ids: readonly EmailId[],
): Promise<FoundEmail[]> {
  return runOn<FoundEmail>(pool, findEmailsById, [ids]);
}
