import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, DeadLetterId, EventId, WebhookId } from '@postrider/domain';
import { ACTOR, newWebhook } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { createDeadLetterStore } from './dead-letters.ts';
import type { DeadLetterStore } from './dead-letters.ts';

const EVENT_AT = new Date('2026-02-01T00:00:00.123Z');
const DATA = '{"b":1, "a":2}';

const store = setupStore();
let deadLetters: DeadLetterStore;
let accountId: AccountId;
let webhookId: WebhookId;

beforeAll(async () => {
  deadLetters = createDeadLetterStore(store.db);
});
beforeEach(async () => {
  accountId = await store.newAccount();
  const webhooks = createWebhookStore(store.db, store.secrets, store.clock);
  webhookId = (await newWebhook(webhooks, { accountId, endpoint: 'https://a.example/', events: [] })).webhook
    .id;
});

async function insert(statusCode: number | null = 503): Promise<{ id: DeadLetterId; eventId: EventId }> {
  const [id, eventId] = [newId('deadLetter', store.clock), newId('event', store.clock)];
  store.clock.advance(1);
  await store.outside.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
       last_error, status_code, created_at)
     values ($1, $2, $3, $4, 'email.sent', $5, $6, 8, 'attempts_exhausted', 'HTTP 503', $7, $8)`,
    [id, accountId, webhookId, eventId, EVENT_AT, DATA, statusCode, store.clock.now()],
  );
  return { id, eventId };
}

async function listed(by = accountId) {
  const page = await deadLetters.list(by, {});
  if (page === null) throw new Error('the first page needs no cursor');
  return page.entries;
}

async function deliveries() {
  return store.outside.query(
    `select event_id, attempts, claim, last_status, leased_until, due_at <= now() as due from deliveries
     where webhook_id = $1`,
    [webhookId],
  );
}

describe('list', () => {
  test('those made at one moment come in the order of their ids, so that the list is always the same', async () => {
    for (let n = 0; n < 5; n += 1) await insert();
    await store.outside.query('update dead_letters set created_at = $1', [EVENT_AT]);
    const ids = (await listed()).map(({ id }) => id);
    expect(ids).toHaveLength(5);
    expect(ids).toEqual([...ids].sort().reverse());
  });

  test('has the account’s only, newest first, each as it was written', async () => {
    const first = await insert();
    const second = await insert(null);
    const [newest, oldest, ...others] = await listed();
    expect(others).toEqual([]);
    expect(newest).toMatchObject({ id: second.id, statusCode: null });
    expect(oldest).toEqual({
      id: first.id,
      webhookId,
      eventId: first.eventId,
      type: 'email.sent',
      attempts: 8,
      reason: 'attempts_exhausted',
      lastError: 'HTTP 503',
      statusCode: 503,
      createdAt: expect.any(Date),
    });
    expect(await listed(await store.newAccount())).toEqual([]);
  });

  test('of more than 100 it has the newest 100', async () => {
    const ids: DeadLetterId[] = [];
    while (ids.length < 103) ids.unshift((await insert()).id);
    expect((await listed()).map(({ id }) => id)).toEqual(ids.slice(0, 100));
  });
});

describe('replay', () => {
  test('queues the event, due now, with a fresh set of attempts, removes the letter and wakes the relay', async () => {
    const { id, eventId } = await insert();
    expect(await deadLetters.replay(accountId, id, ACTOR)).toBe(true);
    expect(await deliveries()).toEqual([
      { event_id: eventId, attempts: 0, claim: 0, last_status: 503, leased_until: null, due: true },
    ]);
    expect(await listed()).toEqual([]);
    expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhookId], mail: false });
  });

  test('keeps the last status that the endpoint answered, or that it never answered, whoever replays', async () => {
    const one = (await insert(null)).id;
    await insert(404);
    await deadLetters.replay(accountId, one, ACTOR);
    await deadLetters.replayMatching(accountId, { webhookId }, ACTOR);
    expect((await deliveries()).map((row) => row['last_status'] as number | null)).toEqual([null, 404]);
  });

  test('writes an event back that retention has dropped, byte for byte, under its own id and time', async () => {
    const { id, eventId } = await insert();
    await deadLetters.replay(accountId, id, ACTOR);
    const [event] = await store.outside.query('select * from events where id = $1', [eventId]);
    expect(event).toEqual({
      id: eventId,
      account_id: accountId,
      type: 'email.sent',
      created_at: EVENT_AT,
      data: DATA,
      position: null,
      recipients: null,
    });
  });

  test('leaves an event that is still there as it is', async () => {
    const { id, eventId } = await insert();
    await store.outside.query(
      `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.sent', $3, $4)`,
      [eventId, accountId, EVENT_AT, DATA],
    );
    expect(await deadLetters.replay(accountId, id, ACTOR)).toBe(true);
    expect(await store.outside.query('select data from events where id = $1', [eventId])).toEqual([
      { data: DATA },
    ]);
  });

  test('of fifteen at once exactly one succeeds', async () => {
    const { id } = await insert();
    const replays = await Promise.all(
      Array.from({ length: 15 }, async () => deadLetters.replay(accountId, id, ACTOR)),
    );
    expect(replays.filter(Boolean)).toHaveLength(1);
    expect(await deliveries()).toHaveLength(1);
  });

  test('another account’s letter, a missing one, and one whose webhook is gone are not replayed', async () => {
    const { id } = await insert();
    const asked = store.wakeUps.length;
    expect(await deadLetters.replay(await store.newAccount(), id, ACTOR)).toBe(false);
    expect(await deadLetters.replay(accountId, newId('deadLetter', store.clock), ACTOR)).toBe(false);
    await store.outside.query('delete from webhooks where id = $1', [webhookId]);
    expect(await deadLetters.replay(accountId, id, ACTOR)).toBe(false);
    expect(await deliveries()).toEqual([]);
    expect(store.wakeUps).toHaveLength(asked);
  });
});
