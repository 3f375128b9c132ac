import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import type { MessageId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { MessageWish } from '@postrider/testing';
import request from 'supertest';
import { expectProblem, wholeAnswer } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const LINK = {
  download_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/links\/[\w-]{100,200}$/),
  expires_at: TIME,
};

const api = setupApi();
let manager: Caller;
/** Another key of the same account. */
let reader: Caller;

beforeEach(async () => {
  await api.database.query('delete from messages');
  manager = await api.newCaller({ scopes: ['inbound:manage'] });
  reader = await api.newCaller({ accountId: manager.accountId, scopes: ['inbound:read'] });
});

function ask(path: string, by = reader) {
  return request(api.url).get(`/v1/emails/receiving${path}`).set('authorization', by.authorization);
}

const message = (wish: MessageWish = {}): Promise<MessageId> =>
  api.rows.message({ accountId: manager.accountId, ...wish });

interface Listed {
  readonly has_more: boolean;
  readonly data: readonly { readonly id: string }[];
}

async function page(path: string): Promise<[ids: string[], hasMore: boolean]> {
  const response = await ask(path);
  expect(response.status).toBe(200);
  const { data, has_more: hasMore } = response.body as Listed;
  return [data.map(({ id }) => id), hasMore];
}

const shown = (id: MessageId) => ({
  id,
  from: 'Ann <ann@shop.example>',
  to: ['a@in.example'],
  cc: [],
  bcc: [],
  reply_to: [],
  received_for: ['a@in.example'],
  subject: 'Hi',
  message_id: `<${id}@mail.example>`,
  complete: true,
  created_at: TIME,
  attachments: [],
});

describe('GET /v1/emails/receiving', () => {
  test('lists the account’s messages that are not held, in pages, newest first', async () => {
    const first = await message();
    await message({ held: true });
    await api.rows.message();
    const second = await message({ attachments: [{ filename: null, contentId: 'logo' }] });
    const third = await message();
    expect(await page('?limit=2')).toEqual([[third, second], true]);
    expect(await page(`?after=${second}`)).toEqual([[first], false]);
    expect(await page(`?before=${second}`)).toEqual([[third], false]);
    const { data } = (await ask(`?after=${third}&limit=1`)).body as Listed;
    const file = {
      id: expect.stringMatching(/^att_/),
      filename: null,
      size: 3,
      content_type: 'text/plain',
      content_id: 'logo',
      content_disposition: 'inline',
    };
    expect(data).toEqual([{ ...shown(second), attachments: [file] }]);
  });

  test('refuses a cursor of another account', async () => {
    const foreign = await api.rows.message();
    expectProblem(await ask(`?after=${foreign}`), 'validation-failed');
  });
});

describe('GET /v1/emails/receiving/{id}', () => {
  test('answers the message with its text, HTML, headers and a link to its raw bytes', async () => {
    const id = await message({ html: '<p>' });
    await api.database.query(`update messages set subject = null, headers = $2 where id = $1`, [
      id,
      JSON.stringify([
        { name: 'Received', value: 'one' },
        { name: 'X-A', value: '1' },
        { name: 'received', value: 'two' },
        { name: '__proto__', value: 'x' },
      ]),
    ]);
    const response = await ask(`/${id}`);
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 200,
      body: {
        object: 'email',
        ...shown(id),
        subject: '',
        html: '<p>',
        html_truncated: false,
        text: 'Hello',
        text_truncated: false,
        headers: expect.anything(),
        raw: LINK,
      },
    });
    const { headers } = JSON.parse(response.text) as { headers: object };
    expect(Object.entries(headers)).toEqual([
      ['received', 'one, two'],
      ['x-a', '1'],
      ['__proto__', 'x'],
    ]);
  });

  test('says when a part of the message was not read, as the list does', async () => {
    const id = await message();
    await api.database.query('update messages set complete = false where id = $1', [id]);
    expect((await ask(`/${id}`)).body).toMatchObject({ complete: false });
    expect((await ask('')).body).toMatchObject({ data: [{ complete: false }] });
  });

  test('cuts text and HTML after 1 MiB, and says so', async () => {
    const id = await message({ text: 'x'.repeat(2_000_000), html: 'y'.repeat(2_000_000) });
    expect((await ask(`/${id}`)).body).toMatchObject({
      text: 'x'.repeat(1024 * 1024),
      text_truncated: true,
      html: 'y'.repeat(1024 * 1024),
      html_truncated: true,
    });
  });

  test('refuses a format of HTML that it does not know', async () => {
    expectProblem(await ask(`/${await message()}?html_format=mhtml`), 'validation-failed');
  });
});

describe('inline images', () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
  const uri = `data:image/png;base64,${png.toString('base64')}`;

  async function htmlOf(html: string, { size = png.length, type = 'image/png', query = '' } = {}) {
    const blob = await api.blobs.put(png);
    const id = await message({
      html,
      attachments: [{ contentId: '<a b@c>', contentType: type, size, blob }, { contentId: 'text' }],
    });
    return ((await ask(`/${id}${query}`)).body as { html: string }).html;
  }

  test('take the places of their references', async () => {
    expect(await htmlOf(`<img src="cid:a%20b@c"><img alt=x src='CID:a%20b%40c'>`)).toBe(
      `<img src="${uri}"><img alt=x src='${uri}'>`,
    );
  });

  test.each([
    ['with html_format=cid', '<img src="cid:a%20b@c">', { query: '?html_format=cid' }],
    ['to no attachment', '<img src="cid:other">', {}],
    ['to a file that is no image', '<iframe src="cid:text">', {}],
    ['to a type that would end the attribute', '<img src="cid:a%20b@c">', { type: 'image/png"onload=x' }],
    ['outside of a src', '<a href="cid:a%20b@c">cid:a%20b@c</a>', {}],
    ['with a broken escape', '<img src="cid:%zz">', {}],
    ['to an image of more than 1 MiB', '<img src="cid:a%20b@c">', { size: 1024 * 1024 + 1 }],
  ])('a reference %s stays', async (_, html, wish) => {
    expect(await htmlOf(html, wish)).toBe(html);
  });

  test('count as often as they are referred to: no message makes an answer of many megabytes', async () => {
    const html = '<img src="cid:a%20b@c">'.repeat(5);
    const whole = await htmlOf(html, { size: 400 * 1024 });
    expect(whole.split(uri)).toHaveLength(3);
    expect(whole.split('cid:')).toHaveLength(4);
  });

  test('of which the bytes are gone keep their reference', async () => {
    const html = '<img src="cid:gone">';
    const id = await message({ html, attachments: [{ contentId: 'gone', contentType: 'image/png' }] });
    expect((await ask(`/${id}`)).body).toMatchObject({ html });
  });
});

describe('attachments', () => {
  test('are listed in pages with their links, and read one by one', async () => {
    const id = await message({
      attachments: [
        { filename: 'é.txt' },
        { filename: null, contentType: 'image/png', contentId: 'logo' },
        {},
      ],
    });
    const { data } = (await ask(`/${id}/attachments`)).body as Listed;
    const [one, two, three] = data.map((file) => file.id);
    expect(data).toEqual([
      {
        id: one,
        filename: 'é.txt',
        size: 3,
        content_type: 'text/plain',
        content_disposition: 'attachment',
        ...LINK,
      },
      {
        id: two,
        size: 3,
        content_type: 'image/png',
        content_disposition: 'inline',
        content_id: 'logo',
        ...LINK,
      },
      expect.objectContaining({ id: three }),
    ]);
    const path = `/${id}/attachments`;
    expect(await page(`${path}?limit=2`)).toEqual([[one, two], true]);
    expect(await page(`${path}?after=${two}`)).toEqual([[three], false]);
    expect(await page(`${path}?limit=1&after=${one}`)).toEqual([[two], true]);
    expect(await page(`${path}?limit=1&before=${three}`)).toEqual([[two], true]);
    expect(await page(`${path}?before=${two}`)).toEqual([[one], false]);
    expect((await ask(`${path}/${two}`)).body).toEqual({ object: 'attachment', ...data[1], ...LINK });
  });

  test('of another message read as those that do not exist, and are no cursor', async () => {
    const [mine, other] = [await message({ attachments: [{}] }), await message({ attachments: [{}] })];
    const [[theirs = '']] = await page(`/${other}/attachments`);
    const answers = new Set<string>();
    for (const id of [theirs, newId('attachment', systemClock), '__proto__', '%00']) {
      const response = await ask(`/${mine}/attachments/${id}`);
      expectProblem(response, 'not-found');
      answers.add(wholeAnswer(response));
    }
    expect(answers.size).toBe(1);
    expectProblem(await ask(`/${mine}/attachments?after=${theirs}`), 'validation-failed');
  });
});

const PATHS = ['', '/attachments', '/attachments/att_01jd0000000000000000000001'];

test.each(PATHS)('held mail at its id%s needs inbound:manage', async (path) => {
  const id = await message({ held: true, attachments: [{}] });
  expectProblem(await ask(`/${id}${path}`), 'held-needs-manage');
  expect([200, 404]).toContain((await ask(`/${id}${path}`, manager)).status);
});

test('a key of the other kind, or without the scope, reads nothing', async () => {
  const id = await message();
  const testing = await api.newCaller({ accountId: manager.accountId, kind: 'test', scopes: SCOPES });
  const sender = await api.newCaller({
    accountId: manager.accountId,
    scopes: ['emails:read', 'emails:send'],
  });
  for (const path of PATHS) {
    expectProblem(await ask(`/${id}${path}`, testing), 'not-found');
    expectProblem(await ask(`/${id}${path}`, sender), 'api-key-forbidden');
  }
  expectProblem(await ask('', sender), 'api-key-forbidden');
  expect((await ask('', testing)).body).toMatchObject({ data: [] });
});

test('“receiving” is never read as the id of an email', async () => {
  for (const path of ['', '/events', '/attachments', `/${newId('email', systemClock)}/attachments`]) {
    const all = await api.newCaller({ scopes: SCOPES });
    const response = await ask(path, all);
    if (path === '') expect(response.body).toMatchObject({ object: 'list', data: [] });
    else expect(expectProblem(response, 'not-found')).toBe('There is no such message.');
  }
});
