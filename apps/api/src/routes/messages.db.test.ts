import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import type { MessageId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { createRows } from '@postrider/testing';
import type { MessageWish } from '@postrider/testing';
import request from 'supertest';
import { expectProblem, wholeAnswer, withoutInstance } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi, startApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const SEVEN_DAYS_MS = 7 * 24 * 60 * 60 * 1000;

const api = setupApi();
let manager: Caller;
/** Another key of the same account. */
let reader: Caller;

beforeEach(async () => {
  await api.database.query('delete from messages');
  await api.database.query('delete from inboxes');
  await api.database.query('delete from events');
  manager = await api.newCaller({ scopes: ['inbound:manage'] });
  reader = await api.newCaller({ accountId: manager.accountId, scopes: ['inbound:read'] });
});

function ask(path: string, by = manager, method: 'get' | 'post' = 'get') {
  return request(api.url)[method](`/v1/inbound/messages${path}`).set('authorization', by.authorization);
}

const message = (wish: MessageWish = {}): Promise<MessageId> =>
  api.rows.message({ accountId: manager.accountId, ...wish });

async function inbox(): Promise<string> {
  const response = await request(api.url)
    .post('/v1/inboxes')
    .set('authorization', manager.authorization)
    .send({ email_address: `a@${SHARED_DOMAIN}` });
  return (response.body as { id: string }).id;
}

async function idsOf(query: string, by = manager): Promise<string[]> {
  const response = await ask(query, by);
  expect(response.status).toBe(200);
  return (response.body as { data: { id: string }[] }).data.map(({ id }) => id);
}

const record = (id: MessageId, more: object = {}) => ({
  object: 'message',
  id,
  status: 'received',
  inbox_id: null,
  thread_id: null,
  rule_id: null,
  message_id: `<${id}@mail.example>`,
  in_reply_to: null,
  from: 'Ann <ann@shop.example>',
  to: ['a@in.example'],
  cc: [],
  reply_to: [],
  received_for: ['a@in.example'],
  subject: 'Hi',
  text: 'Hello',
  text_truncated: false,
  received_at: TIME,
  size: 1_000,
  attachments: [],
  auth: { spf: 'pass', dkim: 'none', dmarc: 'none' },
  automatic: false,
  complete: true,
  held_reason: null,
  ...more,
});

describe('GET /v1/inbound/messages', () => {
  test('lists the records of all messages that are not held, newest first', async () => {
    const first = await message();
    await message({ held: true });
    const last = await message({ text: 'x'.repeat(20_000), attachments: [{ filename: null }] });
    const response = await ask('', reader);
    const attachment = { id: expect.stringMatching(/^att_/), filename: null, content_type: 'text/plain' };
    expect(response.body).toEqual({
      object: 'list',
      has_more: false,
      data: [
        record(last, {
          text: 'x'.repeat(16 * 1024),
          text_truncated: true,
          attachments: [{ ...attachment, content_id: null, size: 3 }],
        }),
        record(first),
      ],
    });
  });

  test('filters by status and by inbox, and pages', async () => {
    const inboxId = await inbox();
    const first = await message({ inboxId });
    const second = await message();
    const held = await message({ inboxId, held: true });
    expect(await idsOf('?status=held')).toEqual([held]);
    expect(await idsOf('?status=received')).toEqual([second, first]);
    expect(await idsOf('?status=released')).toEqual([]);
    expect(await idsOf(`?inbox_id=${inboxId}`)).toEqual([first]);
    expect(await idsOf(`?inbox_id=${inboxId}&status=held`)).toEqual([held]);
    expect(await idsOf(`?inbox_id=${newId('inbox', systemClock)}`)).toEqual([]);
    expect(await idsOf('?limit=1')).toEqual([second]);
    expect(await idsOf(`?limit=1&after=${second}`)).toEqual([first]);
    expect(await idsOf(`?before=${first}`)).toEqual([second]);
  });

  test.each([
    ['?status=spam', 'status "spam" is no status of a message.'],
    ['?status=', 'status "" is no status of a message.'],
    ['?status=held&status=held', 'status ["held","held"] is given more than once.'],
    ['?inbox_id=a%40a.example', 'inbox_id "a@a.example" is not the id of an inbox.'],
    ['?limit=0', 'limit "0" is not a whole number from 1 to 100.'],
    ['?after=msg_1', 'after "msg_1" is not the id of an entry of this list.'],
  ])('refuses %s', async (query, detail) => {
    expect(expectProblem(await ask(query), 'validation-failed')).toBe(detail);
  });

  test('refuses a cursor of another account and an unknown one', async () => {
    const foreign = await message({ accountId: (await api.newCaller()).accountId });
    const answers = [];
    for (const id of [foreign, newId('message', systemClock)]) {
      const response = await ask(`?after=${id}`);
      expectProblem(response, 'validation-failed');
      answers.push(withoutInstance(response).replaceAll(id, ''));
    }
    expect(new Set(answers).size).toBe(1);
  });
});

describe('GET /v1/inbound/messages/{id}', () => {
  test('answers more than an event has: text and lists beyond the limits of an event, html and headers', async () => {
    const files = Array.from({ length: 101 }, () => ({ filename: 'x'.repeat(1_000) }));
    const id = await message({ text: 'é'.repeat(20_000), html: '<p>', attachments: files });
    const response = await ask(`/${id}`, reader);
    const { attachments, ...rest } = response.body as { attachments: { filename: string }[] };
    expect({ status: response.status, rest: { ...rest, attachments: [] } }).toEqual({
      status: 200,
      rest: {
        ...record(id, { text: 'é'.repeat(20_000) }),
        html: '<p>',
        html_truncated: false,
        headers: [{ name: 'Subject', value: 'Hi' }],
        released_at: null,
      },
    });
    expect(attachments.map(({ filename }) => filename.length)).toEqual(Array<number>(101).fill(1_000));
  });

  test('answers the first 1 MiB of text and of HTML', async () => {
    const id = await message({ text: `a${'😀'.repeat(300_000)}`, html: '\u0001'.repeat(2_000_000) });
    expect((await ask(`/${id}`)).body).toMatchObject({
      text: `a${'😀'.repeat(262_143)}`,
      text_truncated: true,
      html: '\u0001'.repeat(1024 * 1024),
      html_truncated: true,
    });
  });

  test('answers when a message was released and why it was held', async () => {
    const id = await message({ held: true });
    expect((await ask(`/${id}`)).body).toMatchObject({ status: 'held', released_at: null });
    await ask(`/${id}/release`, manager, 'post');
    expect((await ask(`/${id}`, reader)).body).toMatchObject({
      status: 'released',
      held_reason: 'spam',
      released_at: TIME,
    });
  });
});

const LINK = {
  download_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/links\/[\w-]{100,200}$/),
  expires_at: TIME,
};

describe('a message’s links', () => {
  test('lead to its original bytes and to each of its attachments', async () => {
    const id = await message({
      attachments: [{ filename: 'é.txt' }, { contentType: 'a/b', filename: null }],
    });
    expect((await ask(`/${id}/raw`, reader)).body).toEqual(LINK);
    const list = (await ask(`/${id}/attachments`, reader)).body as { data: { id: string }[] };
    const file = { id: expect.stringMatching(/^att_/), content_id: null, size: 3, ...LINK };
    expect(list).toEqual({
      object: 'list',
      has_more: false,
      data: [
        { ...file, filename: 'é.txt', content_type: 'text/plain' },
        { ...file, filename: null, content_type: 'a/b' },
      ],
    });
    const [first, second] = list.data;
    const one = await ask(`/${id}/attachments/${second?.id}`, reader);
    expect(one.body).toEqual({ object: 'attachment', ...second, ...LINK });
    expect(second?.id).not.toBe(first?.id);
  });

  test('are valid for seven days', async () => {
    const id = await message();
    const from = Date.now();
    const { expires_at: end } = (await ask(`/${id}/raw`)).body as { expires_at: string };
    expect(Date.parse(end) - SEVEN_DAYS_MS).toBeGreaterThanOrEqual(from);
    expect(Date.parse(end) - SEVEN_DAYS_MS).toBeLessThanOrEqual(Date.now());
  });

  test('have the origin of the request, unless the deployment sets a public URL', async () => {
    const id = await message();
    const urlOf = async (host: string) => {
      const response = await ask(`/${id}/raw`).set('host', host);
      return (response.body as { download_url: string }).download_url.replace(/links\/.*/, '');
    };
    expect(await urlOf('mail.example:8080')).toBe('http://mail.example:8080/');
    expect(await urlOf('evil.example/x?')).toBe(`${api.url}/`);
    const other = await startApi({ publicUrl: 'https://public.example/base' });
    const caller = await other.newCaller({ scopes: SCOPES });
    const theirs = await createRows(other.database).message({ accountId: caller.accountId });
    const response = await request(other.url)
      .get(`/v1/inbound/messages/${theirs}/raw`)
      .set('authorization', caller.authorization);
    expect((response.body as { download_url: string }).download_url).toMatch(
      /^https:\/\/public\.example\/base\/links\/[\w-]+$/,
    );
    await other.stop();
  });

  test('an attachment of another message gives the same bytes as one that does not exist', async () => {
    const mine = await message({ attachments: [{}] });
    const other = await message({ attachments: [{}] });
    const list = await ask(`/${other}/attachments`);
    const theirs = (list.body as { data: { id: string }[] }).data[0]?.id ?? '';
    const odd = [
      newId('attachment', systemClock),
      mine,
      '0',
      '__proto__',
      'length',
      '%00',
      '%F0%9F%93%AC',
      '*',
    ];
    const answers = new Set<string>();
    for (const attachment of [theirs, ...odd]) {
      const response = await ask(`/${mine}/attachments/${attachment}`);
      expect(expectProblem(response, 'not-found')).toBe('There is no such attachment.');
      answers.add(wholeAnswer(response));
    }
    expect(answers.size).toBe(1);
  });
});

describe('POST /v1/inbound/messages/{id}/release', () => {
  test('answers 200 once, then 409', async () => {
    const id = await message({ held: true });
    const released = await ask(`/${id}/release`, manager, 'post');
    expect({ status: released.status, body: released.body as unknown }).toEqual({
      status: 200,
      body: { object: 'message', id, status: 'released' },
    });
    expectProblem(await ask(`/${id}/release`, manager, 'post'), 'not-held');
    expectProblem(await ask(`/${await message()}/release`, manager, 'post'), 'not-held');
    const events = await api.database.query<{ type: string; data: string }>('select type, data from events');
    expect(events).toMatchObject([{ type: 'message.received', data: expect.stringContaining(id) }]);
    expect((await idsOf('', reader)).at(-1)).toBe(id);
  });

  test('a field in the body is refused, and the message stays held', async () => {
    const id = await message({ held: true });
    const release = (body: object) =>
      request(api.url)
        .post(`/v1/inbound/messages/${id}/release`)
        .set('authorization', manager.authorization)
        .send(body);
    expect(expectProblem(await release({ rule_id: 'rt_1' }), 'validation-failed')).toBe(
      '"rule_id" is not a field of this route.',
    );
    expect((await release({})).status).toBe(200);
  });

  test('two requests at once get 200 and 409', async () => {
    const id = await message({ held: true, inboxId: await inbox() });
    const both = await Promise.all([0, 1].map(async () => ask(`/${id}/release`, manager, 'post')));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

/** Routes of one message. */
const PATHS = ['', '/body?part=text', '/raw', '/attachments', '/attachments/att_01jd0000000000000000000001'];

describe('held mail', () => {
  test.each(PATHS)('read by its id%s needs inbound:manage', async (path) => {
    const id = await message({ held: true, attachments: [{}] });
    expectProblem(await ask(`/${id}${path}`, reader), 'held-needs-manage');
    expect([200, 404]).toContain((await ask(`/${id}${path}`, manager)).status);
    const stranger = await api.newCaller({ scopes: ['inbound:read'] });
    expectProblem(await ask(`/${id}${path}`, stranger), 'not-found');
  });

  test('needs inbound:manage to be listed; other mail needs inbound:read', async () => {
    expectProblem(await ask('?status=held', reader), 'held-needs-manage');
    const both = { accountId: manager.accountId, scopes: ['inbound:read', 'inbound:manage'] as const };
    expect(await idsOf('?status=held', await api.newCaller(both))).toEqual([]);
  });

  test('is forbidden to a key without either scope, as all received mail is', async () => {
    const id = await message({ held: true });
    const sender = await api.newCaller({
      accountId: manager.accountId,
      scopes: ['inbound:send', 'emails:read'],
    });
    for (const path of ['', '?status=held', ...PATHS.map((rest) => `/${id}${rest}`)]) {
      expectProblem(await ask(path, sender), 'api-key-forbidden');
    }
    for (const by of [sender, reader]) {
      expectProblem(await ask(`/${id}/release`, by, 'post'), 'api-key-forbidden');
    }
  });
});

test('a key of the other kind gets the same bytes as for a message that does not exist', async () => {
  const testing = await api.newCaller({ accountId: manager.accountId, kind: 'test', scopes: SCOPES });
  const live = await message({ held: true });
  const own = await message({ kind: 'test', held: true });
  const nowhere = newId('message', systemClock);
  for (const [id, by] of [
    [live, testing],
    [own, manager],
  ] as const) {
    for (const path of PATHS) {
      expect(wholeAnswer(await ask(`/${id}${path}`, by))).toBe(
        wholeAnswer(await ask(`/${nowhere}${path}`, by)),
      );
    }
    expectProblem(await ask(`/${id}/release`, by, 'post'), 'not-found');
  }
  expect(await idsOf('?status=held', testing)).toEqual([own]);
  expect((await ask(`/${own}/release`, testing, 'post')).status).toBe(200);
  expect(await api.database.query('select from events')).toEqual([]);
});
