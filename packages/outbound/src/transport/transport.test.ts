import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { answer, createTestAuthority, startScriptedReceiver, truncatedBody } from '@postrider/testing';
import type { ScriptedReceiver } from '@postrider/testing';
import { createGotTransport } from './got-transport.ts';
import { createHttpsTransport } from './https-transport.ts';

const body = Buffer.from('{}');
const headers = { 'content-length': String(body.length) };

let receiver: ScriptedReceiver;
let agent: Agent;

beforeAll(async () => {
  const authority = await createTestAuthority();
  receiver = await startScriptedReceiver({ authority });
  agent = new Agent({ ca: authority.caPem, keepAlive: true });
});
afterAll(async () => {
  agent.destroy();
  await receiver.close();
});

describe.each([
  ['https', createHttpsTransport],
  ['got', createGotTransport],
] as const)('%s', (_name, createTransport) => {
  /** Posts, and cuts at the end as an attempt does. Returns the calls, to which later ones are added. */
  async function callsOfPost(): Promise<readonly string[]> {
    const calls: string[] = [];
    const note = (call: string) => () => void calls.push(call);
    await new Promise<void>((resolve) => {
      const post = { url: new URL(receiver.url('/hook')), headers, body };
      const exchange = createTransport(agent).post(post, {
        onSocket: note('socket'),
        onInterimHead: note('interim head'),
        onHead: note('head'),
        onBody: note('body'),
        onEnd() {
          calls.push('end');
          exchange.cut();
          resolve();
        },
        onError: note('error'),
        onUnsendable: note('unsendable'),
      });
    });
    return calls;
  }

  test.each([
    ['complete', answer(200, { body: 'ok' })],
    ['truncated', truncatedBody()],
  ])('reports the end of a %s body once', async (_kind, behaviour) => {
    receiver.always('/hook', behaviour);
    const calls = await callsOfPost();
    await callsOfPost(); // a second call for the first post would come before this answer
    expect(calls.filter((call) => call !== 'error')).toEqual(['socket', 'head', 'body', 'end']);
  });

  test('has sent nothing before it has a connection, and all when it has the answer', async () => {
    receiver.always('/hook', answer(200));
    const sent: boolean[] = [];
    await new Promise<void>((resolve) => {
      const post = { url: new URL(receiver.url('/hook')), headers, body };
      const exchange = createTransport(agent).post(post, {
        onSocket: () => void sent.push(exchange.isSent()),
        onInterimHead: () => undefined,
        onHead: () => void sent.push(exchange.isSent()),
        onBody: () => undefined,
        onEnd: resolve,
        onError: () => resolve(),
        onUnsendable: () => resolve(),
      });
      sent.push(exchange.isSent());
    });
    expect(sent).toEqual([false, false, true]);
  });
});
