import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { HttpVisitor, textOf, tokensOf, valuesOf } from '../test/http-visitor.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

/* Recoveries whose count ended before the last event. */

const opened = setupConsole();
let accountId: AccountId;
let webhook: WebhookId;
let ada: HttpVisitor;

beforeEach(async () => {
  await opened.rows.clear();
  accountId = await opened.rows.account();
  webhook = await opened.rows.webhook({ accountId });
  await query(`update webhooks set created_at = now() - interval '30 days'`);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const query = async (sql: string, values: unknown[] = []) => opened.database.query(sql, values);

/** Delivered events, so many as a count of an account looks at, and three newer ones that were dropped. */
async function outageAtTheEnd(): Promise<void> {
  await query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_' || lpad(n::text, 26, '0'), $1, 'email.sent', now() - interval '60 minutes', '{}'
     from generate_series(1, 25003) n order by n`,
    [accountId],
  );
  await query(
    `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
     select now() - interval '50 minutes', 1, 1, id, $1, type, 5, 200 from events order by id limit 25000`,
    [webhook],
  );
}

describe('an outage behind more delivered events than a count looks at', () => {
  test('is recovered once the user has typed that its number is not known', async () => {
    await outageAtTheEnd();
    const page = await ada.show(`/recover?webhook=${accountId}`);
    expect(textOf(page)).toContain('0+ events for 1 webhook');
    const fields = valuesOf(page, '/recoveries');
    for (const count of ['', '0']) {
      const { status, text } = await ada.post('/recoveries', { ...fields, count });
      expect([status, textOf(text).includes('count is not 0+')]).toEqual([400, true]);
    }
    const { location } = await ada.post('/recoveries', { ...fields, count: '0+' });
    expect(textOf(await ada.show(location ?? ''))).toContain('1 recovery runs, of 0+ events.');
  });

  test('is counted to its end for the webhook alone', async () => {
    await outageAtTheEnd();
    expect(textOf(await ada.show(`/recover?webhook=${webhook}`))).toContain('Recover 3 events');
  });
});

test('the page of a recovery whose count was cut claims no remaining number, share or time', async () => {
  await query(
    `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters, has_more,
                             position, last_position, created_at, queued)
     values ('rec_00000000000000000000000001', $1, $2, now(), now(), '{}', true, 200, 3, 0, true, 0, 0, now(), 9000)`,
    [accountId, webhook],
  );
  const path = '/recoveries/rec_00000000000000000000000001';
  const page = await ada.show(path);
  const words = textOf(page);
  for (const part of [
    '9,000 of 9,000+ events queued ',
    'Remaining unknown',
    'Stopping leaves an unknown number',
  ])
    expect(words).toContain(part);
  for (const part of ['%', '0 s left', '0 events']) expect(words).not.toContain(part);
  expect(textOf(await ada.show('/'))).toContain('unknown');
  const { location } = await ada.post(`${path}/stop`, tokensOf(page, `${path}/stop`));
  expect(textOf(await ada.show(location ?? ''))).toContain(
    'The recovery is stopped. It queued 9,000 events. How many remain is unknown: the count was cut.',
  );
});
