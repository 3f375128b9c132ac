import { beforeEach, describe, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import type { IncomingMessage } from '@postrider/store';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { expectPlainText, expectProblem } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { storedEmail } from '../../test/stored-email.ts';

/*
 * Tests replies: verified domains, the size of the body, and References.
 */

const FOUR_MIB = 4 * 1024 * 1024;

const api = setupApi({ verifiedDomainsOnly: true, smtpUtf8: false });
let caller: Caller;

beforeEach(async () => {
  for (const table of ['inboxes', 'domains']) await api.database.query(`delete from ${table}`);
  caller = await api.newCaller({ scopes: SCOPES });
});

/** Stores a message to a new inbox. @returns the path of replies to it */
async function received(
  address: string,
  { by = caller, ...more }: Partial<IncomingMessage> & { by?: Caller } = {},
): Promise<string> {
  const made = await request(api.url)
    .post('/v1/inboxes')
    .set('authorization', by.authorization)
    .send({ email_address: address });
  expect(made.status).toBe(201);
  const message = await api.receive({
    recipients: [address],
    from: 'ann@shop.example',
    to: [address],
    ...more,
  });
  const [row] = await api.database.query('select thread_id from messages where id = $1', [message]);
  const { id } = made.body as { id: string };
  return `/v1/inboxes/${id}/threads/${String(row?.['thread_id'])}/emails/${message}/reply`;
}

const reply = (path: string, body: string | object, by = caller) =>
  request(api.url)
    .post(path)
    .set('authorization', by.authorization)
    .send(typeof body === 'string' ? body : JSON.stringify(body));

describe('a reply where live mail leaves from verified domains only', () => {
  test('from a shared domain is domain-not-verified, and stores nothing', async () => {
    const path = await received(`agent@${SHARED_DOMAIN}`);
    const before = await everythingStored(api.database);
    expectProblem(await reply(path, { text: 'Hi' }), 'domain-not-verified');
    expect(await everythingStored(api.database)).toEqual(before);
  });

  test('is accepted from a verified domain, until the account loses it', async () => {
    await api.rows.domain(caller.accountId, 'mine.example');
    const path = await received('agent@mine.example');
    expect((await reply(path, { text: 'Hi' })).status).toBe(202);
    await api.database.query('delete from domains');
    expectProblem(await reply(path, { text: 'Hi' }), 'domain-not-verified');
  });

  test('is accepted from any domain with a test key', async () => {
    const tester = await api.newCaller({ kind: 'test', scopes: SCOPES });
    const path = await received(`agent@${SHARED_DOMAIN}`, { by: tester });
    expect((await reply(path, { text: 'Hi' }, tester)).status).toBe(202);
  });
});

test('a reply goes to ten addresses of Reply-To, and the answer lists the others', async () => {
  await api.rows.domain(caller.accountId, 'mine.example');
  const replyTo = Array.from({ length: 12 }, (_, n) => `r${n}@shop.example`);
  const path = await received('agent@mine.example', { replyTo });
  const answer = await reply(path, { text: 'Hi' });
  expect(answer).toMatchObject({ status: 202, body: { skipped: replyTo.slice(10) } });
  const [row] = await api.database.query('select to_addresses from emails where id = $1', [
    (answer.body as { id: string }).id,
  ]);
  expect(row?.['to_addresses']).toEqual(replyTo.slice(0, 10));
  for (let more = 0; more < 5; more += 1) expect((await reply(path, { text: 'Hi' })).status).toBe(202);
  expectProblem(await reply(path, { text: 'Hi' }), 'inbox-rate-limited'); // each counts as ten messages
});

test('a repeated reply is told of the skipped addresses again, also when its message or inbox is gone', async () => {
  await api.rows.domain(caller.accountId, 'mine.example');
  const replyTo = Array.from({ length: 12 }, (_, n) => `r${n}@shop.example`);
  const path = await received('agent@mine.example', { replyTo });
  const send = () => reply(path, { text: 'Hi' }).set('Idempotency-Key', 'one');
  const body = (await send()).body as object;
  expect(body).toMatchObject({ skipped: replyTo.slice(10) });
  for (const gone of ['idempotency_keys where false', 'messages', 'inboxes']) {
    await api.database.query(`delete from ${gone}`);
    const again = await send();
    expect([again.status, again.body]).toEqual([202, body]);
  }
});

describe('a reply to a sender with letters beyond ASCII', () => {
  test('is a 422 that names the reason, where the provider cannot deliver it', async () => {
    await api.rows.domain(caller.accountId, 'mine.example');
    const path = await received('agent@mine.example', { from: 'jürgen@shop.example' });
    const answer = await reply(path, { text: 'Hi' });
    expectProblem(answer, 'validation-failed');
    expect((answer.body as { detail: string }).detail).toBe(
      '"jürgen@shop.example" is an address with letters beyond ASCII, which the mail provider (SES) cannot deliver.',
    );
  });

  test.each(['a..b@docomo.ne.jp', `reply+${'0f'.repeat(40)}@reply.example`])(
    'is accepted at %s',
    async (from) => {
      await api.rows.domain(caller.accountId, 'mine.example');
      const path = await received('agent@mine.example', { from });
      const answer = await reply(path, { text: 'Hi' });
      expect(answer.status).toBe(202);
      expect((await storedEmail(api.database, (answer.body as { id: string }).id))?.to_addresses).toEqual([
        from,
      ]);
    },
  );
});

describe('the body of a reply', () => {
  beforeEach(() => api.rows.domain(caller.accountId, 'mine.example'));

  test('may have 4 MiB with its attachments, and not a byte more', async () => {
    const path = await received('agent@mine.example');
    const written = (content: string) =>
      JSON.stringify({ text: 'Hi', attachments: [{ filename: 'a.bin', content }] });
    const bytesLeft = FOUR_MIB - written('').length;
    const most = written('A'.repeat(bytesLeft - (bytesLeft % 4)));
    expect((await reply(path, most.padEnd(FOUR_MIB, ' '))).status).toBe(202);
    expect(
      await api.database.query('select filename, length(content) as bytes from email_attachments'),
    ).toEqual([{ filename: 'a.bin', bytes: ((bytesLeft - (bytesLeft % 4)) / 4) * 3 }]);
    expectProblem(await reply(path, most.padEnd(FOUR_MIB + 1, ' ')), 'request-too-large');
  });

  test('that is not JSON is refused in plain text', async () => {
    expectPlainText(await reply(await received('agent@mine.example'), '{'), 400);
  });

  test.each([[[]], ['null'], ['"text"']])('%j is no object, which is refused in plain text', async (body) => {
    const response = await reply(await received('agent@mine.example'), body);
    expectPlainText(response, 422);
    expect(response.text).toBe('The request body is not an object.');
  });

  test('names its own fields, also with reply_all', async () => {
    const path = await received('agent@mine.example', { cc: ['eve@e.example', 'dan@d.example'] });
    const body = { text: 'Hi', reply_all: true, cc: ['bob@b.example', 'nobody'] };
    expect(expectProblem(await reply(path, body), 'validation-failed')).toBe(
      'cc[1] "nobody" is not a valid email address.',
    );
  });
});

/** RFC 5322, 3.6.4 */
describe('a reply to a message that has no References', () => {
  beforeEach(() => api.rows.domain(caller.accountId, 'mine.example'));

  const referencesOf = async (answer: request.Response) =>
    (await storedEmail(api.database, (answer.body as { id: string }).id))?.headers['References'];

  test('refers to that message and to the one before it', async () => {
    const path = await received('agent@mine.example', { messageId: '2@x', inReplyTo: '1@x' });
    expect(await referencesOf(await reply(path, { text: 'Hi' }))).toBe('<1@x> <2@x>');
  });

  test('does so also when the inbox sent the message', async () => {
    const path = await received('agent@mine.example', { messageId: '1@x' });
    const sent = await request(api.url)
      .post('/v1/emails')
      .set('authorization', caller.authorization)
      .send({
        from: 'agent@mine.example',
        to: 'ann@shop.example',
        subject: 'Hi',
        text: 'Hi',
        headers: { 'In-Reply-To': '<1@x>' },
      });
    const { id } = sent.body as { id: string };
    const answer = await reply(path.replace(/emails\/.*/, `emails/${id}/reply`), { text: 'And?' });
    expect(await referencesOf(answer)).toBe(`<1@x> <${id}@mine.example>`);
  });
});
