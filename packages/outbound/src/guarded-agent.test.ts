import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createTestAuthority,
  type ScriptedReceiver,
  startScriptedReceiver,
  startTcpListener,
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

describe('an early connection', () => {
  const connectEarly = (agent: GuardedAgent, { port }: { port: number }) =>
    agent.connectEarly('127.0.0.1', String(port));

  test('serves the next request, and is nobody else’s to give up then', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32']);
    const early = connectEarly(agent, receiver);
    await early?.made;
    expect(await get(agent, { host: '127.0.0.1', port: receiver.port })).toBe(200);
    early?.discard();
    expect(await get(agent, { host: '127.0.0.1', port: receiver.port })).toBe(200);
    expect(receiver.connections).toBe(1);
  });

  test('that is given up is closed', async () => {
    const receiver = await startReceiver();
    const early = connectEarly(createAgent(['127.0.0.1/32']), receiver);
    await early?.made;
    await waitFor(() => receiver.openSockets === 1, { what: 'the connection' });
    early?.discard();
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be closed' });
  });

  test('that was given up while it was being made rejects', async () => {
    const first = connectEarly(createAgent(['127.0.0.1/32']), await startReceiver());
    first?.discard();
    await expect(first?.made).rejects.toThrow('given up');
  });

  test('is one to each host: whoever else asks waits until it is there', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32']);
    const first = connectEarly(agent, receiver);
    const another = connectEarly(agent, receiver);
    another?.discard(); // not its own
    await Promise.all([first?.made, another?.made]);
    expect(connectEarly(agent, receiver)).toBeNull();
    await waitFor(() => receiver.openSockets === 1, { what: 'the connection' });
    expect(receiver.connections).toBe(1);
  });

  test('that does not come up keeps nobody else waiting', async () => {
    const receiver = await startReceiver();
    let lookUps = 0;
    const resolver: NameResolver = {
      resolve: () => (lookUps++ === 0 ? new Promise(() => undefined) : Promise.resolve(['127.0.0.1'])),
      ...quiet,
    };
    const agent = createAgent(['127.0.0.1/32'], { resolver });
    const name = 'hooks.example.com';
    const stuck = agent.connectEarly(name, String(receiver.port));
    stuck?.made.catch(() => undefined);
    await agent.connectEarly(name, String(receiver.port))?.made;
    expect(await get(agent, { host: name, port: receiver.port })).toBe(200);
    stuck?.discard();
  });

  test('is waited for by nobody once the agent is closed', async () => {
    const resolver: NameResolver = { resolve: () => new Promise(() => undefined), ...quiet };
    const agent = createAgent(['127.0.0.1/32'], { resolver });
    const all = [1, 2].map(() => agent.connectEarly('hooks.example.com', '443')?.made);
    agent.destroy();
    for (const made of all) await expect(made).rejects.toThrow('given up');
  });

  test('is not made to a host to which there is a connection', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32']);
    await get(agent, { host: '127.0.0.1', port: receiver.port });
    expect(connectEarly(agent, receiver)).toBeNull();
    agent.closeIdle('127.0.0.1', String(receiver.port));
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be closed' });
    await waitFor(() => connectEarly(agent, receiver) !== null, { what: 'the agent to hear of it' });
  });

  test('is not made to a refused host', async () => {
    const receiver = await startReceiver();
    expect(connectEarly(createAgent([]), receiver)).toBeNull();
    expect(receiver.connections).toBe(0);
  });

  test.each<[string, (socket: Socket) => void, RegExp]>([
    ['was closed', (socket) => void socket.end(), /disconnected before secure TLS/],
    [
      'was reset',
      (socket) => void setTimeout(20).then(() => socket.resetAndDestroy()),
      /ECONNRESET|EPIPE|disconnected before secure TLS/,
    ],
    ['was spoken on', (socket) => void socket.write('220 mail.example\r\n'), /wrong version number/],
    ['was spoken on and closed', (socket) => void socket.end('220 mail.example\r\n'), /wrong version number/],
  ])('that %s before the request came fails the request', async (_, onSocket, reason) => {
    const listener = await startTcpListener(onSocket);
    open.push(() => listener.close());
    const agent = createAgent(['127.0.0.1/32']);
    await connectEarly(agent, listener)?.made;
    await setTimeout(100); // for what the listener does to arrive
    await expect(get(agent, { host: '127.0.0.1', port: listener.port })).rejects.toThrow(reason);
    expect(listener.connections).toBe(1);
  });

  test('is closed with the agent', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32']);
    await connectEarly(agent, receiver)?.made;
    await waitFor(() => receiver.openSockets === 1, { what: 'the connection' });
    agent.destroy();
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be closed' });
  });
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
