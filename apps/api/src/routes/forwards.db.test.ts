import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { IncomingMessage } from '@postrider/store';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { expectPlainText, expectProblem, withoutInstance } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { storedEmail } from '../../test/stored-email.ts';

const ADDRESS = `agent@${SHARED_DOMAIN}`;
const TO = { to: 'boss@corp.example' };

/** Runs once, after the API has read the message that a forward names. */
let meanwhile: (() => Promise<unknown>) | null;

const api = setupApi({
  wrapStores: (stores) => ({
    ...stores,
    threads: {
      ...stores.threads,
      async email(...asked) {
        const found = await stores.threads.email(...asked);
        await meanwhile?.();
        meanwhile = null;
        return found;
      },
    },
  }),
});
let caller: Caller;
let inbox: string;

beforeEach(async () => {
  meanwhile = null;
  for (const table of ['inboxes', 'messages', 'inbox_sends', 'emails', 'counted_sends', 'idempotency_keys'])
    await api.database.query(`delete from ${table}`);
  caller = await api.newCaller({ scopes: SCOPES });
  const made = await post('/v1/inboxes', { email_address: ADDRESS, from_name: 'The agent' });
  ({ id: inbox } = made.body as { id: string });
});

function post(path: string, body: string | object, by = caller) {
  return request(api.url)
    .post(path)
    .set('authorization', by.authorization)
    .send(typeof body === 'string' ? body : JSON.stringify(body));
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

async function file(more: object = {}, bytes = PNG) {
  const blob = await api.blobs.put(bytes);
  return { filename: 'a.png', contentType: 'image/png', contentId: null, size: bytes.length, blob, ...more };
}

/** Stores a message. @returns the path of forwards of it */
async function received(more: Partial<IncomingMessage> = {}): Promise<string> {
  const message = await api.receive({
    recipients: [ADDRESS],
    from: 'Ann <ann@shop.example>',
    to: [ADDRESS],
    messageId: '1@shop.example',
    ...more,
  });
  const [row] = await api.database.query('select thread_id from messages where id = $1', [message]);
  return `/v1/inboxes/${inbox}/threads/${String(row?.['thread_id'])}/emails/${message}/forward`;
}

async function forwarded(path: string, body: object) {
  const response = await post(path, body);
  expect({ status: response.status, text: response.text }).toMatchObject({ status: 202 });
  const { id } = response.body as { id: string };
  expect(response.body).toEqual({ id });
  return storedEmail(api.database, id);
}

async function filesOf(emailId: string) {
  return api.database.query(
    `select filename, content, content_type as type, content_id as cid
     from email_attachments where email_id = $1 order by position`,
    [emailId],
  );
}

describe('a forward', () => {
  test('has the words of the customer, the message with its header, and its files', async () => {
    const path = await received({
      subject: 'Order <1>',
      text: 'Where is it?',
      html: '<p>Where is it?</p>',
      cc: ['Ben <ben@shop.example>'],
      attachments: [await file({ contentId: '<logo>' }), await file({ filename: null })],
    });
    const body = {
      ...TO,
      cc: ['c@corp.example'],
      bcc: 'd@corp.example',
      text: 'See below & answer',
      headers: { 'X-Case': '7' },
      attachments: [{ filename: 'b.txt', content: 'aGk=' }],
    };
    const response = await post(path, body);
    expect(response.status).toBe(202);
    const { id } = response.body as { id: string };
    const [row] = await api.database.query(
      `select from_address, to_addresses, cc_addresses, bcc_addresses, subject, text, html, headers from emails where id = $1`,
      [id],
    );
    expect(row).toMatchObject({
      from_address: `"The agent" <${ADDRESS}>`,
      to_addresses: ['boss@corp.example'],
      cc_addresses: ['c@corp.example'],
      bcc_addresses: ['d@corp.example'],
      subject: 'Fwd: Order <1>',
      headers: { 'X-Case': '7', 'In-Reply-To': '<1@shop.example>', References: '<1@shop.example>' },
    });
    expect(row?.['text']).toMatch(
      /^See below & answer\n\n-+ Forwarded message -+\nFrom: Ann <ann@shop.example>\nDate: .*GMT\nSubject: Order <1>\nTo: agent@inbound.postrider.example\nCc: Ben <ben@shop.example>\n\nWhere is it\?$/,
    );
    expect(row?.['html']).toMatch(
      /^<div style="white-space:pre-wrap">See below &amp; answer<\/div><div>-+ Forwarded message -+<br>From: Ann &lt;ann@shop.example&gt;<br>.*<\/div><br><p>Where is it\?<\/p>$/,
    );
    expect(await filesOf(id)).toEqual([
      { filename: 'b.txt', content: Buffer.from('hi'), type: null, cid: null },
      { filename: 'a.png', content: PNG, type: 'image/png', cid: 'logo' },
      { filename: 'attachment', content: PNG, type: 'image/png', cid: null },
    ]);
    const emails = await request(api.url)
      .get(path.replace(/\/\w+\/forward$/, ''))
      .set('authorization', caller.authorization);
    expect((emails.body as { data: { id: string }[] }).data.map((each) => each.id)).toContain(id);
  });

  test('needs no words, and keeps a subject that is forwarded already', async () => {
    const email = await forwarded(await received({ subject: 'FWD: Order', text: 'Hi' }), TO);
    expect(email).toMatchObject({ subject: 'FWD: Order', html: null });
    expect(email).toMatchObject({ text: expect.stringMatching(/^-+ Forwarded message -+\n[^]*\nHi$/) });
  });

  test('of a message that was sent has its files, too', async () => {
    const path = await received();
    const sent = await post(path.replace('/forward', '/reply'), {
      text: 'Here you are',
      attachments: [{ filename: 'c.txt', content: 'aGk=', content_type: 'text/plain' }],
    });
    const { id } = sent.body as { id: string };
    const again = await post(path.replace(/msg_\w+/, id), TO);
    expect(again.status).toBe(202);
    const { id: copy } = again.body as { id: string };
    expect(await filesOf(copy)).toEqual([
      { filename: 'c.txt', content: Buffer.from('hi'), type: 'text/plain', cid: null },
    ]);
    expect(await storedEmail(api.database, copy)).toMatchObject({
      text: expect.stringContaining('Here you are'),
    });
  });

  test.each([
    ['message', 'delete from messages'],
    ['content of an attachment', `update message_attachments set blob = repeat('e', 64)`],
  ])('is stored once under an idempotency key, also when the %s is gone meanwhile', async (_, removal) => {
    const path = await received({ attachments: [await file()] });
    const send = (body: object = TO) => post(path, body).set('Idempotency-Key', 'one');
    const first = await send();
    expect(first.status).toBe(202);
    await api.database.query(removal);
    const again = await send();
    expect([again.status, again.body]).toEqual([202, first.body]);
    expectProblem(await send({ to: 'other@corp.example' }), 'idempotency-conflict');
    expect(await api.database.query('select id from emails')).toHaveLength(1);
  });

  test('shares no idempotency key with a reply', async () => {
    const path = await received();
    expect((await post(path, TO).set('Idempotency-Key', 'one')).status).toBe(202);
    const reply = await post(path.replace('/forward', '/reply'), { text: 'Hi' }).set(
      'Idempotency-Key',
      'one',
    );
    expect(reply.status).toBe(202);
  });

  test('counts once in the limits of its thread and of its inbox', async () => {
    const path = await received();
    for (let n = 0; n < 10; n += 1)
      expect((await post(path, { to: ['a@b.example', 'c@b.example'] })).status).toBe(202);
    expectProblem(await post(path, TO), 'thread-rate-limited');
    const mail = { from: ADDRESS, to: 'b@b.example', subject: 'Hi', text: 'Hi' };
    const batch = Array.from({ length: 50 }, () => mail);
    expect((await post('/v1/emails/batch', batch)).status).toBe(200);
    expectProblem(await post(await received({ messageId: '2@x' }), TO), 'inbox-rate-limited');
  });

  test('of a stranger’s file has a name and types that may be sent', async () => {
    const path = await received({
      attachments: [
        await file({ filename: 'a\r\nb.png', contentType: 'no type', contentId: 'with space' }),
        await file({ filename: 'x'.repeat(300) }),
      ],
    });
    const response = await post(path, TO);
    expect(await filesOf((response.body as { id: string }).id)).toEqual([
      { filename: 'a  b.png', content: PNG, type: null, cid: null },
      { filename: 'x'.repeat(255), content: PNG, type: 'image/png', cid: null },
    ]);
  });

  test('needs inbound:send alone; the inbox of another account gives the same bytes as none', async () => {
    const path = await received();
    const sender = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:send'] });
    const manager = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:manage'] });
    expect((await post(path, TO, sender)).status).toBe(202);
    expectProblem(await post(path, TO, manager), 'api-key-forbidden');
    const stranger = await api.newCaller({ scopes: SCOPES });
    const foreign = await post(path, TO, stranger);
    expectProblem(foreign, 'not-found');
    const nowhere = path.replace(inbox, newId('inbox', systemClock));
    expect(withoutInstance(foreign)).toBe(withoutInstance(await post(nowhere, TO)));
  });
});

describe('a forward is refused, and stores nothing,', () => {
  test.each([
    ['with no recipient', { to: null }, 'to null names no recipient.'],
    [
      'with a broken recipient',
      { to: ['a@b.example', 'nobody'] },
      'to[1] "nobody" is not a valid email address.',
    ],
    [
      'with a header of its own thread',
      { ...TO, headers: { references: '<1@x>' } },
      'headers.references is set by the service.',
    ],
    ['with text over 512 KiB', { ...TO, text: 'x'.repeat(512 * 1024 + 1) }, 'text exceeds 512 KiB.'],
    [
      'with a file by path',
      { ...TO, attachments: [{ filename: 'a', content: '', path: 'https://x.example/' }] },
      expect.stringContaining('is not supported'),
    ],
  ])('%s', async (_, body, detail) => {
    const path = await received();
    const before = await everythingStored(api.database);
    expect(expectProblem(await post(path, body), 'validation-failed')).toEqual(detail);
    expect(await everythingStored(api.database)).toEqual(before);
  });

  test.each([
    ['without a recipient', {}, 'The request body lacks the required field to.'],
    ['as a list', [TO], 'The request body is not an object.'],
    ['as null', 'null', 'The request body is not an object.'],
    ['as a text', '"to"', 'The request body is not an object.'],
  ])('%s, in plain text', async (_, body, text) => {
    const path = await received();
    const before = await everythingStored(api.database);
    const response = await post(path, body);
    expectPlainText(response, 422);
    expect(response.text).toBe(text);
    expect(await everythingStored(api.database)).toEqual(before);
  });

  test('with a broken body or idempotency key', async () => {
    const path = await received();
    expectPlainText(await post(path, '{'), 400);
    expectProblem(await post(path, TO).set('Idempotency-Key', 'x'.repeat(257)), 'validation-failed');
  });

  test('with more than 5 MiB in base64, the files of the message included, before any is read', async () => {
    const gone = { blob: 'e'.repeat(64) };
    const path = await received({ attachments: [await file({ size: 3 * 1024 * 1024, ...gone })] });
    const own = [{ filename: 'a', content: Buffer.alloc(1024 * 1024).toString('base64') }];
    expect(expectProblem(await post(path, { ...TO, attachments: own }), 'validation-failed')).toBe(
      'The forward exceeds 5 MiB in base64, together with the message and its attachments.',
    );
    expect(expectProblem(await post(path, TO), 'validation-failed')).toBe(
      'An attachment of the message is deleted.',
    );
  });

  test('with more than 50 files', async () => {
    const files = await Promise.all(Array.from({ length: 50 }, () => file()));
    const path = await received({ attachments: files });
    const own = [{ filename: 'a', content: 'aGk=' }];
    expect(expectProblem(await post(path, { ...TO, attachments: own }), 'validation-failed')).toBe(
      'attachments are more than 50 together with those of the message.',
    );
    expect((await post(path, TO)).status).toBe(202);
  });

  test.each([
    ['received message', ['delete from messages'], 'not-found'],
    ['sent message', ['delete from emails'], 'not-found'],
    [
      'content of a sent message',
      ['update emails set html = null, text = null', 'delete from email_attachments'],
      'validation-failed',
    ],
  ] as const)('when the %s is deleted before its files are listed', async (what, removals, problem) => {
    let path = await received({ attachments: [await file()] });
    if (what !== 'received message') {
      const own = { text: 'Hi', attachments: [{ filename: 'c.txt', content: 'aGk=' }] };
      const sent = await post(path.replace('/forward', '/reply'), own);
      path = path.replace(/msg_\w+/, (sent.body as { id: string }).id);
    }
    const stored = () => api.database.query('select count(*) from inbox_sends');
    const before = await stored();
    meanwhile = async () => {
      for (const removal of removals) await api.database.query(removal);
    };
    expectProblem(await post(path, TO), problem);
    expect(await stored()).toEqual(what === 'sent message' ? [{ count: '0' }] : before);
  });

  test.each(['html', 'text'])('where the message has more than 1 MiB of %s', async (body) => {
    const path = await received({ [body]: 'x'.repeat(1024 * 1024 + 1) });
    expect(expectProblem(await post(path, TO), 'validation-failed')).toBe(
      'The message has more text or HTML than can be forwarded.',
    );
  });

  test('where the content of a sent message is past its days', async () => {
    const path = await received();
    const sent = await post(path.replace('/forward', '/reply'), { text: 'Hi' });
    const { id } = sent.body as { id: string };
    await api.database.query('update emails set text = null where id = $1', [id]);
    expect(expectProblem(await post(path.replace(/msg_\w+/, id), TO), 'validation-failed')).toBe(
      'The content of the message is past its days.',
    );
  });
});
