import type { AccountId, ApiKeyId, EmailId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import type { ListedEmail } from './emails.ts';
import { findEmailsById } from './sql/find-emails.ts';

/** A sent message of any account, without its text. */
export interface FoundEmail extends Omit<ListedEmail, 'accountId' | 'replyTo' | 'headers' | 'topicId'> {
  readonly accountId: AccountId;
  /** The key that sent it. null: an earlier release stored it. */
  readonly apiKeyId: ApiKeyId | null;
  /** The `x-request-id` of the request that sent it. null: an earlier release stored it. */
  readonly requestId: string | null;
  /** The names of its files, in order. */
  readonly attachments: readonly string[];
}

/** @returns those that exist, the newest first. */
export async function findEmails(
  { pool }: Pick<Database, 'pool'>,
  ids: readonly EmailId[],
): Promise<FoundEmail[]> {
  return runOn<FoundEmail>(pool, findEmailsById, [ids]);
}
