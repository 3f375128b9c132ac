import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createTestAuthority } from '../certificates.ts';
import { answer, answerThenResetNext, resetBeforeHead } from './behaviours.ts';
import { type ScriptedReceiver, startScriptedReceiver } from './scripted-receiver.ts';

let agent: Agent;
let receiver: ScriptedReceiver;

beforeEach(async () => {
  const authority = await createTestAuthority();
  receiver = await startScriptedReceiver({ authority });
  agent = new Agent({ ca: authority.caPem, keepAlive: true, maxSockets: 1 });
});
afterEach(async () => {
  agent.destroy();
  await receiver.close();
});

async function post(path: string, body = ''): Promise<number | undefined> {
  const sent = request(receiver.url(path), { method: 'POST', agent });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  await once(response.resume(), 'end');
  return response.statusCode;
}

test('plays the script of a path in order, then its usual reaction; other paths get 200', async () => {
  receiver.script('/hook', [answer(503), () => answer(410)]);
  receiver.script('/hook', [answer(204)]);
  receiver.always('/hook', answer(500));
  const statuses: (number | undefined)[] = [];
  for (const path of ['/hook', '/other', '/hook?a=1', '/hook', '/hook']) statuses.push(await post(path));
  expect(statuses).toEqual([503, 200, 410, 204, 500]);
});

test('a function chooses the behaviour by the request', async () => {
  receiver.always('/hook', ({ body }) => answer(body.toString() === 'no' ? 400 : 200));
  expect([await post('/hook', 'yes'), await post('/hook', 'no')]).toEqual([200, 400]);
});

test('remembers what it received and what it answered', async () => {
  receiver.script('/hook', [answer(503)]);
  await post('/hook?a=1', 'first');
  await post('/hook', 'second');
  expect(receiver.requests).toMatchObject([
    {
      method: 'POST',
      path: '/hook?a=1',
      body: Buffer.from('first'),
      socketId: 1,
      serverName: null,
      status: 503,
    },
    { method: 'POST', path: '/hook', body: Buffer.from('second'), socketId: 1, status: 200 },
  ]);
  expect(receiver.requests[1]?.receivedAtMs).toBeGreaterThan(receiver.requests[0]?.receivedAtMs ?? Infinity);
  expect([receiver.connections, receiver.openSockets]).toEqual([1, 1]);
});

test('waits for requests to come, of one path or of all', async () => {
  const two = receiver.waitForRequests(2, { path: '/hook' });
  await post('/hook', '1');
  await post('/other', '2');
  await post('/hook', '3');
  expect((await two).map((one) => one.body.toString())).toEqual(['1', '3']);
  expect(await receiver.waitForRequests(1)).toHaveLength(3);
});

test('a wait that fails says what it waited for, and how many requests came', async () => {
  await post('/hook');
  const failing = receiver.waitForRequests(2, { path: '/hook', withinMs: 10 });
  await expect(failing).rejects.toThrow('waited 10 ms for 2 requests to /hook; last error: 1 came');
});

test('resets the connection beneath TLS', async () => {
  receiver.script('/hook', [resetBeforeHead()]);
  await expect(post('/hook')).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('a stale connection resets the next request, which is not listed', async () => {
  receiver.script('/hook', [answerThenResetNext(201)]);
  expect(await post('/hook')).toBe(201);
  await expect(post('/hook')).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(receiver.requests).toHaveLength(1);
});
