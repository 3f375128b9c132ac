import { parseId } from '@postrider/domain';
import type { AccountId, Id, WebhookId } from '@postrider/domain';
import { createAccountStore, createWebhookLookUps } from '@postrider/store';
import type { Database, OwnedWebhook } from '@postrider/store';
import { Failure, UsageError } from './failure.ts';
import type { Io } from './io.ts';

const IN_WORDS = {
  account: 'an account',
  apiKey: 'a key',
  deadLetter: 'a dead letter',
  email: 'an email',
  event: 'an event',
  inbox: 'an inbox',
  message: 'a received message',
  webhook: 'a webhook',
} as const;

type Noun = keyof typeof IN_WORDS;

/** Ignores white space around the id. @throws UsageError when `text` is not an id of this noun. */
export function requireId<N extends Noun>(noun: N, text: string): Id<N> {
  const id = parseId(noun, text.trim());
  if (id === null) throw new UsageError(`"${text}" is not the id of ${IN_WORDS[noun]}`);
  return id;
}

/** `requireId` for an optional value. */
export function optionalId<N extends Noun>(noun: N, text: string | undefined): Id<N> | undefined {
  return text === undefined ? undefined : requireId(noun, text);
}

/** @throws Failure when the account does not exist. */
export async function requireAccount(database: Database, io: Io, id: AccountId): Promise<void> {
  if ((await createAccountStore(database, io.clock).find(id)) === null) throw new Failure(`no account ${id}`);
}

/** @throws Failure when the webhook does not exist, or belongs to another account than `accountId`. */
export async function requireWebhook(
  database: Database,
  id: WebhookId,
  accountId?: AccountId,
): Promise<OwnedWebhook> {
  const webhook = await createWebhookLookUps(database).find(id);
  if (webhook === null || (accountId !== undefined && webhook.accountId !== accountId))
    throw new Failure(`no webhook ${id}`);
  return webhook;
}
