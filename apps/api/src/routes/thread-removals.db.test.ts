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
  for (const table of ['inboxes', 'messages', 'inbox_sends', 'emails', 'removed_inboxes'])
    await api.database.query(`delete from ${table}`);
  caller = await api.newCaller({ scopes: SCOPES });
  inbox = await newInbox(ADDRESS);
});

const ask = (method: 'get' | 'post' | 'patch' | 'delete', path: string, by = caller) =>
  request(api.url)[method](`/v1/${path}`).set('authorization', by.authorization);

async function newInbox(address: string): Promise<string> {
  return ((await ask('post', 'inboxes').send({ email_address: address })).body as { id: string }).id;
}

const received = async (more: Partial<IncomingMessage> = {}): Promise<string> =>
  api.receive({ recipients: [ADDRESS], from: 'Ann <ann@shop.example>', to: [ADDRESS], ...more });

async function threadOf(message: string): Promise<string> {
  const [row] = await api.database.query('select thread_id from messages where id = $1', [message]);
  return String(row?.['thread_id']);
}

const remove = (thread: string, by = caller) => ask('delete', `inboxes/${inbox}/threads/${thread}`, by);
const listed = async (path: string) =>
  ((await ask('get', path)).body as { data: { id: string }[] }).data.map(({ id }) => id);

describe('DELETE /v1/inboxes/{id}/threads/{thread}', () => {
  test('deletes the thread with what it received, and nothing else', async () => {
    const first = await received({ messageId: '1@x' });
    const second = await received({ inReplyTo: '1@x' });
    const kept = await received();
    const thread = await threadOf(first);
    const sent = await ask('post', `inboxes/${inbox}/threads/${thread}/emails/${first}/reply`).send({
      text: 'Hi',
    });
    const { id: email } = sent.body as { id: string };
    const { download_url: raw } = (await ask('get', `inbound/messages/${first}/raw`)).body as {
      download_url: string;
    };
    const response = await remove(thread);
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 200,
      body: { object: 'inbox_thread', id: thread, deleted: true },
    });
    expect(await listed(`inboxes/${inbox}/threads`)).toEqual([await threadOf(kept)]);
    expect(await listed('inbound/messages')).toEqual([kept]);
    expect(await listed('emails/receiving')).toEqual([kept]);
    for (const message of [first, second]) {
      expectProblem(await ask('get', `inbound/messages/${message}`), 'not-found');
    }
    expect((await request(new URL(raw).origin).get(new URL(raw).pathname)).status).toBe(404);
    expect((await ask('get', `emails/${email}`)).status).toBe(200);
    expect((await ask('get', `inboxes/${inbox}`)).body).toMatchObject({ unread: 1 });
    const gone = await remove(thread);
    expect(withoutInstance(gone)).toBe(withoutInstance(await remove(newId('thread', systemClock))));
    expectProblem(gone, 'not-found');
  });

  test('begins a new thread with what answers a deleted message', async () => {
    const first = await received({ messageId: '1@x' });
    const thread = await threadOf(first);
    await remove(thread);
    const answer = await received({ inReplyTo: '1@x' });
    expect(await threadOf(answer)).not.toBe(thread);
    expect(await listed(`inboxes/${inbox}/threads`)).toEqual([await threadOf(answer)]);
  });

  test('of more than 10,000 messages is done in parts, and so is marking them', async () => {
    const first = await received({ messageId: '1@x' });
    await api.database.query(
      `insert into messages
       select (jsonb_populate_record(m, jsonb_build_object('id', 'msg_' || n))).*
       from messages m, generate_series(1, 10000) n where m.id = $1`,
      [first],
    );
    const thread = await threadOf(first);
    const mark = () => ask('patch', `inboxes/${inbox}/threads/${thread}`).send({ read: true });
    for (const change of [mark, () => remove(thread)]) {
      expect(expectProblem(await change(), 'not-ready')).toContain('more messages than one request changes');
      expect((await change()).status).toBe(200);
    }
    expect(await listed('inbound/messages')).toEqual([]);
    expectProblem(await mark(), 'not-found');
    expectProblem(await remove(thread), 'not-found');
  });

  test('of another inbox or account changes nothing, and gives the same bytes as one that is not there', async () => {
    const thread = await threadOf(await received());
    const other = await newInbox(`other@${SHARED_DOMAIN}`);
    const stranger = await api.newCaller({ scopes: SCOPES });
    const nowhere = withoutInstance(await remove(newId('thread', systemClock)));
    expect(withoutInstance(await ask('delete', `inboxes/${other}/threads/${thread}`))).toBe(nowhere);
    expectProblem(await remove(thread, stranger), 'not-found');
    const reader = await api.newCaller({
      accountId: caller.accountId,
      scopes: ['inbound:read', 'inbound:send'],
    });
    expectProblem(await remove(thread, reader), 'api-key-forbidden');
    expect(await listed(`inboxes/${inbox}/threads`)).toEqual([thread]);
  });
});
