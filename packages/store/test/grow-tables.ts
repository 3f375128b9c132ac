import type { AccountId, WebhookId } from '@postrider/domain';
import type { TestDatabase } from '@postrider/testing';

/** Rows of an account after a flood. */
export async function growSuppressions(
  database: TestDatabase,
  accountId: AccountId,
  count: number,
): Promise<void> {
  await database.query(
    `insert into suppressions (id, account_id, address, origin, created_at)
     select 'sup_' || n, $1, n || '@grown.example', 'manual', now() from generate_series(1, $2) n`,
    [accountId, count],
  );
}

export async function growTopicsAndDomains(
  database: TestDatabase,
  accountId: AccountId,
  count: number,
): Promise<void> {
  await database.query(
    `with topic as (
       insert into topics (id, account_id, name, default_subscription, created_at)
       select 'top_' || n, $1, 'T', 'opt_in', now() from generate_series(0, $2) n on conflict do nothing)
     insert into domains (id, account_id, name, region, status, records, created_at)
     select 'dom_' || n, $1, n || '.example', 'r', 'verified', '[]', now() from generate_series(0, $2) n
     on conflict do nothing`,
    [accountId, count],
  );
}

/** Queued mail of the account that has the webhook. */
export async function growEmails(database: TestDatabase, webhookId: WebhookId, count: number): Promise<void> {
  await database.query(
    `with mail as (
       insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
                           reply_to_addresses, subject, text, headers, last_event, created_at)
       select 'em_' || n, account_id, 'live', 'queued', 'a@a.example', '{b@b.example}', '{}', '{}', '{}', 'Hi', 'Hello',
              '{}', 'queued', now()
       from webhooks, generate_series(1, $2) n where webhooks.id = $1 returning id)
     insert into email_sends (email_id) select id from mail`,
    [webhookId, count],
  );
}
