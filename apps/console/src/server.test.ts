import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { ConsoleServer } from './server.ts';

const HOST = '127.0.0.1';
const NEVER_MS = 600_000;

let agent: Agent;
afterEach(() => agent.destroy());

/** Asks for a page on a connection that stays open. The test answers it. */
async function begin(port: number): Promise<IncomingMessage> {
  agent = new Agent({ keepAlive: true });
  const [answer] = (await once(request({ host: HOST, port, agent }).end(), 'response')) as [IncomingMessage];
  return answer;
}

test('a stop waits for the page in flight, and not for its connection', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = new ConsoleServer((_, response) => asked.resolve(response));
  const answer = begin(await server.listen(0, HOST));
  const response = await asked.promise;
  const stopped = server.stop(NEVER_MS);
  response.end('the page');
  expect(await text(await answer)).toBe('the page');
  await stopped;
}, 40_000); // Node would keep the connection for 620 s

test('a stop does not wait for a connection that has sent nothing', async () => {
  const server = new ConsoleServer((_, response) => void response.end('the page'));
  const port = await server.listen(0, HOST);
  const silent = connect(port, HOST);
  await once(silent, 'connect');
  const closed = once(silent, 'close');
  expect(await text(await begin(port))).toBe('the page'); // the server has accepted both
  await server.stop(NEVER_MS);
  await closed;
});
