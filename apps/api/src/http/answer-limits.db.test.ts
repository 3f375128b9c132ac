import { once } from 'node:events';
import { beforeEach, expect, test } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupRawConnections } from '../../test/raw-request.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

/** JSON writes each of these characters in six bytes. */
const BODY = '\u0001'.repeat(LIMITS.messageBodyBytes);
const ANSWER_BYTES = 2 * 6 * LIMITS.messageBodyBytes; // text and HTML

const api = setupApi();
let caller: Caller;
let path: string;
const { open, connect, askUnread } = setupRawConnections();

beforeEach(async () => {
  caller = await api.newCaller({ scopes: ['inbound:read'], rateLimitPerMinute: 1_000 });
  path = await largeMessagePath(caller);
});

const largeMessagePath = async ({ accountId }: Caller): Promise<string> =>
  `/v1/inbound/messages/${await api.rows.message({ accountId, text: BODY, html: BODY })}`;

const ask = (target: string, by = caller) =>
  request(api.url).get(target).set('authorization', by.authorization);

async function fillAnswerMemory(): Promise<void> {
  const isRefused = async () =>
    (await askUnread(api.port, path, caller.authorization)).received().startsWith('HTTP/1.1 503 ');
  await waitFor(isRefused, { what: 'an answer to be refused' });
}

test('a key that leaves large answers unread gets 503 for another, until it reads them', async () => {
  await fillAnswerMemory();
  expect(expectProblem(await ask(path), 'not-ready')).toMatch(/^Too many other answers are on their way/);
  expect((await ask('/v1/inbound/messages')).status).toBe(200);
  const other = await api.newCaller({ scopes: ['inbound:read'] });
  expect((await ask(await largeMessagePath(other), other)).status).toBe(200);
  for (const { socket } of open) socket.resume();
  const answers = await Promise.all(open.map(async (raw) => raw.closed()));
  const whole = answers.filter((answer) => answer.length > ANSWER_BYTES);
  // one key may hold half of 128 MiB: five answers of 12 MiB
  expect(whole.length).toBeGreaterThanOrEqual(5);
  await waitFor(async () => (await ask(path)).status === 200, { what: 'an answer to be served' });
});

test('answers of disconnected clients free their memory', async () => {
  await fillAnswerMemory();
  for (const { socket } of open) socket.resetAndDestroy();
  await waitFor(async () => (await ask(path)).status === 200, { what: 'an answer to be served' });
});

test('a large answer arrives whole, although the rest of the request is not HTTP', async () => {
  const raw = await connect(api.port);
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
