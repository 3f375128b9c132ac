import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import type { KeyKind } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { IncomingMessage } from '@postrider/store';
import request from 'supertest';
import { expectPlainText, expectProblem, withoutInstance } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { storedEmail } from '../../test/stored-email.ts';

const ADDRESS = `agent@${SHARED_DOMAIN}`;
const ANN = 'Ann <ann@shop.example>';

const api = setupApi();
let caller: Caller;

beforeEach(async () => {
  for (const table of ['inboxes', 'inbox_sends', 'emails', 'events'])
    await api.database.query(`delete from ${table}`);
  caller = await api.newCaller({ scopes: SCOPES });
});

const ask = (method: 'get' | 'post' | 'patch', path: string, body?: object, by = caller) => {
  const asked = request(api.url)[method](`/v1/inboxes/${path}`).set('authorization', by.authorization);
  return body === undefined ? asked : asked.send(body);
};

async function inbox(by = caller, more: object = {}): Promise<string> {
  const response = await request(api.url)
    .post('/v1/inboxes')
    .set('authorization', by.authorization)
    .send({ email_address: ADDRESS, from_name: 'The "Agent"', ...more });
  expect(response.status).toBe(201);
  return (response.body as { id: string }).id;
}

/** @returns its id. */
const received = async (more: Partial<IncomingMessage> = {}): Promise<string> =>
  api.receive({ recipients: [ADDRESS], from: ANN, to: [ADDRESS], ...more });

interface ListOf<Entry> {
  readonly has_more: boolean;
  readonly data: readonly Entry[];
}

const threadsOf = async (id: string, query = '') =>
  (await ask('get', `${id}/threads${query}`)).body as ListOf<{
    id: string;
    read: boolean;
    email_count: number;
  }>;

async function onlyThread(id: string): Promise<string> {
  const { data } = await threadsOf(id);
  expect(data).toHaveLength(1);
  return data[0]?.id ?? '';
}

const emailOf = (id: string) => storedEmail(api.database, id);

describe('a mail thread', () => {
  test('is listed by its newest message, with its contents', async () => {
    const id = await inbox();
    await received({
      messageId: '1@x',
      subject: 'First',
      attachments: [{ filename: 'a', contentType: 'a/b', contentId: null, size: 1, blob: 'c'.repeat(64) }],
    });
    await received({ subject: 'Second' });
    await received({ inReplyTo: '1@x', from: 'bob@b.example', cc: ['c@c.example'] });
    const { data, has_more: more } = await threadsOf(ADDRESS.replace('@', '%40'));
    expect({ data, more }).toMatchObject({
      more: false,
      data: [
        {
          subject: 'First',
          from: 'bob@b.example',
          to: [ADDRESS],
          cc: ['c@c.example'],
          bcc: [],
          labels: [],
          email_count: 2,
          has_attachment: true,
          has_draft: false,
          read: false,
          folder: 'inbox',
        },
        { subject: 'Second', from: ANN, email_count: 1, has_attachment: false },
      ],
    });
    const [first, second] = data;
    const page = await threadsOf(id, '?limit=1');
    expect(page).toMatchObject({ has_more: true, data: [{ id: first?.id }] });
    const after = await threadsOf(id, `?after=${first?.id ?? ''}`);
    expect(after.data.map((each) => each.id)).toEqual([second?.id]);
    const before = await threadsOf(id, `?before=${second?.id ?? ''}`);
    expect(before.data.map((each) => each.id)).toEqual([first?.id]);
    const wrong = ['limit=0', 'read=yes', 'read=true&read=false', 'after=x'];
    for (const query of [`after=${newId('thread', systemClock)}`, ...wrong]) {
      expectProblem(await ask('get', `${id}/threads?${query}`), 'validation-failed');
    }
  });

  test('is unread until it is marked, and again with the next message', async () => {
    const id = await inbox();
    await received({ messageId: '1@x' });
    const thread = await onlyThread(id);
    const unread = async () => ((await ask('get', id)).body as { unread: number }).unread;
    expect(await unread()).toBe(1);
    const marked = await ask('patch', `${id}/threads/${thread}`, { read: true });
    expect(marked.body).toEqual({
      object: 'inbox_thread',
      id: thread,
      subject: 'Order',
      folder: 'inbox',
      labels: [],
      read: true,
    });
    expect(await unread()).toBe(0);
    expect((await ask('get', `${id}/threads/${thread}`)).body).toEqual(marked.body);
    expect((await threadsOf(id, '?read=false')).data).toEqual([]);
    await received({ inReplyTo: '1@x' });
    expect((await threadsOf(id, '?read=false')).data).toHaveLength(1);
    const moved = await ask('patch', `${id}/threads/${thread}`, { read: true, folder: 'archive' });
    expect(expectProblem(moved, 'validation-failed')).toBe('folder "archive" cannot be changed.');
    expectPlainText(await ask('patch', `${id}/threads/${thread}`, { folder: 'archive' }), 422);
    expectProblem(await ask('patch', `${id}/threads/${thread}`, { read: 'yes' }), 'validation-failed');
  });

  test('lists what it received and sent, newest first, in pages that end early at 8 MiB', async () => {
    const id = await inbox();
    const mib = 'x'.repeat(1024 * 1024);
    const ids = [await received({ messageId: '1@x', text: mib + mib, html: `${mib}x` })];
    for (let n = 2; n <= 5; n += 1) ids.unshift(await received({ inReplyTo: '1@x', text: mib, html: mib }));
    const thread = await onlyThread(id);
    const reply = (await ask('post', `${id}/threads/${thread}/emails/${ids[0]}/reply`, { text: 'Yes' }))
      .body as { id: string };
    const page = async (query: string) => {
      const answer = await ask('get', `${id}/threads/${thread}/emails${query}`);
      return answer.body as ListOf<{ id: string }>;
    };
    const first = await page('');
    expect({ more: first.has_more, ids: first.data.map((each) => each.id) }).toEqual({
      more: true,
      ids: [reply.id, ...ids.slice(0, 3)],
    });
    const rest = await page(`?after=${ids[2]}`);
    const cut = { text: mib, text_truncated: true, html: mib, html_truncated: true };
    const whole = { text: mib, text_truncated: false, html: mib, html_truncated: false };
    expect({ more: rest.has_more, data: rest.data }).toMatchObject({
      more: false,
      data: [
        { id: ids[3], ...whole },
        { id: ids[4], ...cut },
      ],
    });
    expectProblem(
      await ask('get', `${id}/threads/${thread}/emails?after=${newId('email', systemClock)}`),
      'validation-failed',
    );
  });
});

test('a message of a thread says whether it was read whole; a sent one was', async () => {
  const id = await inbox();
  const first = await received({ messageId: '1@x' });
  const path = `${id}/threads/${await onlyThread(id)}/emails`;
  const reply = (await ask('post', `${path}/${first}/reply`, { text: 'Yes' })).body as { id: string };
  await api.database.query('update messages set complete = false where id = $1', [first]);
  const page = await ask('get', path);
  expect((page.body as ListOf<object>).data).toMatchObject([
    { id: reply.id, complete: true },
    { id: first, complete: false },
  ]);
  expect((await ask('get', `${path}/${first}`)).body).toMatchObject({ complete: false });
});

describe('a reply', () => {
  test('goes to the sender, in the mail thread, with all references', async () => {
    const id = await inbox();
    const first = await received({
      messageId: '2@x',
      references: ['0@x', '1@x'],
      replyTo: ['Desk <desk@shop.example>'],
    });
    const thread = await onlyThread(id);
    const response = await ask('post', `${id}/threads/${thread}/emails/${first}/reply`, {
      html: '<p>Soon</p>',
      cc: 'boss@in.example',
    });
    expect(response.status).toBe(202);
    const reply = (response.body as { id: string }).id;
    expect(response.body).toEqual({ id: reply });
    expect(await emailOf(reply)).toMatchObject({
      from_address: `"The \\"Agent\\"" <${ADDRESS}>`,
      to_addresses: ['Desk <desk@shop.example>'],
      cc_addresses: ['boss@in.example'],
      subject: 'Re: Order',
      headers: { 'In-Reply-To': '<2@x>', References: '<0@x> <1@x> <2@x>' },
    });
    const again = await ask('post', `${id}/threads/${thread}/emails/${reply}/reply`, { text: 'And?' });
    expect(await emailOf((again.body as { id: string }).id)).toMatchObject({
      to_addresses: ['Desk <desk@shop.example>'],
      subject: 'Re: Order',
      headers: {
        'In-Reply-To': `<${reply}@${SHARED_DOMAIN}>`,
        References: `<0@x> <1@x> <2@x> <${reply}@${SHARED_DOMAIN}>`,
      },
    });
    expect((await ask('get', `${id}/threads/${thread}/emails/${reply}`)).body).toMatchObject({
      id: reply,
      direction: 'outbound',
      message_id: `<${reply}@${SHARED_DOMAIN}>`,
      read: true,
    });
    expect((await threadsOf(id)).data).toMatchObject([{ email_count: 3 }]);
  });

  test('to all goes also to the other recipients, and not to the inbox', async () => {
    const id = await inbox();
    const first = await received({
      to: [`Agent+1@${SHARED_DOMAIN}`, 'b@b.example'],
      cc: ['C <c@c.example>', ANN],
    });
    const thread = await onlyThread(id);
    const response = await ask('post', `${id}/threads/${thread}/emails/${first}/reply`, {
      text: 'Hi',
      reply_all: true,
      subject: 'Other',
    });
    expect(await emailOf((response.body as { id: string }).id)).toMatchObject({
      to_addresses: [ANN],
      cc_addresses: ['b@b.example', 'C <c@c.example>'],
      subject: 'Other',
    });
  });

  test.each([
    ['neither text nor html', {}],
    ['null for both', { text: null, html: null }],
    ['more than 512 KiB', { text: 'x'.repeat(300 * 1024), html: 'x'.repeat(212 * 1024 + 1) }],
    ['In-Reply-To in its headers', { text: 'Hi', headers: { 'in-reply-to': '<a@b>' } }],
    ['References in its headers', { text: 'Hi', headers: { References: '<a@b>' } }],
    ['Reply-To in its headers', { text: 'Hi', headers: { 'REPLY-TO': 'a@b.example' } }],
    ['a bad cc', { text: 'Hi', cc: ['nobody'] }],
    ['reply_all that is no boolean', { text: 'Hi', reply_all: 'yes' }],
  ])('with %s is a fault, without a list of faults', async (_, body) => {
    const id = await inbox();
    const first = await received();
    const response = await ask('post', `${id}/threads/${await onlyThread(id)}/emails/${first}/reply`, body);
    expectProblem(response, 'validation-failed');
    expect(response.body).not.toHaveProperty('errors');
  });

  test('of 512 KiB is accepted', async () => {
    const id = await inbox();
    const first = await received();
    const path = `${id}/threads/${await onlyThread(id)}/emails/${first}/reply`;
    expect(
      (await ask('post', path, { text: 'x'.repeat(256 * 1024), html: 'x'.repeat(256 * 1024) })).status,
    ).toBe(202);
  });

  test('to a message without an address to answer is refused', async () => {
    const id = await inbox();
    const first = await received({ from: '' });
    expectProblem(
      await ask('post', `${id}/threads/${await onlyThread(id)}/emails/${first}/reply`, { text: 'Hi' }),
      'validation-failed',
    );
  });

  test('gets the same answer under its idempotency key, by id or address of the inbox; another reply is 409', async () => {
    const id = await inbox();
    const [first, second] = [await received({ messageId: '1@x' }), await received({ inReplyTo: '1@x' })];
    const thread = await onlyThread(id);
    const send = (at: string, email: string, text = 'Hi') =>
      ask('post', `${at}/threads/${thread}/emails/${email}/reply`, { text }).set('Idempotency-Key', 'one');
    const answer = await send(id, first);
    expect((await send(ADDRESS.replace('@', '%2B1%40'), first)).body).toEqual(answer.body);
    for (const other of [await send(id, second), await send(id, first, 'Ho')])
      expectProblem(other, 'idempotency-conflict');
    expect(await api.database.query('select id from emails')).toHaveLength(1);
  });

  test.each([
    ['message', 'delete from messages where id = $1', 'first'],
    ['thread', 'delete from inbox_threads where id = $1', 'thread'],
    ['inbox', 'delete from inboxes where id = $1', 'id'],
  ] as const)(
    'whose %s is gone since is answered alike under its idempotency key, and otherwise missing',
    async (gone, remove, name) => {
      const id = await inbox();
      const first = await received();
      const thread = await onlyThread(id);
      const send = (key: string, { at = id, text = 'Hi', by = caller } = {}) =>
        ask('post', `${at}/threads/${thread}/emails/${first}/reply`, { text }, by).set(
          'Idempotency-Key',
          key,
        );
      const answer = await send('one');
      await api.database.query(remove, [{ first, thread, id }[name]]);
      const ways = gone === 'inbox' ? [id] : [id, ADDRESS];
      for (const at of ways) {
        const again = await send('one', { at });
        expect([again.status, again.body]).toEqual([202, answer.body]);
        expectProblem(await send('one', { at, text: 'Ho' }), 'idempotency-conflict');
        expectProblem(await send('two', { at }), 'not-found');
      }
      const stranger = await api.newCaller({ scopes: SCOPES });
      expectProblem(await send('one', { by: stranger }), 'not-found');
      await api.database.query(`update idempotency_keys set created_at = now() - interval '25 hours'`);
      expectProblem(await send('one'), 'not-found');
      expect(await api.database.query('select id from emails')).toHaveLength(1);
    },
  );

  test('to a message that never existed is 409 under the idempotency key of another reply', async () => {
    const id = await inbox();
    const first = await received();
    const path = `${id}/threads/${await onlyThread(id)}/emails`;
    const send = (email: string) =>
      ask('post', `${path}/${email}/reply`, { text: 'Hi' }).set('Idempotency-Key', 'one');
    expect((await send(first)).status).toBe(202);
    expectProblem(await send(newId('message', systemClock)), 'idempotency-conflict');
  });

  test('the eleventh of an hour is refused, and what exceeds sixty of an inbox', async () => {
    const id = await inbox();
    const first = await received();
    const thread = await onlyThread(id);
    const mail = { from: ADDRESS, to: 'b@b.example', subject: 'Hi', text: 'Hi' };
    const post = (path: string, body: object) =>
      request(api.url).post(path).set('authorization', caller.authorization).send(body);
    const batchOf = (length: number) =>
      post(
        '/v1/emails/batch',
        Array.from({ length }, () => mail),
      );
    expect(expectProblem(await batchOf(61), 'inbox-rate-limited')).toBe(
      'The request does not fit into what is left of the 60 messages that an inbox may send in an hour.',
    );
    const send = () => ask('post', `${id}/threads/${thread}/emails/${first}/reply`, { text: 'Hi' });
    const statuses = await Promise.all(Array.from({ length: 15 }, async () => (await send()).status));
    expect(statuses.sort()).toEqual([
      ...Array.from({ length: 10 }, () => 202),
      ...Array.from({ length: 5 }, () => 429),
    ]);
    expectProblem(await send(), 'thread-rate-limited');
    expect((await batchOf(49)).status).toBe(200);
    expect((await post('/v1/emails', mail)).status).toBe(200);
    expectProblem(await post('/v1/emails', mail), 'inbox-rate-limited');
    expectProblem(await batchOf(1), 'inbox-rate-limited');
    expectProblem(await send(), 'inbox-rate-limited');
  });

  test('with a test key is stored and not sent', async () => {
    const tester = await api.newCaller({
      accountId: caller.accountId,
      kind: 'test' as KeyKind,
      scopes: SCOPES,
    });
    const id = await inbox(tester);
    const first = await received();
    const thread =
      ((await ask('get', `${id}/threads`, undefined, tester)).body as ListOf<{ id: string }>).data[0]?.id ??
      '';
    const response = await ask(
      'post',
      `${id}/threads/${thread}/emails/${first}/reply`,
      { text: 'Hi' },
      tester,
    );
    expect(response.status).toBe(202);
    expect(await api.database.query('select status from emails')).toEqual([{ status: 'stored' }]);
    expect(await api.database.query('select from events')).toEqual([]);
    expectProblem(await ask('get', `${id}/threads/${thread}`), 'not-found');
  });
});

test('resources of another inbox or account give the same bytes as missing ones', async () => {
  const id = await inbox();
  const other = await inbox(caller, { email_address: `other@${SHARED_DOMAIN}` });
  const first = await received();
  const thread = await onlyThread(id);
  const stranger = await api.newCaller({ scopes: SCOPES });
  const missing = async (path: string, by = caller) => withoutInstance(await ask('get', path, undefined, by));
  const noThread = await missing(`${id}/threads/${newId('thread', systemClock)}`);
  const noEmail = await missing(`${id}/threads/${thread}/emails/${newId('message', systemClock)}`);
  const noInbox = await missing(`${newId('inbox', systemClock)}/threads`);
  expect(await missing(`${other}/threads/${thread}`)).toBe(noThread);
  expect(await missing(`${id}/threads/x`)).toBe(noThread);
  expect(await missing(`${id}/threads/${thread}/emails/x`)).toBe(noEmail);
  expect(await missing(`${id}/threads`, stranger)).toBe(noInbox);
  expect(await missing(`${id}/threads/${thread}/emails/${first}`, stranger)).toBe(noInbox);
});

test('a reply needs inbound:send alone', async () => {
  const id = await inbox();
  const first = await received();
  const path = `${id}/threads/${await onlyThread(id)}/emails/${first}/reply`;
  const sender = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:send'] });
  const manager = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:manage'] });
  expect((await ask('post', path, { text: 'Hi' }, sender)).status).toBe(202);
  expectProblem(await ask('post', path, { text: 'Hi' }, manager), 'api-key-forbidden');
});
