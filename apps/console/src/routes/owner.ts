import { parseId } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import type { createAccountStore, createWebhookLookUps, OwnedWebhook } from '@postrider/store';
import { badRequest } from '../http/refusal.ts';

export interface Owners {
  readonly accounts: Pick<ReturnType<typeof createAccountStore>, 'search'>;
  readonly webhooks: Pick<ReturnType<typeof createWebhookLookUps>, 'find'>;
}

/** What a field for an account or a webhook names. */
export type Owner =
  | { readonly accountId: AccountId; readonly webhook?: undefined }
  | { readonly accountId?: undefined; readonly webhook: OwnedWebhook };

/** The names that the field for an owner has. A page has one of the two. */
const OWNER_FIELDS = ['account', 'webhook'];

/** Finds a webhook by its id, or an account. @throws Refusal when nothing, or more than one account, fits. */
export async function ownerNamed({ accounts, webhooks }: Owners, text: string): Promise<Owner> {
  const webhookId = parseId('webhook', text);
  if (webhookId === null) return { accountId: await accountNamed(accounts, text) };
  const webhook = await webhooks.find(webhookId);
  if (webhook === null) throw badRequest([`Webhook ${text} is unknown.`], OWNER_FIELDS);
  return { webhook };
}

/**
 * The search returns the accounts with the id, the domain or the inbox first: three at most. Two more with
 * the same name are enough to refuse.
 */
const FOUND_MAX = 5;

/**
 * Finds an account by its id or its whole name, otherwise by what `search` finds.
 *
 * @throws Refusal when not exactly one account fits.
 */
export async function accountNamed(accounts: Owners['accounts'], text: string): Promise<AccountId> {
  const found = await accounts.search(text, FOUND_MAX);
  const exact = found.filter(({ id, name }) => id === text || name.toLowerCase() === text.toLowerCase());
  const matches = exact.length > 0 ? exact : found;
  const [only] = matches;
  if (only === undefined) throw badRequest([`Account ${text} is unknown.`], OWNER_FIELDS);
  if (matches.length > 1)
    throw badRequest([`Account ${text} fits several accounts. Give an id.`], OWNER_FIELDS);
  return only.id;
}
