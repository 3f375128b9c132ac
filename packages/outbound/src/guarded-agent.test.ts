import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createTestAuthority,
  type ScriptedReceiver,
  startScriptedReceiver,
  type TestAuthority,
  waitFor,
} from '@postrider/testing';
import { createAddressGuard } from './guard/address-guard.ts';
import { GuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';
import type { NameResolver } from './resolve/name-resolver.ts';

const quiet = { resolveIpv6: async () => [], close: () => undefined };
const loopback: NameResolver = { resolve: async () => ['127.0.0.1'], ...quiet };

let authority: TestAuthority;
const open: (() => unknown)[] = [];

beforeAll(async () => {
  authority = await createTestAuthority();
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

function createAgent(allowedNetworks: string[], options: Partial<GuardedAgentOptions> = {}): GuardedAgent {
  const guard = createAddressGuard({ allowedNetworks });
  const agent = new GuardedAgent({
    guard,
    resolver: loopback,
    socketsPerHost: 2,
    ca: [authority.caPem],
    ...options,
  });
  open.push(() => agent.destroy());
  return agent;
}

async function startReceiver(): Promise<ScriptedReceiver> {
  const receiver = await startScriptedReceiver({ authority, names: ['hooks.example.com'] });
  open.push(() => receiver.close());
  return receiver;
}

async function get(agent: GuardedAgent, options: RequestOptions): Promise<number | undefined> {
  return (await exchange(agent, options)).status;
}

async function exchange(
  agent: GuardedAgent,
  options: RequestOptions,
): Promise<{ status: number | undefined; resumed: boolean }> {
  const sent = request({ ...options, agent });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const resumed = response.socket instanceof TLSSocket && response.socket.isSessionReused();
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, resumed };
}

describe('a request through the agent itself', () => {
  test.each([
    ['a literal', '127.0.0.1', 'refused address 127.0.0.1 (loopback)'],
    ['an IPv6 literal', '::1', 'refused address ::1 (loopback)'],
    ['a private name', 'localhost', 'refused name localhost (not a public name)'],
    ['no host at all', '', 'refused name localhost (not a public name)'],
    [
      'a name of a refused address',
      'hooks.example.com',
      'refused address 127.0.0.1 (loopback), an address of hooks.example.com',
    ],
  ])('to %s is refused without a connection', async (_, host, error) => {
    const receiver = await startReceiver();
    await expect(get(createAgent([]), { host, port: receiver.port })).rejects.toThrow(error);
    expect(receiver.connections).toBe(0);
  });

  test('cannot bring a lookup of its own', async () => {
    const receiver = await startReceiver();
    const lookup: RequestOptions['lookup'] = (_name, _options, callback) => callback(null, '127.0.0.1', 4);
    const options = { host: 'hooks.example.com', port: receiver.port, lookup };
    await expect(get(createAgent([]), options)).rejects.toThrow('refused address 127.0.0.1');
    expect(receiver.connections).toBe(0);
  });

  test('cannot loosen the verification of the certificate', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32'], { ca: undefined });
    const options = { host: '127.0.0.1', port: receiver.port, rejectUnauthorized: false };
    await expect(get(agent, options)).rejects.toThrow(/unable to verify/);
    expect(receiver.requests).toHaveLength(0);
  });
});

test.each([
  ['refused', async () => []],
  ['not judged, for nobody answers', () => Promise.reject(new Error('no answer'))],
])('an address that is %s leaves nothing behind', async (_, resolveIpv6) => {
  const agent = createAgent([], { resolver: { ...loopback, resolveIpv6 } });
  await expect(get(agent, { host: 'fd00::1' })).rejects.toThrow(/refused|no answer/);
  expect(Object.keys(agent.sockets)).toEqual([]);
});

test('a new connection to one of many hosts resumes the session of the last one', async () => {
  const receiver = await startScriptedReceiver({ authority, names: ['*.hooks.example.com'] });
  open.push(() => receiver.close());
  const agent = createAgent(['127.0.0.1/32']);
  const headers = { connection: 'close' };
  const visitAll = async () => {
    const resumed: boolean[] = [];
    for (let n = 0; n < 300; n += 1) {
      const host = `c${n}.hooks.example.com`;
      resumed.push((await exchange(agent, { host, port: receiver.port, headers })).resumed);
    }
    return new Set(resumed);
  };
  expect(await visitAll()).toEqual(new Set([false]));
  expect(await visitAll()).toEqual(new Set([true]));
});

describe('idle connections', () => {
  test('are closed at will, those of another port are kept', async () => {
    const [receiver, other] = [await startReceiver(), await startReceiver()];
    const agent = createAgent(['127.0.0.1/32']);
    await get(agent, { host: '127.0.0.1', port: receiver.port });
    await get(agent, { host: '127.0.0.1', port: other.port });
    agent.closeIdle('127.0.0.1', String(receiver.port));
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be closed' });
    expect(other.openSockets).toBe(1);
  });

  test('no cap over all hosts lets idle ones block another', () => {
    expect(createAgent([]).maxTotalSockets).toBe(Infinity);
  });
});
