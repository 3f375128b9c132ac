import type { AccountId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

export interface FailingWebhook {
  readonly webhookId: WebhookId;
  readonly accountId: AccountId;
  readonly endpoint: string;
  readonly failingSince: Date;
}

/** $1 webhooks at most. */
const READ = statement('read-failing-webhooks')`
    select id as "webhookId", account_id as "accountId", endpoint, failing_since as "failingSince"
    from webhooks
    where failing_since is not null and removed_at is null
    order by failing_since
    limit $1`;

/** The failing webhooks of all accounts, also those of routing rules. The longest failure comes first. */
export async function readFailingWebhooks(pool: Pool, limit: number): Promise<FailingWebhook[]> {
  return runOn<FailingWebhook>(pool, READ, [limit]);
}
