import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, wholeAnswer } from '../../test/expect-problem.ts';
import { setupApi, SHARED_DOMAIN } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly delivery: string;
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  readonly dead_letter: string | null;
}

interface Answered {
  readonly has_more: boolean;
  readonly next_cursor: string;
  readonly data: readonly Entry[];
}

const api = setupApi();
let caller: Caller;
let webhook: string;

const newCaller = () =>
  api.newCaller({ scopes: ['webhooks:manage', 'suppressions:manage', 'emails:send', 'inbound:manage'] });

beforeEach(async () => {
  caller = await newCaller();
  webhook = await newWebhook();
});

const ask = (path: string, by = caller) =>
  request(api.url).get(`/v1/webhooks${path}`).set('authorization', by.authorization);

async function post(path: string, body: object, by = caller): Promise<{ id: string; webhook?: string }> {
  const response = await request(api.url).post(path).set('authorization', by.authorization).send(body);
  expect(response.status).toBeLessThan(300);
  return response.body as { id: string };
}

const newWebhook = async (events: readonly string[] = [], by = caller) =>
  (await post('/v1/webhooks', { endpoint: 'https://hooks.example.com', events }, by)).id;

/** Makes an event `email.unsubscribed`, with a delivery for each webhook. @returns its id */
async function suppress(email: string, by = caller): Promise<string> {
  await post('/v1/suppressions', { email }, by);
  const [event] = await api.database.query<{ id: string }>(
    'select id from events where account_id = $1 order by position desc limit 1',
    [by.accountId],
  );
  return event?.id ?? '';
}

async function list(query = '', id = webhook, by = caller): Promise<Answered> {
  const response = await ask(`/${id}/events${query}`, by);
  expect({ status: response.status, text: response.text }).toMatchObject({ status: 200 });
  return response.body as Answered;
}

const ids = ({ data }: Answered) => data.map(({ id }) => id);

/** Ends the delivery of an event, with one logged attempt, unless the status is null. */
async function end(eventId: string, status: number | null, webhookId = webhook): Promise<void> {
  await api.database.query('delete from deliveries where event_id = $1 and webhook_id = $2', [
    eventId,
    webhookId,
  ]);
  if (status === null) return;
  await api.database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
     values (now(), 1, $1, $2, 1, 12, $3::int, case when $3::int >= 300 then 'HTTP ' || $3 end, 'ok', 'email.unsubscribed')`,
    [eventId, webhookId, status],
  );
}

async function bury(eventId: string, webhookId = webhook, by = caller): Promise<string> {
  const letter = await api.newDeadLetter(by.accountId, webhookId);
  await api.database.query(
    `update dead_letters l set event_id = e.id, type = e.type, data = e.data, event_created_at = e.created_at
     from events e where l.id = $1 and e.id = $2`,
    [letter, eventId],
  );
  return letter;
}

describe('what became of an event', () => {
  async function fate(eventId: string): Promise<Omit<Entry, 'id' | 'type'>> {
    const response = await ask(`/${webhook}/events/${eventId}`);
    const { object, id, type, created_at, payload, ...rest } = response.body as Entry &
      Record<string, unknown>;
    expect({ object, id, type, created_at, payload }).toEqual({
      object: 'webhook_event',
      id: eventId,
      type: 'email.unsubscribed',
      created_at: expect.any(String),
      payload: {
        id: eventId,
        type: 'email.unsubscribed',
        subject: caller.accountId,
        created_at,
        data: expect.objectContaining({ to: 'bob@b.example' }),
      },
    });
    const [listed] = (await list()).data;
    if (listed !== undefined) expect(listed).toEqual({ id, type, created_at, ...rest });
    return rest;
  }

  const NONE = { next_attempt_at: null, dead_letter: null };

  test('never attempted: it is pending, and due', async () => {
    const id = await suppress('bob@b.example');
    expect(await fate(id)).toEqual({
      status: 'pending',
      delivery: 'queued',
      attempts: 0,
      next_attempt_at: expect.stringMatching(/Z$/),
      dead_letter: null,
    });
  });

  test('attempted now, pending when its lease is over, and to be attempted again', async () => {
    const id = await suppress('bob@b.example');
    const taken = `taken_at = now(), leased_until = now() + interval '1 minute'`;
    await api.database.query(`update deliveries set ${taken} where event_id = $1`, [id]);
    expect(await fate(id)).toEqual({ status: 'attempting', delivery: 'queued', attempts: 0, ...NONE });
    await api.database.query(`update deliveries set leased_until = now() where event_id = $1`, [id]);
    expect(await fate(id)).toMatchObject({ status: 'pending', next_attempt_at: expect.stringMatching(/Z$/) });
    const due = '2999-01-01T00:00:00.000Z';
    await api.database.query(
      `update deliveries set taken_at = null, leased_until = null, attempts = 3, due_at = $2 where event_id = $1`,
      [id, due],
    );
    expect(await fate(id)).toEqual({
      ...{ status: 'attempting', delivery: 'queued', attempts: 3 },
      ...{ next_attempt_at: due, dead_letter: null },
    });
  });

  test('delivered, given up and dropped', async () => {
    const id = await suppress('bob@b.example');
    await end(id, 503);
    expect(await fate(id)).toEqual({ status: 'failed', delivery: 'dropped', attempts: 1, ...NONE });
    const letter = await bury(id);
    expect(await fate(id)).toEqual({
      ...{ status: 'failed', delivery: 'dead_letter', attempts: 8 },
      ...{ next_attempt_at: null, dead_letter: letter },
    });
    await api.database.query('delete from dead_letters where id = $1', [letter]);
    await end(id, 204);
    expect(await fate(id)).toEqual({ status: 'success', delivery: 'delivered', attempts: 2, ...NONE });
  });

  test('at one webhook, whatever became of it at another', async () => {
    const other = await newWebhook();
    const id = await suppress('bob@b.example');
    await end(id, 204);
    const delivered = { status: 'success', delivery: 'delivered', attempts: 1, ...NONE };
    expect(await fate(id)).toEqual(delivered);
    await end(id, 503, other);
    expect(await fate(id)).toEqual(delivered);
    const letter = await bury(id, other);
    expect(await fate(id)).toEqual(delivered);
    const there = await ask(`/${other}/events/${id}`);
    expect(there.body).toMatchObject({ delivery: 'dead_letter', dead_letter: letter });
  });

  test('that only a dead letter has left: its webhook shows it, and no other account finds it', async () => {
    const other = await newCaller();
    const theirs = await newWebhook([], other);
    const id = await suppress('bob@b.example', other);
    await end(id, 503, theirs);
    await bury(id, theirs, other);
    await api.database.query('delete from events where id = $1', [id]);
    expect((await ask(`/${theirs}/events/${id}`, other)).body).toMatchObject({ id, delivery: 'dead_letter' });
    expectProblem(await ask(`/${webhook}/events/${id}`), 'not-found');
  });

  test('a delivery that was dropped unattempted differs from one whose attempts are no longer logged', async () => {
    const id = await suppress('bob@b.example');
    await end(id, null);
    expect(await fate(id)).toEqual({ status: 'failed', delivery: 'dropped', attempts: 0, ...NONE });
    await api.database.query(
      `create table attempts_20990101 partition of attempts for values from ('2099-01-01') to ('2099-01-02')`,
    );
    try {
      expect(await fate(id)).toEqual({ status: 'success', delivery: 'unknown', attempts: 0, ...NONE });
    } finally {
      await api.database.query('drop table attempts_20990101');
    }
  });

  test('retention has dropped the event: a dead letter has its payload', async () => {
    const id = await suppress('bob@b.example');
    await end(id, 503);
    await bury(id);
    await api.database.query('delete from events where id = $1', [id]);
    expect(await fate(id)).toMatchObject({ status: 'failed', delivery: 'dead_letter' });
    expect(await list()).toMatchObject({ data: [] });
  });
});

describe('the list', () => {
  test('has the webhook’s own types, since it was made, the newest first, in pages', async () => {
    const first = await suppress('a@b.example');
    const later = await newWebhook(['email.unsubscribed']);
    const other = await newWebhook(['email.sent']);
    const second = await suppress('b@b.example');
    const third = await suppress('c@b.example');
    expect(ids(await list())).toEqual([third, second, first]);
    expect(ids(await list('', later))).toEqual([third, second]);
    expect(ids(await list('', other))).toEqual([]);
    const page = await list('?limit=2');
    expect(page).toMatchObject({ has_more: true, data: [{ id: third }, { id: second }] });
    expect(await list(`?limit=2&after=${page.next_cursor}`)).toMatchObject({
      has_more: false,
      data: [{ id: first }],
    });
    expect(ids(await list(`?after=${second}`))).toEqual([first]);
    expect(ids(await list('?recipient=B@b.example'))).toEqual([second]);
    expect(ids(await list('?type=email.sent'))).toEqual([]);
    expect(ids(await list('?until=2001-01-01T00:00:00Z'))).toEqual([]);
  });

  test('is narrowed by status, over as many requests as it takes', async () => {
    const wanted: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      const id = await suppress(`${name}@b.example`);
      if (name === 'b' || name === 'd') wanted.unshift(id);
      else await end(id, 204);
    }
    expect(ids(await list('?status=pending'))).toEqual(wanted);
    await api.database.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_01jd' || lpad(n::text, 22, '0'), $1, 'email.unsubscribed', now(), '{}' from generate_series(1, 1200) n`,
      [caller.accountId],
    );
    const found: string[] = [];
    let [requests, page] = [0, await list('?status=pending')];
    for (; page.has_more; requests += 1) {
      found.push(...ids(page));
      page = await list(`?status=pending&after=${page.next_cursor}`);
    }
    expect([...found, ...ids(page)]).toEqual(wanted);
    expect(requests).toBe(2);
  });

  test('of an inbound rule’s webhook has the messages of that rule, under its subject', async () => {
    const address = (name: string) => `${name}.${caller.accountId.slice(-10)}@${SHARED_DOMAIN}`;
    const rules = [];
    for (const name of ['a', 'b']) {
      rules.push(
        await post('/v1/inbound/routes', { match: address(name), endpoint: 'https://rule.example/' }),
      );
    }
    for (const name of ['a', 'b']) {
      const to = [address(name)];
      await api.receive({ recipients: to, from: 'eve@e.example', to, text: `"rule_id":"${rules[1]?.id}"` });
    }
    const [rule] = rules;
    const page = await list('', rule?.webhook);
    expect(page.data).toHaveLength(1);
    const whole = await ask(`/${rule?.webhook}/events/${page.data[0]?.id}`);
    expect(whole.body).toMatchObject({
      payload: { subject: `${caller.accountId}/inbound/${rule?.id}`, data: { received_for: [address('a')] } },
    });
    expect((await list()).data).toHaveLength(2);
  });

  test.each([
    ['statuses=failed', 'the nearest one is status'],
    ['status=done', 'is not one of pending, attempting, success, failed'],
    ['after=evt_1', 'neither a cursor'],
    ['limit=0', 'whole number'],
  ])('refuses %s', async (query, words) => {
    expect(expectProblem(await ask(`/${webhook}/events?${query}`), 'validation-failed')).toContain(words);
  });
});

describe('the attempts of an event', () => {
  test('are answered in the shape of Resend’s SDK, the newest first, in pages', async () => {
    const id = await suppress('bob@b.example');
    const row = `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer)`;
    await api.database.query(
      `${row} values (now() - interval '2 s', 1, $1, $2, 1, 10000, null, 'timeout after 10000 ms', null),
                     (now(), 1, $1, $2, 2, 12, 503, 'HTTP 503', 'busy'), (now(), 1, $1, 'wh_other', 1, 1, 200, null, null)`,
      [id, webhook],
    );
    const answered = {
      http_status_code: 503,
      response: 'busy',
      attempt: 2,
      duration_ms: 12,
      error: 'HTTP 503',
    };
    const silent = {
      ...{ http_status_code: null, response: '', attempt: 1 },
      ...{ duration_ms: 10_000, error: 'timeout after 10000 ms' },
    };
    const known = { id: expect.any(String), sent_at: expect.stringMatching(/Z$/) };
    const path = `/${webhook}/events/${id}/attempts`;
    const whole = await ask(path);
    expect(whole.body).toEqual({
      object: 'list',
      has_more: false,
      data: [
        { ...known, ...answered },
        { ...known, ...silent },
      ],
    });
    const first = (await ask(`${path}?limit=1`)).body as Answered;
    expect(first).toMatchObject({ has_more: true, data: [answered] });
    expect((await ask(`${path}?limit=1&after=${first.data[0]?.id}`)).body).toMatchObject({
      has_more: false,
      data: [silent],
    });
    expect(expectProblem(await ask(`${path}?aftr=x`), 'validation-failed')).toContain('nearest one is after');
  });
});

describe('a replay', () => {
  const replay = (id: string) =>
    request(api.url)
      .post(`/v1/webhooks/${webhook}/events/${id}/replay`)
      .set('authorization', caller.authorization);

  /** Replays an event. @returns its deliveries and the number of its dead letters */
  async function replayed(id: string): Promise<[deliveries: object[], deadLetters: number]> {
    const answer = await replay(id);
    expect([answer.status, answer.body]).toEqual([200, { object: 'webhook_event', id }]);
    const ofEvent = 'where event_id = $1';
    const deliveries = await api.database.query(
      `select webhook_id, attempts from deliveries ${ofEvent} order by webhook_id`,
      [id],
    );
    return [deliveries, (await api.database.query(`select from dead_letters ${ofEvent}`, [id])).length];
  }

  test('queues an event that was delivered or dropped, for this webhook alone', async () => {
    const other = await newWebhook();
    for (const status of [204, 503]) {
      const id = await suppress(`to-${status}@b.example`);
      await end(id, status);
      await end(id, 204, other);
      expect(await replayed(id)).toEqual([[{ webhook_id: webhook, attempts: 0 }], 0]);
    }
  });

  test('takes the dead letter of this webhook with it, and no other', async () => {
    const other = await newWebhook();
    const id = await suppress('bob@b.example');
    await end(id, 503);
    await end(id, 503, other);
    await bury(id);
    await bury(id, other);
    expect(await replayed(id)).toEqual([[{ webhook_id: webhook, attempts: 0 }], 1]);
  });

  test('leaves an outstanding delivery as it is', async () => {
    const id = await suppress('bob@b.example');
    await api.database.query('update deliveries set attempts = 3 where event_id = $1', [id]);
    expect(await replayed(id)).toEqual([[{ webhook_id: webhook, attempts: 3 }], 0]);
  });
});

test.each(['', '/attempts'])(
  'an event of another account or another webhook reads as a missing one: %s',
  async (rest) => {
    const theirs = await newCaller();
    const foreignWebhook = await newWebhook([], theirs);
    const foreign = await suppress('bob@b.example', theirs);
    const deaf = await newWebhook(['email.sent']);
    const own = await suppress('bob@b.example');
    const late = await newWebhook();
    const missing = await ask(`/${webhook}/events/${newId('event', systemClock)}${rest}`);
    expectProblem(missing, 'not-found');
    for (const path of [
      `/${webhook}/events/${foreign}`,
      `/${foreignWebhook}/events/${foreign}`,
      `/${foreignWebhook}/events/${own}`,
      `/${deaf}/events/${own}`,
      `/${late}/events/${own}`,
      `/${webhook}/events/evt_1`,
      `/wh_1/events/${own}`,
    ]) {
      expect(wholeAnswer(await ask(`${path}${rest}`))).toBe(wholeAnswer(missing));
    }
    expectProblem(await ask(`/${foreignWebhook}/events`), 'not-found');
  },
);
