import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { openRaw } from '../../test/raw-request.ts';
import type { RawConnection } from '../../test/raw-request.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

/** JSON writes each of these characters in six bytes. */
const BODY = '\u0001'.repeat(LIMITS.messageBodyBytes);
const ANSWER_BYTES = 12 * LIMITS.messageBodyBytes;

const api = setupApi();
let caller: Caller;
let path: string;
let open: RawConnection[];

beforeEach(async () => {
  open = [];
  caller = await api.newCaller({ scopes: ['inbound:read'], rateLimitPerMinute: 1_000 });
  path = await pathOfLarge(caller);
});
afterEach(() => {
  for (const { socket } of open) socket.destroy();
});

const pathOfLarge = async ({ accountId }: Caller): Promise<string> =>
  `/v1/inbound/messages/${await api.rows.message({ accountId, text: BODY, html: BODY })}`;

/** Asks for the large answer on a connection that reads no more than the head of it. @returns its status line. */
async function askUnread(): Promise<string> {
  const raw = await openRaw(api.port);
  open.push(raw);
  raw.socket.once('data', () => raw.socket.pause());
  raw.send(
    `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${caller.authorization}\r\n\r\n`,
  );
  return (await raw.until('\r\n')).split('\r\n')[0] ?? '';
}

const ask = (what: string, by = caller) => request(api.url).get(what).set('authorization', by.authorization);

async function leaveUnread(): Promise<void> {
  const isRefused = async () => (await askUnread()).includes('503');
  await waitFor(isRefused, { what: 'an answer to be refused' });
}

test('answers that a key leaves unread leave no memory for its further large ones, until it reads', async () => {
  await leaveUnread();
  expect(expectProblem(await ask(path), 'not-ready')).toMatch(/^Too many other answers are on their way/);
  expect((await ask('/v1/inbound/messages')).status).toBe(200);
  const other = await api.newCaller({ scopes: ['inbound:read'] });
  expect((await ask(await pathOfLarge(other), other)).status).toBe(200);
  for (const { socket } of open) socket.resume();
  const answers = await Promise.all(open.map(async (raw) => raw.closed()));
  const whole = answers.filter((answer) => answer.length > ANSWER_BYTES);
  expect(whole.length).toBeGreaterThanOrEqual(5); // of 12 MiB each
  await waitFor(async () => (await ask(path)).status === 200, { what: 'an answer to be served' });
});

test('answers whose clients disconnect take no memory any more', async () => {
  await leaveUnread();
  for (const { socket } of open) socket.resetAndDestroy();
  await waitFor(async () => (await ask(path)).status === 200, { what: 'an answer to be served' });
});

test('an answer of any length is whole, also when the rest of the request is no HTTP', async () => {
  const raw = await openRaw(api.port);
  open.push(raw);
  raw.send(
    `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${caller.authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  await raw.until('HTTP/1.1 200');
  raw.socket.pause();
  raw.socket.end('no chunk\r\n');
  await once(raw.socket, 'finish');
  raw.socket.resume();
  const answer = await raw.closed();
  expect(answer.length).toBeGreaterThan(ANSWER_BYTES);
  expect(answer.endsWith('}')).toBe(true);
});
