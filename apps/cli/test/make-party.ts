import type { AccountId, EmailId, EventId, WebhookId } from '@postrider/domain';
import type { Rows, TestDatabase } from '@postrider/testing';

/** The time of a party's event. */
export const AT = '2026-03-01T12:00:00.000Z';

export interface Party {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  readonly emailId: EmailId;
  readonly eventId: EventId;
}

/** An account with a message to the address, and a report about it that its webhook gave up. */
export async function makeParty(
  database: TestDatabase,
  rows: Rows,
  address: string,
  requestId: string,
): Promise<Party> {
  const accountId = await rows.account();
  const webhookId = await rows.webhook({ accountId });
  await database.query(`update webhooks set created_at = '2001-01-01'`);
  const emailId = await rows.email(-1000, accountId);
  await database.query(
    `update emails set to_addresses = array[$2], request_id = $3, api_key_id = 'key_1', provider_message_id = 'ses-' || $3,
                       subject = E'Hi\\u001b[31m' where id = $1`,
    [emailId, address, requestId],
  );
  await rows.recipient(emailId, address);
  const eventId = await rows.event({ accountId, recipient: address });
  await database.query(
    `update events set type = 'email.bounced', created_at = $3, data = '{"email_id":"' || $2 || '","recipients":["' || $4 || '"]}'
     where id = $1`,
    [eventId, emailId, AT, address],
  );
  await database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer)
     values ($3::timestamptz + interval '1 s', 1, $1, $2, 1, 41, 503, 'HTTP 503', $4)`,
    [eventId, webhookId, AT, Buffer.from(`<b>\u001b[31m</b>\n${'x'.repeat(2_000)}`)],
  );
  const letter = await rows.deadLetter(webhookId, eventId);
  await database.query('update dead_letters set created_at = $2 where id = $1', [
    letter,
    '2026-03-01T12:00:02Z',
  ]);
  return { accountId, webhookId, emailId, eventId };
}
