import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { IncomingMessage } from '@postrider/store';
import request from 'supertest';
import { expectProblem, withoutInstance } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ADDRESS = `agent@${SHARED_DOMAIN}`;

const api = setupApi();
let caller: Caller;
let inbox: string;

beforeEach(async () => {
  for (const table of ['inboxes', 'messages', 'inbox_sends', 'emails'])
    await api.database.query(`delete from ${table}`);
  caller = await api.newCaller({ scopes: SCOPES });
  inbox = await newInbox(ADDRESS);
});

async function newInbox(address: string): Promise<string> {
  const response = await request(api.url)
    .post('/v1/inboxes')
    .set('authorization', caller.authorization)
    .send({ email_address: address });
  return (response.body as { id: string }).id;
}

const FILE = { filename: 'a', contentType: 'a/b', contentId: null, size: 1, blob: 'c'.repeat(64) };

const received = async (more: Partial<IncomingMessage> = {}): Promise<string> =>
  api.receive({ recipients: [ADDRESS], from: 'Ann <ann@shop.example>', to: [ADDRESS], ...more });

const search = (query: Record<string, string> | string = {}, at = inbox, by = caller) =>
  request(api.url)
    .get(`/v1/inboxes/${at}/threads/search`)
    .query(query)
    .set('authorization', by.authorization);

interface Found {
  readonly has_more: boolean;
  readonly data: readonly { readonly id: string; readonly matched_email_id: string }[];
}

/** The messages that a search finds. */
async function found(query: Record<string, string> | string = {}): Promise<string[]> {
  const response = await search(query);
  expect({ status: response.status, text: response.text }).toMatchObject({ status: 200 });
  return (response.body as Found).data.map((thread) => thread.matched_email_id);
}

async function threadOf(message: string): Promise<string> {
  const [row] = await api.database.query('select thread_id from messages where id = $1', [message]);
  return String(row?.['thread_id']);
}

describe('a search in an inbox', () => {
  test('finds each thread once, by its newest message that matches, that with the newest message first', async () => {
    const first = await received({ messageId: '1@x', subject: 'Refund', text: 'please' });
    const second = await received({ subject: 'Lost', text: 'the REFUND is missing' });
    const third = await received({ subject: 'Other', text: 'nothing' });
    await received({ inReplyTo: '1@x', subject: 'Re: Refund', text: 'refund again' });
    const last = await received({ inReplyTo: '1@x', subject: 'Thanks', text: 'done' });
    const { data } = (await search({ query: 'refund' })).body as Found;
    expect(data.map(({ id }) => id)).toEqual([await threadOf(first), await threadOf(second)]);
    expect(data[0]?.matched_email_id).not.toBe(first);
    expect(data[0]).toMatchObject({ subject: 'Refund', email_count: 3, folder: 'inbox', read: false });
    expect(await found({ query: 'done' })).toEqual([last]);
    expect(await found({ query: 'NOTHING' })).toEqual([third]);
    expect(await found({ query: 'no such word' })).toEqual([]);
    expect(await found({ query: '%' })).toEqual([]);
    expect(await found()).toHaveLength(3);
  });

  test('compares addresses in part and without case, any of a list', async () => {
    const ann = await received({ cc: ['Boss <boss@corp.example>'] });
    const ben = await received({ from: 'ben@other.example', to: ['Team <team@corp.example>'] });
    expect(await found({ from: 'ANN@shop' })).toEqual([ann]);
    expect(await found({ from: 'nobody@x.example,ben@' })).toEqual([ben]);
    expect(await found('from=nobody%40x.example&from=ben@')).toEqual([ben]);
    expect(await found({ to: 'team@corp.example' })).toEqual([ben]);
    expect(await found({ cc: 'boss' })).toEqual([ann]);
    expect(await found({ bcc: 'boss' })).toEqual([]);
    expect(await found({ query: 'boss@corp' })).toEqual([ann]);
    expect(await found({ from: 'ann', cc: 'team' })).toEqual([]);
  });

  test('knows the case of letters beyond ASCII, and reads no pattern', async () => {
    const apples = await received({ subject: 'Äpfel (.*)', from: 'Çelik <a@b.example>', text: 'ЗАКАЗ' });
    await received({ subject: 'Other' });
    for (const query of ['äpfel (.*)', 'ÄPFEL', 'заказ', 'çELIK'])
      expect(await found({ query })).toEqual([apples]);
    expect(await found({ from: 'no|one,ÇEL' })).toEqual([apples]);
    for (const query of ['.pfel', '[a-z]', 'pf|x', '\\w']) expect(await found({ query })).toEqual([]);
  });

  test('finds what the inbox sent, also by Bcc', async () => {
    await received({ subject: 'Order' });
    const response = await request(api.url)
      .post('/v1/emails')
      .set('authorization', caller.authorization)
      .send({
        ...{
          from: ADDRESS,
          to: 'ann@shop.example',
          bcc: 'boss@corp.example',
          subject: 'Offer',
          text: 'Look',
        },
        attachments: [{ filename: 'a', content: 'aGk=' }],
      });
    const { id } = response.body as { id: string };
    expect(await found({ bcc: 'boss@corp' })).toEqual([id]);
    expect(await found({ from: ADDRESS })).toEqual([id]);
    expect(await found({ has_attachment: 'true' })).toEqual([id]);
    await api.database.query(`update inbox_sends set created_at = '2026-03-02T00:00:00Z'`);
    expect(await found({ start_date: '2026-03-02', end_date: '2026-03-03' })).toEqual([id]);
    expect(await found({ start_date: '2026-03-03', from: ADDRESS })).toEqual([]);
    expect(await found({ end_date: '2026-03-02' })).toEqual([]);
  });

  test('narrows by files, by read, by folder and label', async () => {
    const plain = await received();
    const withFile = await received({ attachments: [FILE] });
    expect(await found({ has_attachment: 'true' })).toEqual([withFile]);
    expect(await found({ has_attachment: 'false' })).toEqual([plain]);
    await request(api.url)
      .patch(`/v1/inboxes/${inbox}/threads/${await threadOf(plain)}`)
      .set('authorization', caller.authorization)
      .send({ read: true });
    expect(await found({ read: 'true' })).toEqual([plain]);
    expect(await found({ read: 'false' })).toEqual([withFile]);
    expect(await found({ folders: 'inbox' })).toEqual([withFile, plain]);
    expect(await found({ folders: 'spam' })).toEqual([]);
    expect(await found({ labels: 'x' })).toEqual([]);
  });

  test('narrows by time: from the start of a date, and up to it', async () => {
    const old = await received();
    const late = await received();
    await api.database.query(`update messages set created_at = '2026-03-01T00:00:00Z' where id = $1`, [old]);
    await api.database.query(`update messages set created_at = '2026-03-02T10:00:00Z' where id = $1`, [late]);
    expect(await found({ start_date: '2026-03-02' })).toEqual([late]);
    expect(await found({ start_date: '2026-03-01', end_date: '2026-03-02' })).toEqual([old]);
    expect(await found({ end_date: '2026-03-01T00:00:00Z' })).toEqual([]);
    expect(await found({ start_date: '2026-03-02T11:00:00+02:00', end_date: '2026-03-03' })).toEqual([late]);
  });

  test('leaves out held mail and the mail of other inboxes', async () => {
    await received({ heldReason: 'spam' });
    const other = await newInbox(`other@${SHARED_DOMAIN}`);
    const theirs = await received({ recipients: [`other@${SHARED_DOMAIN}`] });
    expect(await found()).toEqual([]);
    expect(((await search({}, other)).body as Found).data).toMatchObject([{ matched_email_id: theirs }]);
  });

  test('is answered in pages, forwards and back', async () => {
    const ids = [];
    for (let n = 0; n < 4; n += 1) ids.push(await received({ subject: 'One' }));
    const threads = await Promise.all(ids.reverse().map(threadOf));
    const page = async (query: string) => {
      const { data, has_more: hasMore } = (await search(`query=one&${query}`)).body as Found;
      return [data.map(({ id }) => threads.indexOf(id)), hasMore];
    };
    expect(await page('limit=2')).toEqual([[0, 1], true]);
    expect(await page(`limit=2&after=${threads[1]}`)).toEqual([[2, 3], false]);
    expect(await page(`limit=1&before=${threads[2]}`)).toEqual([[1], true]);
    expect(await page(`before=${threads[2]}`)).toEqual([[0, 1], false]);
  });

  test('looks at the newest 500 messages of the time span', async () => {
    const oldest = await received({ subject: 'Needle' });
    await api.database.query(
      `insert into inbox_threads (id, inbox_id, subject, last_at, created_at)
       select 'thr_' || n, $1, 'Hay', now() + interval '1 s' * n, now() from generate_series(1, 500) n`,
      [inbox],
    );
    await api.database.query(
      `insert into messages
       select (jsonb_populate_record(m, jsonb_build_object(
         'id', 'msg_' || n, 'thread_id', 'thr_' || n, 'subject', 'Hay', 'created_at', now() + interval '1 s' * n))).*
       from messages m, generate_series(1, 500) n where m.id = $1`,
      [oldest],
    );
    expect(await found({ query: 'needle' })).toEqual([]);
    await api.database.query(`delete from messages where id = 'msg_500'`);
    expect(await found({ query: 'needle' })).toEqual([oldest]);
  });

  test.each(['from', 'to', 'cc', 'bcc'])('takes 20 entries of %s', async (field) => {
    expect((await search(`${field}=${'a,'.repeat(20)}`)).status).toBe(200);
  });

  test.each([
    ['read=maybe', 'read "maybe" is not true or false.'],
    ['has_attachment=1', 'has_attachment "1" is not true or false.'],
    [
      'start_date=yesterday',
      'start_date "yesterday" is neither a date nor a time such as 2026-11-20T10:00:00Z.',
    ],
    [
      'end_date=2026-02-30',
      'end_date "2026-02-30" is neither a date nor a time such as 2026-11-20T10:00:00Z.',
    ],
    ['query=a&query=b', 'query ["a","b"] is given more than once.'],
    [`query=${'x'.repeat(201)}`, expect.stringContaining('is longer than 200 characters')],
    ['from=a%00b', 'from contains a control character.'],
    ['query=a%00b', expect.stringContaining('contains a control character')],
    [`to=${'a,'.repeat(21)}`, 'to has more than 20 entries.'],
    ['limit=0', 'limit "0" is not a whole number from 1 to 100.'],
  ])('refuses %s', async (query, detail) => {
    expect(expectProblem(await search(query), 'validation-failed')).toEqual(detail);
  });

  test('in an inbox of another account gives the same bytes as in none, and “search” is no id', async () => {
    const stranger = await api.newCaller({ scopes: SCOPES });
    const foreign = await search({}, inbox, stranger);
    expectProblem(foreign, 'not-found');
    expect(withoutInstance(foreign)).toBe(withoutInstance(await search({}, newId('inbox', systemClock))));
    for (const method of ['patch', 'delete'] as const) {
      const answer = await request(api.url)
        [method](`/v1/inboxes/${inbox}/threads/search`)
        .set('authorization', caller.authorization)
        .send({ read: true });
      expect(expectProblem(answer, 'not-found')).toBe('There is no such thread.');
    }
    const sender = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:send'] });
    expectProblem(await search({}, inbox, sender), 'api-key-forbidden');
  });
});
