import type { AccountId, WebhookId } from '@postrider/domain';
import { HttpVisitor } from './http-visitor.ts';
import { KEYS } from './start-console.ts';
import type { TestConsole } from './start-console.ts';

export interface OldWebhook {
  readonly accountId: AccountId;
  readonly webhook: WebhookId;
  /** An operator who has signed in. */
  readonly ada: HttpVisitor;
}

/** Makes an account with one webhook, which is older than all events. All other rows are gone. */
export async function makeOldWebhook({ url, database, rows }: TestConsole): Promise<OldWebhook> {
  await rows.clear();
  const accountId = await rows.account();
  const webhook = await rows.webhook({ accountId });
  await database.query(`update webhooks set created_at = now() - interval '30 days'`);
  return { accountId, webhook, ada: await new HttpVisitor(url).signIn(KEYS.ada) };
}
