import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { createPool, dropMailContents } from '@postrider/store';
import request from 'supertest';
import { expectProblem, errorsOf, textOf, withoutInstance } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const MESSAGE = { from: 'Ada <ada@a.example>', to: 'bob@b.example', subject: 'Hello', text: 'Hi' };

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await api.newCaller()));

function send(body: unknown, by = caller) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return request(api.url)
    .post('/v1/emails')
    .set('authorization', by.authorization)
    .set('content-type', 'application/json')
    .send(text);
}

function get(id: string, by = caller) {
  return request(api.url).get(`/v1/emails/${id}`).set('authorization', by.authorization);
}

async function sent(body: unknown, by = caller): Promise<string> {
  const response = await send(body, by);
  expect({ status: response.status, body: response.text }).toMatchObject({ status: 200 });
  return (response.body as { id: string }).id;
}

async function newTopic({ accountId }: Caller): Promise<string> {
  const id = newId('topic', systemClock);
  await api.database.query(
    `insert into topics (id, account_id, name, default_subscription, created_at) values ($1, $2, 'T', 'opt_in', now())`,
    [id, accountId],
  );
  return id;
}

async function countOf(table: string, column: string, value: string): Promise<number> {
  const rows = await api.database.query(`select 1 from ${table} where ${column} = $1`, [value]);
  return rows.length;
}

describe('POST /v1/emails', () => {
  test('answers 200 with the id, once the message and its place in the outbox are stored', async () => {
    const response = await send(MESSAGE);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ id: expect.stringMatching(/^em_[0-9a-z]{26}$/) });
    const { id } = response.body as { id: string };
    expect(await countOf('emails', 'id', id)).toBe(1);
    expect(await countOf('email_sends', 'email_id', id)).toBe(1);
  });

  test('a message of a test key is stored, never sent, and makes no event', async () => {
    const tester = await api.newCaller({ kind: 'test' });
    const id = await sent(MESSAGE, tester);
    expect(await countOf('emails', 'id', id)).toBe(1);
    expect(await countOf('email_sends', 'email_id', id)).toBe(0);
    expect(await countOf('events', 'account_id', tester.accountId)).toBe(0);
    expect((await get(id, tester)).status).toBe(200);
  });

  test.each([
    ['', ''],
    ['no JSON', 'from=ada'],
    ['half of a document', '{"from":'],
  ])('a body that is not JSON is 422 with a problem document (%s)', async (_, body) => {
    const response = await send(body);
    expect(expectProblem(response, 'validation-failed')).toBe('The body is not valid JSON.');
    expect(errorsOf(response)).toEqual([{ field: '', message: 'is not valid JSON' }]);
  });

  test.each(['null', '[]', '"text"', '42'])('the body %s is no message: 422', async (body) => {
    const response = await send(body);
    expectProblem(response, 'validation-failed');
    expect(errorsOf(response)).toHaveLength(1);
  });

  test('every fault is listed under its path as written', async () => {
    const response = await send({
      from: 'ada',
      to: ['a@a.example', 'b', 'c@c.example'],
      cc: 7,
      text: 'Hi',
      headers: { 'X-A': 'a\nb', Subject: 'x' },
      attachments: [{}],
    });
    expect(expectProblem(response, 'validation-failed')).toMatch(
      /^from is not a valid .* \(and \d more, see errors\)\.$/,
    );
    const fields = errorsOf(response).map(({ field }) => field);
    const missing = ['attachments[0].filename', 'attachments[0].content'];
    expect(new Set(fields)).toEqual(
      new Set(['from', 'to[1]', 'cc', 'subject', 'headers.X-A', 'headers.Subject', ...missing]),
    );
  });

  test.each([
    ['from', { from: 'a\0@a.example' }],
    ['from', { from: '"A\0" <a@a.example>' }],
    ['to[0]', { to: ['a@a.example\0'] }],
    ['reply_to', { reply_to: '\0' }],
    ['subject', { subject: 'a\0b' }],
    ['html', { html: 'a\0b' }],
    ['text', { text: '\0' }],
    ['headers.X-A', { headers: { 'X-A': '\0' } }],
    ['headers.X\0', { headers: { 'X\0': 'a' } }],
  ])('a NUL, which Postgres cannot store, is a fault of %j', async (field, fault) => {
    const response = await send({ ...MESSAGE, ...fault });
    expectProblem(response, 'validation-failed');
    expect(errorsOf(response).map((error) => error.field)).toEqual([field]);
  });

  test.each([
    ['to', { to: 'J\ud800 <bob@b.example>' }],
    ['subject', { subject: 'J\ud800' }],
    ['text', { text: 'J\ud800' }],
    ['headers.X-A', { headers: { 'X-A': 'J\ud800' } }],
  ])('half a surrogate pair in %s is refused, neither stored altered nor a 500', async (field, change) => {
    const response = await send({ ...MESSAGE, ...change });
    expectProblem(response, 'validation-failed');
    expect(errorsOf(response)).toMatchObject([{ field }]);
  });

  test('keeps attachments and tags', async () => {
    const id = await sent({
      ...MESSAGE,
      attachments: [{ filename: 'a.txt', content: 'SGkh', content_type: 'text/plain', content_id: 'a' }],
      tags: [{ name: 'order', value: '17' }],
    });
    expect(await api.database.query('select * from email_attachments where email_id = $1', [id])).toEqual([
      {
        email_id: id,
        position: 0,
        filename: 'a.txt',
        content: Buffer.from('Hi!'),
        content_type: 'text/plain',
        content_id: 'a',
      },
    ]);
    expect((await get(id)).body).toMatchObject({ tags: [{ name: 'order', value: '17' }] });
  });

  test('an attachment may be an array of bytes, with more numbers than a body may have JSON values', async () => {
    const bytes = Buffer.alloc(1_000_000, 'Hi!');
    const file = { filename: 'a.txt', inline_content_id: 'a' };
    const attachments = [
      { ...file, content: [...bytes] },
      { ...file, content: bytes.subarray(0, 6) },
    ];
    const send = async () =>
      request(api.url)
        .post('/v1/emails')
        .set(headers())
        .send({ ...MESSAGE, attachments });
    const headers = () => ({ authorization: caller.authorization, 'idempotency-key': 'bytes' });
    const [first, again] = [await send(), await send()];
    expect(first.status).toBe(200);
    expect(again.body).toEqual(first.body);
    const { id } = first.body as { id: string };
    const stored = await api.database.query<{ content: Buffer; content_id: string }>(
      'select content, content_id from email_attachments where email_id = $1 order by position',
      [id],
    );
    expect(stored.map(({ content }) => content.equals(bytes.subarray(0, content.length)))).toEqual([
      true,
      true,
    ]);
    expect(stored.map(({ content, content_id }) => [content.length, content_id])).toEqual([
      [1_000_000, 'a'],
      [6, 'a'],
    ]);
  });

  test('a topic of the account is kept; another account’s is a fault, listed with all others', async () => {
    const [own, foreign] = [await newTopic(caller), await newTopic(await api.newCaller())];
    const id = await sent({ ...MESSAGE, topic_id: own });
    expect((await get(id)).body).toMatchObject({ topic_id: own });
    const fault = { field: 'topic_id', message: 'is not a topic of this account' };
    for (const topic of [foreign, newId('topic', systemClock), 'x']) {
      const response = await send({ ...MESSAGE, topic_id: topic });
      expectProblem(response, 'validation-failed');
      expect(errorsOf(response)).toEqual([fault]);
    }
    const response = await send({ ...MESSAGE, to: 'x', topic_id: foreign });
    expect(errorsOf(response)).toEqual([{ field: 'to', message: 'is not a valid email address' }, fault]);
  });

  test('dangerous names in a body are only names', async () => {
    const text = JSON.stringify(MESSAGE).replace('{', '{"__proto__":{"html":"x"},"constructor":1,');
    expect((await get(await sent(text))).body).toMatchObject({ html: null });
    expect(({} as Record<string, unknown>)['html']).toBeUndefined();
  });
});

describe('GET /v1/emails/{id}', () => {
  test('answers the message in the shape of Resend’s', async () => {
    const id = await sent({
      ...MESSAGE,
      cc: ['c@c.example'],
      bcc: 'd@d.example',
      reply_to: 'e@e.example',
      html: '<p>Hi ☃</p>',
      headers: { 'X-Ref': '1' },
    });
    const response = await get(id);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      object: 'email',
      id,
      from: MESSAGE.from,
      to: ['bob@b.example'],
      cc: ['c@c.example'],
      bcc: ['d@d.example'],
      reply_to: ['e@e.example'],
      subject: 'Hello',
      html: '<p>Hi ☃</p>',
      text: 'Hi',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      scheduled_at: null,
      message_id: null,
      last_event: 'queued',
      topic_id: null,
      tags: [],
    });
  });

  test('answers the Message-ID of a sent message: the provider’s, else ours', async () => {
    const id = await sent(MESSAGE);
    const told = async () => ((await get(id)).body as { message_id: unknown }).message_id;
    await api.database.query("update emails set status = 'sent' where id = $1", [id]);
    expect(await told()).toBe(`<${id}@a.example>`);
    await api.database.query("update emails set provider_message_id = 'p-1' where id = $1", [id]);
    expect(await told()).toBe('p-1');
  });

  test('after retention has removed the contents html and text are null, and the rest is unchanged', async () => {
    const id = await sent({ ...MESSAGE, html: '<p>Hi</p>' });
    const before = await get(id);
    expect(before.body).toMatchObject({ html: '<p>Hi</p>', text: 'Hi' });
    await api.database.query('delete from email_sends where email_id = $1', [id]);
    await api.database.query(`update emails set created_at = now() - interval '31 days' where id = $1`, [id]);
    const pool = createPool({
      databaseUrl: api.database.url,
      size: 1,
      applicationName: 'retention',
      durableCommits: false,
      onError: () => undefined,
    });
    expect(await dropMailContents(pool, 30)).toBe(1);
    await pool.end();
    const after = await get(id);
    expect(after.status).toBe(200);
    expect(after.body).toEqual({
      ...(before.body as object),
      html: null,
      text: null,
      created_at: expect.any(String),
    });
  });

  test('a malformed id, a missing one and another account’s give the same 404, which names no id', async () => {
    const id = await sent(MESSAGE);
    const stranger = await api.newCaller();
    const ids = [id, newId('email', systemClock), 'x', '%00', 'batch'];
    const responses = await Promise.all(ids.map(async (each) => get(each, stranger)));
    for (const response of responses) expectProblem(response, 'not-found');
    expect(new Set(responses.map(withoutInstance)).size).toBe(1);
    expect(responses.map(textOf).join()).not.toContain(id);
  });
});
