import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request, type RequestOptions } from 'node:https';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  cleanUpAfterEach,
  CLOSED_PORT,
  createTestAuthority,
  runs,
  type ScriptedReceiver,
  startScriptedReceiver,
  startTcpListener,
  type TestAuthority,
  waitFor,
} from '@postrider/testing';
import { AddressGuard } from './guard/address-guard.ts';
import { GuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';
import { NameLookupError, type NameResolver } from './resolve/name-resolver.ts';

type TestResolver = Pick<NameResolver, 'resolve' | 'resolveIpv6'>;

const resolveIpv6 = async () => [];
const loopback: TestResolver = { resolve: async () => ['127.0.0.1'], resolveIpv6 };

/** With each, the agent makes a TLS connection. */
const HOSTS = runs({ usual: 20, long: 1_100 });

let authority: TestAuthority;
const atEnd = cleanUpAfterEach();

beforeAll(async () => {
  authority = await createTestAuthority();
});

function createAgent(allowedNetworks: string[], options: Partial<GuardedAgentOptions> = {}): GuardedAgent {
  const guard = new AddressGuard({ allowedNetworks });
  const agent = new GuardedAgent({
    guard,
    resolver: loopback,
    socketsPerHost: 2,
    ca: [authority.caPem],
    ...options,
  });
  atEnd(() => agent.destroy());
  return agent;
}

async function startReceiver(): Promise<ScriptedReceiver> {
  const receiver = await startScriptedReceiver({ authority, names: ['hooks.example.com'] });
  atEnd(() => receiver.close());
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

  test('cannot bring a socket of its own', async () => {
    const [receiver, elsewhere] = [await startReceiver(), await startReceiver()];
    const socket = connect(elsewhere.port, '127.0.0.1');
    atEnd(() => socket.destroy());
    const options = { host: '127.0.0.1', port: receiver.port, socket } as RequestOptions;
    expect(await get(createAgent(['127.0.0.1/32']), options)).toBe(200);
    expect([receiver.requests.length, elsewhere.requests.length]).toEqual([1, 0]);
  });

  test('cannot loosen the verification of the certificate', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32'], { ca: undefined });
    const options = { host: '127.0.0.1', port: receiver.port, rejectUnauthorized: false };
    await expect(get(agent, options)).rejects.toThrow(/unable to verify/);
    expect(receiver.requests).toHaveLength(0);
  });
});

test('an attempt of 10 s has time for eight addresses that do not answer', async () => {
  const receiver = await startReceiver();
  const connecting = jest.spyOn(Agent.prototype, 'createConnection');
  atEnd(() => connecting.mockRestore());
  await get(createAgent(['127.0.0.1/32']), { host: '127.0.0.1', port: receiver.port });
  const { autoSelectFamilyAttemptTimeout = Infinity } = (connecting.mock.calls[0]?.[0] ??
    {}) as Partial<TcpNetConnectOpts>;
  expect(8 * autoSelectFamilyAttemptTimeout).toBeLessThan(10_000);
});

test('of a hundred addresses of each family, a connection tries eight', async () => {
  const ipv4 = Array.from({ length: 100 }, (_, index) => `127.0.1.${index}`);
  const addresses = [...ipv4, ...ipv4.map((address) => `::ffff:${address}`)];
  const { promise: isWatched, resolve: watched } = Promise.withResolvers<void>();
  const resolve = async () => isWatched.then(() => addresses);
  const agent = createAgent(['127.0.0.0/8', '::/0'], { resolver: { resolve, resolveIpv6 } });
  const sent = request({ agent, host: 'hooks.example.com', port: CLOSED_PORT });
  const tried: string[] = [];
  sent.once('socket', (socket) => {
    socket.on('connectionAttempt', (address: string) => tried.push(address));
    watched();
  });
  await once(sent.end(), 'error');
  expect(new Set(tried)).toEqual(new Set([...addresses.slice(0, 8), ...addresses.slice(100, 108)]));
});

test.each([
  ['refused', async () => []],
  ['not judged, for nobody answers', () => Promise.reject(new Error('no answer'))],
])('an address that is %s leaves nothing behind', async (_, resolveIpv6) => {
  const agent = createAgent([], { resolver: { ...loopback, resolveIpv6 } });
  await expect(get(agent, { host: 'fd00::1' })).rejects.toThrow(/refused|no answer/);
  expect(Object.keys(agent.sockets)).toEqual([]);
});

describe('of hosts that are met once nothing is kept:', () => {
  const failing = (message: string): TestResolver => ({
    resolveIpv6,
    resolve: () => Promise.reject(new NameLookupError(message)),
  });
  const names = (count: number) => Array.from({ length: count }, (_, n) => `c${n}.hooks.example.com`);
  const entries = ({ sockets, freeSockets, requests }: GuardedAgent) =>
    [sockets, freeSockets, requests].map((list) => Object.keys(list).length);
  const released = (agent: GuardedAgent) =>
    waitFor(() => entries(agent).every((count) => count === 0), { what: 'nothing to be kept' });

  test.each([
    ['nobody knows the name', failing('DNS: does not exist'), 'DNS: does not exist'],
    [
      'its address is refused',
      { resolveIpv6, resolve: async () => ['10.0.0.1'] },
      'refused address 10.0.0.1 (private)',
    ],
    ['it refuses the connection', loopback, 'connect ECONNREFUSED 127.0.0.1'],
  ])('%s', async (_, resolver, message) => {
    const agent = createAgent(['127.0.0.1/32'], { resolver });
    const failures = new Set<string>();
    for (const host of names(runs({ usual: 200, long: 2_000 }))) {
      await get(agent, { host, port: CLOSED_PORT }).catch((error: unknown) =>
        failures.add((error as Error).message.slice(0, message.length)),
      );
    }
    expect(failures).toEqual(new Set([message]));
    await released(agent);
  });

  test('it fails the handshake', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32']);
    for (const host of names(runs({ usual: 20, long: 100 }))) {
      await expect(get(agent, { host, port: receiver.port })).rejects.toThrow(/altnames/);
    }
    await released(agent);
  });

  test('it never answers, and is given up', async () => {
    const listener = await startTcpListener();
    atEnd(() => listener.close());
    const agent = createAgent(['127.0.0.1/32']);
    for (const host of names(runs({ usual: 50, long: 500 }))) {
      const sent = request({ host, port: listener.port, agent });
      sent.end();
      const [socket] = (await once(sent, 'socket')) as [TLSSocket];
      await once(socket, 'connect');
      sent.destroy();
      await expect(once(sent, 'response')).rejects.toThrow('socket hang up');
    }
    await released(agent);
  });

  test('it answers: but for the TLS sessions of a thousand', async () => {
    const receiver = await startScriptedReceiver({ authority, names: ['*.hooks.example.com'] });
    atEnd(() => receiver.close());
    const agent = createAgent(['127.0.0.1/32'], { idleMs: 10 });
    const keepSession = Reflect.get(agent, '_cacheSession') as (key: string, session: Buffer) => void;
    // A thousand handshakes would take many seconds. So Node is given sessions of hosts that are older.
    for (let n = 0; n < 1_000; n += 1) keepSession.call(agent, `older ${n}`, Buffer.alloc(1));
    for (const host of names(HOSTS)) expect(await get(agent, { host, port: receiver.port })).toBe(200);
    await released(agent);
    const { list } = Reflect.get(agent, '_sessionCache') as { list: string[] };
    expect(list).toHaveLength(1_000);
    expect(list.filter((key) => !key.startsWith('older'))).toHaveLength(Math.min(HOSTS, 1_000));
  });
});

test('a new connection to one of many hosts resumes the session of the last one', async () => {
  const receiver = await startScriptedReceiver({ authority, names: ['*.hooks.example.com'] });
  atEnd(() => receiver.close());
  const agent = createAgent(['127.0.0.1/32']);
  const headers = { connection: 'close' };
  const visitAll = async () => {
    const resumed: boolean[] = [];
    for (let n = 0; n < 120; n += 1) {
      // Node's own agent keeps 100 sessions
      const host = `c${n}.hooks.example.com`;
      resumed.push((await exchange(agent, { host, port: receiver.port, headers })).resumed);
    }
    return new Set(resumed);
  };
  expect(await visitAll()).toEqual(new Set([false]));
  expect(await visitAll()).toEqual(new Set([true]));
});

describe('idle connections', () => {
  /** The idle connection to this port. */
  async function idleSocket(agent: GuardedAgent, port: number): Promise<Socket> {
    await get(agent, { host: '127.0.0.1', port });
    const find = () => agent.freeSockets[agent.getName({ host: '127.0.0.1', port })]?.[0];
    return waitFor(find, { what: 'the connection to be idle' });
  }

  test('are closed at will, those of another port are kept', async () => {
    const [one, other] = [await startReceiver(), await startReceiver()];
    const agent = createAgent(['127.0.0.1/32']);
    const [closed, kept] = [await idleSocket(agent, one.port), await idleSocket(agent, other.port)];
    agent.closeIdle('127.0.0.1', String(one.port).slice(0, -1));
    expect(closed.destroyed).toBe(false);
    agent.closeIdle('127.0.0.1', String(one.port));
    expect([closed.destroyed, kept.destroyed]).toEqual([true, false]);
  });

  test('of the default port are closed by an empty one', async () => {
    const receiver = await startReceiver();
    const agent = createAgent(['127.0.0.1/32']);
    agent.defaultPort = receiver.port; // a test cannot listen on 443
    const idle = await idleSocket(agent, receiver.port);
    agent.closeIdle('127.0.0.1', '');
    expect(idle.destroyed).toBe(true);
  });

  test('no cap over all hosts lets idle ones block another', () => {
    expect(createAgent([]).maxTotalSockets).toBe(Infinity);
  });
});
