import { beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, textOf, wholeAnswer } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { writeCursor } from './attempts.ts';

interface Answered {
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  readonly data: readonly { readonly event_id: string; readonly attempt: number }[];
}

const api = setupApi();
let caller: Caller;
let webhook: string;

beforeEach(async () => {
  caller = await api.newCaller();
  webhook = await newWebhook();
});

async function newWebhook(by = caller): Promise<string> {
  const response = await request(api.url)
    .post('/v1/webhooks')
    .set('authorization', by.authorization)
    .send({ endpoint: 'https://hooks.example.com' });
  return (response.body as { id: string }).id;
}

const ask = (query = '', id = webhook, by = caller) =>
  request(api.url).get(`/v1/webhooks/${id}/attempts${query}`).set('authorization', by.authorization);

async function read(query = ''): Promise<Answered> {
  const response = await ask(query);
  expect(response.status).toBe(200);
  return response.body as Answered;
}

/** Logs attempts of one delivery, one second apart. The first is at `startedAt`. */
async function log(eventId: string, startedAt: string, count: number, webhookId = webhook): Promise<void> {
  await api.database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, type)
     select $1::timestamptz + (n - 1) * interval '1 s', 7, $2, $3, n, 12, 503, 'HTTP 503', 'email.sent'
     from generate_series(1, $4::int) n`,
    [startedAt, eventId, webhookId, count],
  );
}

const newEvent = () => newId('event', systemClock);

test('answers every field of each attempt, newest first', async () => {
  const eventId = newEvent();
  await api.database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
     values ('2026-11-20 10:00:00.123456+00', 1, $1, $2, 1, 10000, null, 'timeout after 10000 ms', null, null),
            ('2026-11-20 10:00:40Z', 1, $1, $2, 2, 45, 503, 'HTTP 503', '\\x6ec3a92fff', 'email.sent'),
            ('2026-11-20 10:01:40Z', 1, $1, $2, 3, 31, 204, null, '', 'email.sent')`,
    [eventId, webhook],
  );
  const entry = { object: 'attempt', event_id: eventId };
  expect(await read()).toEqual({
    object: 'list',
    has_more: false,
    next_cursor: null,
    data: [
      {
        ...entry,
        type: 'email.sent',
        attempt: 3,
        started_at: '2026-11-20T10:01:40.000Z',
        duration_ms: 31,
        status_code: 204,
        error: null,
        response: '',
      },
      {
        ...entry,
        type: 'email.sent',
        attempt: 2,
        started_at: '2026-11-20T10:00:40.000Z',
        duration_ms: 45,
        status_code: 503,
        error: 'HTTP 503',
        response: 'né/\ufffd',
      },
      {
        ...entry,
        type: null,
        attempt: 1,
        started_at: '2026-11-20T10:00:00.123Z',
        duration_ms: 10000,
        status_code: null,
        error: 'timeout after 10000 ms',
        response: null,
      },
    ],
  });
});

test('a webhook without attempts has an empty list', async () => {
  expect(await read()).toEqual({ object: 'list', has_more: false, next_cursor: null, data: [] });
});

test('pages show each attempt once, also those of the same microsecond and of other days', async () => {
  await api.database.query(
    `create table attempts_20261121 partition of attempts for values from ('2026-11-21Z') to ('2026-11-22Z')`,
  );
  const [first, second] = [newEvent(), newEvent()];
  await log(first, '2026-11-21T23:59:58Z', 5);
  await api.database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
     select '2026-11-21 12:00:00.000001+00', n, $1, $2, 1, 1 from generate_series(1, 7) n`,
    [second, webhook],
  );
  const seen: string[] = [];
  let page = await read('?limit=3');
  for (;;) {
    expect(page.data.length).toBeLessThanOrEqual(3);
    seen.push(...page.data.map(({ event_id: id, attempt }) => `${id} ${attempt}`));
    expect(page.has_more).toBe(page.next_cursor !== null);
    if (page.next_cursor === null) break;
    page = await read(`?limit=3&after=${page.next_cursor}`);
  }
  const expected = [5, 4, 3, 2, 1].map((n) => `${first} ${n}`);
  expect(seen).toEqual([...expected, ...Array.from({ length: 7 }, () => `${second} 1`)]);
});

test('a page has 20 unless the request says otherwise', async () => {
  await log(newEvent(), '2026-11-20T10:00:00Z', 25);
  expect((await read()).data).toHaveLength(20);
  expect((await read('?limit=100')).data).toHaveLength(25);
});

test('event_id selects the attempts of one event, also across pages', async () => {
  const [wanted, other] = [newEvent(), newEvent()];
  await log(wanted, '2026-11-20T10:00:00Z', 3);
  await log(other, '2026-11-20T10:00:00Z', 3);
  const page = await read(`?event_id=${wanted}&limit=2`);
  expect(page.data.map(({ event_id: id, attempt }) => [id, attempt])).toEqual([
    [wanted, 3],
    [wanted, 2],
  ]);
  const rest = await read(`?event_id=${wanted}&limit=2&after=${page.next_cursor}`);
  expect(rest.data.map(({ attempt }) => attempt)).toEqual([1]);
  expect((await read(`?event_id=${newEvent()}`)).data).toEqual([]);
});

test('shows no attempts of another webhook or account, also with event_id', async () => {
  const eventId = newEvent();
  const second = await newWebhook();
  await log(eventId, '2026-11-20T10:00:00Z', 1, second);
  expect((await read()).data).toEqual([]);
  expect((await read(`?event_id=${eventId}`)).data).toEqual([]);
  const stranger = await api.newCaller();
  const own = await newWebhook(stranger);
  expect((await ask(`?event_id=${eventId}`, own, stranger)).body).toMatchObject({ data: [] });
});

test('a malformed id, a missing webhook, a deleted one and another account’s give the same 404', async () => {
  await log(newEvent(), '2026-11-20T10:00:00Z', 1);
  const stranger = await api.newCaller();
  const deleted = await newWebhook(stranger);
  await request(api.url).delete(`/v1/webhooks/${deleted}`).set('authorization', stranger.authorization);
  const answers = new Set<string>();
  for (const id of [webhook, deleted, newId('webhook', systemClock), 'x', '%00', 'dead-letters']) {
    const response = await ask('', id, stranger);
    expectProblem(response, 'not-found');
    answers.add(wholeAnswer(response));
  }
  expect(answers.size).toBe(1);
});

test('a cursor of any time is valid, from 1970 to the last time that a cursor can hold', async () => {
  await log(newEvent(), '2026-11-20T10:00:00Z', 1);
  const last = { deliveryId: 2n ** 63n - 1n, attempt: 2 ** 15 - 1 };
  const from = (startedUs: bigint) => read(`?after=${writeCursor({ ...last, startedUs })}`);
  expect((await from(0n)).data).toEqual([]);
  expect((await from(8_640_000_000_000_000_000n)).data).toHaveLength(1);
});

test.each([
  ['?limit=0', 'limit "0" is not a whole number from 1 to 100.'],
  ['?limit=101', 'limit "101" is not a whole number from 1 to 100.'],
  ['?limit=', 'limit "" is not a whole number from 1 to 100.'],
  ['?limit=1&limit=2', 'limit ["1","2"] is given more than once.'],
  ['?event_id=x', 'event_id "x" is not the id of an event.'],
  ['?after=x', 'after "x" is not a cursor of this list.'],
])('%s is refused as 422 with the parameter and the value', async (query, detail) => {
  const response = await ask(query);
  expect(expectProblem(response, 'validation-failed')).toBe(detail);
  expect(textOf(response)).not.toContain('"errors"');
});
