import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { untilWaitingForLock, waitFor, withClient } from '@postrider/testing';
import type { MessageWish } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupRawConnections } from '../../test/raw-request.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const MIB = 1024 * 1024;
/** Nothing between the API and its client can hold so much. */
const LONG = 'x'.repeat(8 * MIB);

const api = setupApi();
let caller: Caller;
const connections = setupRawConnections();
const { open } = connections;

beforeEach(async () => {
  caller = await api.newCaller({ scopes: ['inbound:read'], rateLimitPerMinute: 1_000 });
});

async function pathOf(wish: MessageWish, part = 'text', { accountId } = caller): Promise<string> {
  return `/v1/inbound/messages/${await api.rows.message({ accountId, ...wish })}/body?part=${part}`;
}

const ask = (path: string, by = caller) => request(api.url).get(path).set('authorization', by.authorization);

/** Reads no more than the head of the answer. @returns its status line. */
async function askUnread(path: string, { authorization } = caller): Promise<string> {
  const raw = await connections.askUnread(api.port, path, authorization);
  return raw.received().split('\r\n')[0] ?? '';
}

describe('GET /v1/inbound/messages/{id}/body', () => {
  test.each([
    ['text', 'text/plain; charset=utf-8', 'txt'],
    ['html', 'text/html; charset=utf-8', 'html'],
  ])('gives the whole %s as a download that no browser runs', async (part, mediaType, extension) => {
    // Each piece but the first begins within a character.
    const body = `a${'é😀'.repeat(400_000)}`;
    const path = await pathOf({ text: 'Hello', html: '<p>', [part]: body }, part);
    const answer = await fetch(`${api.url}${path}`, { headers: { authorization: caller.authorization } });
    expect({ status: answer.status, isWhole: (await answer.text()) === body }).toEqual({
      status: 200,
      isWhole: true,
    });
    const [, id] = /(msg_\w+)/.exec(path) ?? [];
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': mediaType,
      'content-length': String(Buffer.byteLength(body)),
      'content-disposition': `attachment; filename="${id}.${extension}"`,
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
  });

  test('gives an empty body, and to a HEAD the head alone', async () => {
    const empty = await ask(await pathOf({ text: '' }));
    expect({ status: empty.status, text: empty.text }).toEqual({ status: 200, text: '' });
    const head = await request(api.url)
      .head(await pathOf({ text: 'Hello' }))
      .set('authorization', caller.authorization);
    expect({ status: head.status, length: head.headers['content-length'] }).toEqual({
      status: 200,
      length: '5',
    });
  });

  test('is 404 for a part that the message does not have, and for a message that does not exist', async () => {
    expect(expectProblem(await ask(await pathOf({ text: null })), 'not-found')).toBe(
      'There is no such part.',
    );
    expectProblem(await ask(await pathOf({}, 'html')), 'not-found');
    const missing = `/v1/inbound/messages/${newId('message', systemClock)}/body?part=text`;
    expect(expectProblem(await ask(missing), 'not-found')).toBe('There is no such message.');
  });

  test.each([
    ['', 'part is required.'],
    ['?part=', 'part "" is neither text nor html.'],
    ['?part=raw', 'part "raw" is neither text nor html.'],
    ['?part=text&part=text', 'part ["text","text"] is given more than once.'],
  ])('refuses the query %j', async (query, detail) => {
    const path = (await pathOf({})).replace('?part=text', query);
    expect(expectProblem(await ask(path), 'validation-failed')).toBe(detail);
  });
});

describe('a body that is on its way', () => {
  test('ends as a broken connection when its message is deleted, and the log says so', async () => {
    const longer = LONG.repeat(2);
    const path = await pathOf({ text: longer });
    expect(await askUnread(path)).toBe('HTTP/1.1 200 OK');
    await api.database.query('delete from messages');
    const [raw] = open;
    raw?.socket.resume();
    const answer = (await raw?.closed()) ?? '';
    expect(answer.toLowerCase()).toContain(`content-length: ${longer.length}\r\n`);
    expect(answer.length).toBeLessThan(longer.length);
    expect(api.log()).toMatch(/"level":"warn".*answer broken off.*was deleted/);
  });

  test('takes memory of its key, until its client disconnects', async () => {
    const path = await pathOf({ text: LONG });
    const isRefused = async () => (await askUnread(path)).includes('503');
    await waitFor(isRefused, { what: 'an answer to be refused', intervalMs: 1 });
    expect(open.length).toBeGreaterThan(30); // of 2 MiB each
    expect(expectProblem(await ask(path), 'not-ready')).toMatch(/^Too many other answers are on their way/);
    expect((await ask(await pathOf({ text: 'Hello' }))).status).toBe(200);
    const other = await api.newCaller({ scopes: ['inbound:read'] });
    expect(await askUnread(await pathOf({ text: LONG }, 'text', other), other)).toBe('HTTP/1.1 200 OK');
    for (const { socket } of open) socket.resetAndDestroy();
    await waitFor(async () => !(await isRefused()), { what: 'an answer to be served' });
  });

  test('takes one connection to Postgres for the bodies of all messages of its account', async () => {
    for (let n = 0; n < 4; n += 1) {
      const path = await pathOf({ text: LONG });
      for (let m = 0; m < 3; m += 1) expect(await askUnread(path)).toBe('HTTP/1.1 200 OK');
    }
    await withClient(api.database.url, async (session) => {
      await session.query('begin; lock table messages in access exclusive mode');
      for (const { socket } of open) socket.resume();
      await untilWaitingForLock(api.database);
      const other = await api.newCaller();
      for (let n = 0; n < 10; n += 1) expect((await ask('/v1/webhooks', other)).status).toBe(200);
      const waiting = await api.database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(waiting).toHaveLength(1);
      for (const { socket } of open.slice(1)) socket.destroy(); // what they would still read takes seconds
      await session.query('rollback');
    });
    const answer = await open[0]?.closed();
    expect(answer?.endsWith('xx')).toBe(true);
    expect(answer?.length).toBeGreaterThan(LONG.length);
  });
});
