import { beforeEach, expect, test } from '@jest/globals';
import type { AccountId, EventId, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createWebhookEventStore } from './webhook-events.ts';

const store = setupStore();
const rows = () => createRows(store.outside);
let accountId: AccountId;
let webhookId: WebhookId;
let eventId: EventId;

beforeEach(async () => {
  await rows().clear();
  accountId = await rows().account();
  webhookId = await rows().webhook({ accountId });
  await store.outside.query(`update webhooks set created_at = '2001-01-01'`);
  eventId = await rows().event({ accountId });
});

const found = async () => createWebhookEventStore(store.db).find(accountId, webhookId, eventId);
const queue = async () =>
  store.outside.query('insert into deliveries (event_id, webhook_id) values ($1, $2)', [eventId, webhookId]);

test('an outstanding delivery is the state of an event, also where a dead letter is left', async () => {
  const deadLetterId = await rows().deadLetter(webhookId, eventId);
  expect(await found()).toMatchObject({ delivery: 'dead_letter', status: 'failed', deadLetterId });
  await queue();
  expect(await found()).toMatchObject({ delivery: 'queued', status: 'pending', attempts: 0 });
});

test('the newest dead letter of an event is shown, whichever was stored first', async () => {
  const [one, other] = [
    await rows().deadLetter(webhookId, eventId),
    await rows().deadLetter(webhookId, eventId),
  ];
  for (const newest of [one, other]) {
    await store.outside.query(
      `update dead_letters set created_at = now() - case when id = $1 then interval '0' else interval '1 hour' end`,
      [newest],
    );
    expect(await found()).toMatchObject({ deadLetterId: newest });
  }
});

test('an event that is older than the webhook is found there only when the webhook got it', async () => {
  await store.outside.query(`update webhooks set created_at = now() + interval '1 s'`);
  expect(await found()).toBeNull();
  await queue();
  expect(await found()).toMatchObject({ id: eventId, delivery: 'queued' });
});
