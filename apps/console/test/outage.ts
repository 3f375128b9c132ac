import { newId, notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, EventId, MessageId, WebhookId } from '@postrider/domain';
import { systemClock } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';

/** An account in the middle of an outage: a mail that bounced, and what became of its event. */
export interface Outage {
  readonly accountId: AccountId;
  /** Failing, with a dead letter of the event. */
  readonly failing: WebhookId;
  /** Got the event. */
  readonly healthy: WebhookId;
  readonly emailId: EmailId;
  readonly eventId: EventId;
  /** Held mail with a virus. */
  readonly messageId: MessageId;
}

/** What the failing endpoint answers: a page that would run a script. */
export const HOSTILE_ANSWER =
  '<html>\n<script>document.title = "run"</script><img src=x onerror="document.title=\'run\'">\n</html>\n';
export const HOSTILE_SUBJECT = `Your order <script>document.title='run'</script> '; touch /tmp/x`;
export const RECIPIENT = 'jane@example.net';

export async function makeOutage({ query }: Pick<TestDatabase, 'query'>, rows: Rows): Promise<Outage> {
  const accountId = await rows.account();
  await query(`update accounts set name = 'Meadow Shop' where id = $1`, [accountId]);
  const failing = await rows.webhook({ accountId, failing: true });
  const healthy = await rows.webhook({ accountId });
  await query(
    `update webhooks set created_at = now() - interval '30 days',
       endpoint = case when id = $1 then 'https://hooks.shop.example.com/postrider' else 'https://crm.shop.example.com/in/mail' end
     where account_id = $2`,
    [failing, accountId],
  );
  await query(`update webhooks set failing_since = now() - interval '90 minutes' where id = $1`, [failing]);
  const emailId = await rows.email(-1000, accountId);
  await query(
    `update emails set to_addresses = array[$2], subject = $3, from_address = 'Meadow Shop <orders@shop.example.com>',
       last_event = 'bounced', status = 'sent', created_at = now() - interval '20 s', sent_at = now() - interval '19 s', request_id = 'req_0123', kind = 'live'
     where id = $1`,
    [emailId, RECIPIENT, HOSTILE_SUBJECT],
  );
  await rows.recipient(emailId, RECIPIENT);
  await query('delete from email_sends where email_id = $1', [emailId]); // it was sent
  const eventId = await insertBounce(query, accountId, emailId);
  await insertAttempts(query, eventId, failing, healthy);
  await rows.deadLetter(failing, eventId);
  await rows.deliveries(failing, { count: 3, dueInMs: -42_000 });
  const messageId = await rows.message({ accountId, held: true });
  await query(
    `update messages set held_reason = 'virus', subject = 'Re: Your order', from_address = $2,
       received_for = '{support@shop.example.com}' where id = $1`,
    [messageId, RECIPIENT],
  );
  return { accountId, failing, healthy, emailId, eventId, messageId };
}

async function insertBounce(
  query: TestDatabase['query'],
  accountId: AccountId,
  emailId: EmailId,
): Promise<EventId> {
  const id = newId('event', systemClock);
  const data = {
    email_id: emailId,
    recipients: [RECIPIENT],
    occurred_at: new Date(Date.now() - 11_000).toISOString(),
    detail: notificationDetailOf({
      bounce_type: 'Permanent',
      bounce_sub_type: 'General',
      diagnostic: `smtp; 550 5.1.1 <${RECIPIENT}>: Recipient address rejected`,
    }),
  };
  await query(
    `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.bounced', now() - interval '10 s', $3)`,
    [id, accountId, JSON.stringify(data)],
  );
  return id;
}

async function insertAttempts(
  query: TestDatabase['query'],
  eventId: EventId,
  failing: WebhookId,
  healthy: WebhookId,
): Promise<void> {
  for (const attempt of [1, 2, 3]) {
    await query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status, error, answer)
       values (now() - make_interval(secs => 8 - $1::int), 1, $1, $2, $3, 'email.bounced', 212, 503, 'HTTP 503', $4)`,
      [attempt, eventId, failing, Buffer.from(HOSTILE_ANSWER)],
    );
  }
  await query(
    `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status, error, answer)
     values (now() - interval '8 s', 2, 1, $1, $2, 'email.bounced', 84, 200, null, $3)`,
    [eventId, healthy, Buffer.from('{"ok":true}')],
  );
}
