import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, wholeAnswer } from '../../test/expect-problem.ts';
import { setupApi, SHARED_DOMAIN } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { readEventCursor, writeEventCursor } from './events.ts';

interface Answered {
  readonly has_more: boolean;
  readonly next_cursor: string;
  readonly data: readonly {
    readonly id: string;
    readonly type: string;
    readonly subject: string;
    readonly created_at: string;
    readonly data: Readonly<Record<string, unknown>>;
  }[];
}

const api = setupApi();
let caller: Caller;

const newCaller = () =>
  api.newCaller({
    scopes: ['webhooks:manage', 'suppressions:manage', 'emails:send', 'inbound:manage'],
  });
beforeEach(async () => void (caller = await newCaller()));

const ask = (path: string, by = caller) => request(api.url).get(path).set('authorization', by.authorization);

async function read(path: string, by = caller): Promise<Answered> {
  const response = await ask(path, by);
  expect({ status: response.status, text: response.text }).toMatchObject({ status: 200 });
  return response.body as Answered;
}

async function post(path: string, body: object, by = caller): Promise<string> {
  const response = await request(api.url).post(path).set('authorization', by.authorization).send(body);
  expect(response.status).toBeLessThan(300);
  return (response.body as { id: string }).id;
}

const suppress = (email: string, by = caller) => post('/v1/suppressions', { email }, by);
const sendMail = (by = caller) =>
  post('/v1/emails', { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' }, by);

/** An event about a message, as the worker records it. */
async function recordSent(emailId: string, by = caller): Promise<string> {
  const id = newId('event', systemClock);
  const data = { email_id: emailId, from: 'a@a.example', subject: 'Hi', error: null };
  await api.database.query(
    `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.sent', now(), $3)`,
    [id, by.accountId, JSON.stringify(data)],
  );
  return id;
}

const addresses = ({ data }: Answered) => data.map(({ data: { to } }) => to);

describe('GET /v1/events', () => {
  test('shows the envelope that each webhook gets, also when there is no webhook', async () => {
    await suppress('Bob@b.example');
    expect(await read('/v1/events')).toEqual({
      object: 'list',
      has_more: false,
      next_cursor: expect.any(String),
      data: [
        {
          id: expect.stringMatching(/^evt_/),
          type: 'email.unsubscribed',
          subject: caller.accountId,
          created_at: expect.stringMatching(/Z$/),
          data: {
            email_id: null,
            to: 'bob@b.example',
            topic: null,
            scope: 'all',
            source: 'api',
            occurred_at: expect.any(String),
          },
        },
      ],
    });
  });

  test('a customer who polls with `after` gets each event once, in order', async () => {
    let page = await read('/v1/events');
    expect(page.data).toEqual([]);
    const seen: unknown[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await suppress(`${name}@b.example`);
      if (name === 'b' || name === 'e') {
        do {
          page = await read(`/v1/events?limit=2&after=${page.next_cursor}`);
          seen.push(...addresses(page));
        } while (page.has_more);
      }
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@b.example`));
    expect(await read(`/v1/events?after=${page.next_cursor}`)).toEqual({ ...page, data: [] });
  });

  test('a poll goes on although the event that it ended with was erased', async () => {
    await suppress('a@b.example');
    const { next_cursor: after, data } = await read('/v1/events');
    await suppress('b@b.example');
    expect(addresses(await read(`/v1/events?after=${data[0]?.id}`))).toEqual(['b@b.example']);
    await api.database.query('delete from events where id = $1', [data[0]?.id]);
    expect(addresses(await read(`/v1/events?after=${after}`))).toEqual(['b@b.example']);
  });

  test('finds the events of a recipient, of a message, of a type and of a time', async () => {
    await post('/v1/inboxes', { email_address: `in.${caller.accountId.slice(-10)}@${SHARED_DOMAIN}` });
    const inbox = `in.${caller.accountId.slice(-10)}@${SHARED_DOMAIN}`;
    await api.receive({ recipients: [inbox], from: 'eve@e.example', to: [inbox] });
    await suppress('bob@xn--bcher-kva.example');
    const emailId = await sendMail();
    const sent = await recordSent(emailId);
    const ids = async (query: string) => (await read(`/v1/events?${query}`)).data.map(({ type }) => type);
    expect(await ids('')).toEqual(['message.received', 'email.unsubscribed', 'email.sent']);
    expect(await ids(`recipient=${encodeURIComponent('Bob <BOB@bücher.example>')}`)).toEqual([
      'email.unsubscribed',
    ]);
    expect(await ids(`recipient=${inbox.toUpperCase()}`)).toEqual(['message.received']);
    expect(await ids('recipient=nobody@b.example')).toEqual([]);
    expect((await read(`/v1/events?email_id=${emailId}`)).data.map(({ id }) => id)).toEqual([sent]);
    expect(await ids('type=email.unsubscribed')).toEqual(['email.unsubscribed']);
    expect(await ids('until=2001-01-01T00:00:00Z')).toEqual([]);
    expect(await ids('since=2001-01-01T00:00:00Z')).toHaveLength(3);
    expect(await ids('since=2999-01-01T00:00:00Z')).toEqual([]);
  });

  test('shows nothing of another account, and takes no event of it as a cursor', async () => {
    const other = await newCaller();
    await suppress('bob@b.example', other);
    const emailId = await sendMail(other);
    await recordSent(emailId, other);
    const theirs = (await read('/v1/events', other)).data;
    expect(theirs).toHaveLength(2);
    for (const query of ['', '?recipient=bob@b.example', `?email_id=${emailId}`]) {
      expect((await read(`/v1/events${query}`)).data).toEqual([]);
    }
    const missing = newId('event', systemClock);
    const [foreign, unknown] = [
      await ask(`/v1/events?after=${theirs[0]?.id}`),
      await ask(`/v1/events?after=${missing}`),
    ];
    expect(expectProblem(foreign, 'validation-failed')).toContain('not the id of an event of the account');
    expect(wholeAnswer(foreign).replaceAll(theirs[0]?.id ?? '', '')).toBe(
      wholeAnswer(unknown).replaceAll(missing, ''),
    );
  });

  test('refuses a cursor of a history that was lost, and says how to go on', async () => {
    const emailId = await sendMail();
    await recordSent(emailId);
    const { next_cursor: newest } = await read('/v1/events');
    const lost = writeEventCursor((readEventCursor(newest) as bigint) + 1_000n);
    for (const path of ['/v1/events', `/v1/emails/${emailId}/events`]) {
      expect(await read(`${path}?after=${newest}`)).toMatchObject({ data: [], next_cursor: newest });
      const detail = expectProblem(await ask(`${path}?after=${lost}`), 'validation-failed');
      expect(detail).toMatch(/^after is not a cursor of this history.* since /);
    }
  });

  test.each([
    ['recipients=a@b.example', 'the nearest one is recipient'],
    ['emailid=em_1', 'the nearest one is email_id'],
    ['recipient=nobody', 'is not an email address'],
    ['email_id=em_1', 'is not the id of an email'],
    ['type=email.snet', 'is not a known event type'],
    ['since=yesterday', 'is not a time'],
    ['after=evt_1', 'neither a cursor'],
    ['limit=101', 'whole number from 1 to 100'],
    ['limit=1&limit=2', 'given more than once'],
  ])('refuses %s', async (query, words) => {
    expect(expectProblem(await ask(`/v1/events?${query}`), 'validation-failed')).toContain(words);
  });
});

describe('GET /v1/emails/{id}/events', () => {
  test('lists the events of the message, the oldest first', async () => {
    const [emailId, other] = [await sendMail(), await sendMail()];
    const first = await recordSent(emailId);
    await recordSent(other);
    const second = await recordSent(emailId);
    const path = `/v1/emails/${emailId}/events`;
    expect((await read(path)).data.map(({ id }) => id)).toEqual([first, second]);
    expect((await read(`${path}?after=${first}`)).data.map(({ id }) => id)).toEqual([second]);
    expect((await read(`${path}?type=email.opened`)).data).toEqual([]);
    expect(expectProblem(await ask(`${path}?typ=email.sent`), 'validation-failed')).toContain(
      'nearest one is type',
    );
  });

  test('a message of another account reads as a missing one', async () => {
    const theirs = await sendMail(await newCaller());
    const foreign = await ask(`/v1/emails/${theirs}/events`);
    expectProblem(foreign, 'not-found');
    for (const id of [newId('email', systemClock), 'em_1']) {
      expect(wholeAnswer(await ask(`/v1/emails/${id}/events`))).toBe(wholeAnswer(foreign));
    }
  });

  test('needs the scope to manage webhooks: an event holds what the webhook gets', async () => {
    const emailId = await sendMail();
    const reader = await api.newCaller({ accountId: caller.accountId, scopes: ['emails:read'] });
    expectProblem(await ask(`/v1/emails/${emailId}/events`, reader), 'api-key-forbidden');
    expectProblem(await ask('/v1/events', reader), 'api-key-forbidden');
  });
});

test.each([0n, 1n, 2n ** 63n - 1n])('a cursor is read as it was written: %s', (position) => {
  expect(readEventCursor(writeEventCursor(position))).toBe(position);
});

test.each(['', 'x', 'MQ=', 'MDE', Buffer.from(String(2n ** 63n)).toString('base64url')])(
  'no cursor: %s',
  (text) => {
    expect(readEventCursor(text)).toBeNull();
  },
);
