import { beforeEach, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import request from 'supertest';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const api = setupApi();
let caller: Caller;

beforeEach(async () => {
  caller = await api.newCaller({ scopes: SCOPES });
});

const MESSAGE = { from: 'ada@a.example', to: 'bob@b.example', subject: 'Hi', text: 'Hi' };
const ADDRESS = `agent@${SHARED_DOMAIN}`;

const post = (path: string, body: object) =>
  request(api.url).post(path).set('authorization', caller.authorization).send(body);
const read = (path: string) => request(api.url).get(path).set('authorization', caller.authorization);

/** Stores a message to a new inbox. @returns the path of replies to it */
async function received(): Promise<string> {
  const inbox = (await post('/v1/inboxes', { email_address: ADDRESS })).body as { id: string };
  const message = await api.receive({ recipients: [ADDRESS], from: 'ann@shop.example', to: [ADDRESS] });
  const [row] = await api.database.query('select thread_id from messages where id = $1', [message]);
  return `/v1/inboxes/${inbox.id}/threads/${String(row?.['thread_id'])}/emails/${message}/reply`;
}

const sentBy = () =>
  api.database.query('select api_key_id, request_id from emails where account_id = $1', [caller.accountId]);

test.each<[string, number, () => Promise<request.Response>]>([
  ['POST /v1/emails', 1, async () => post('/v1/emails', MESSAGE)],
  ['POST /v1/emails/batch', 2, async () => post('/v1/emails/batch', [MESSAGE, MESSAGE])],
  ['a reply', 1, async () => post(await received(), { text: 'Hi' })],
])('mail of %s is found by its x-request-id, and names its key', async (_, messages, send) => {
  const answer = await send();
  expect(answer.ok).toBe(true);
  const row = { api_key_id: caller.keyId, request_id: answer.headers['x-request-id'] };
  expect(await sentBy()).toEqual(Array.from({ length: messages }, () => row));
  const logged = () => api.log().includes(`"request_id":"${row.request_id}"`);
  await waitFor(logged, { what: 'the line of the request' });
});

test('a repetition under an idempotency key leaves the request that sent the message', async () => {
  const send = () => post('/v1/emails', MESSAGE).set('Idempotency-Key', 'one');
  const first = await send();
  const again = await send();
  expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
  expect(await sentBy()).toMatchObject([{ request_id: first.headers['x-request-id'] }]);
});

test('no answer shows the request or the key of a message', async () => {
  const sent = await post('/v1/emails', MESSAGE);
  for (const path of ['/v1/emails', `/v1/emails/${(sent.body as { id: string }).id}`]) {
    const { text } = await read(path);
    expect(text).toContain(MESSAGE.from);
    expect(text).not.toContain(sent.headers['x-request-id']);
    expect(text).not.toContain(caller.keyId);
  }
});
