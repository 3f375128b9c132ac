import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createTestAuthority,
  hang,
  type NameReply,
  startNameServer,
  startScriptedReceiver,
  startTcpListener,
  type TestAuthority,
  type TestCertificate,
  waitFor,
} from '@postrider/testing';
import { createEndpointClient, type EndpointClient, type EndpointClientOptions } from './client.ts';
import type { EndpointAnswer } from './endpoint-answer.ts';
import { type AddressGuard, createAddressGuard } from './guard/address-guard.ts';
import { createNameResolver, type NameResolver } from './resolve/name-resolver.ts';

const guard = createAddressGuard({ allowedNetworks: ['127.0.0.1/32', '::1/128'] });
const name = 'hooks.example.com';

let authority: TestAuthority;
const open: (() => unknown)[] = [];

beforeAll(async () => {
  authority = await createTestAuthority();
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

function createClient(options: Partial<EndpointClientOptions> = {}): EndpointClient {
  const client = createEndpointClient({
    guard,
    timeoutMs: 20_000,
    socketsPerHost: 2,
    ca: [authority.caPem],
    ...options,
  });
  open.push(() => client.close());
  return client;
}

/** A client whose names are answered by a name server of the test's own. */
async function createClientWithNames(
  reply: (name: string, type: 'A' | 'AAAA') => NameReply,
  options: Partial<EndpointClientOptions> = {},
) {
  const server = await startNameServer(reply);
  const resolver = createNameResolver({ servers: [server.address] });
  open.push(
    () => server.close(),
    () => resolver.close(),
  );
  return { client: createClient({ resolver, ...options }), queries: server.queries };
}

async function startReceiver(options: { certificate?: TestCertificate; tls?: object; host?: string } = {}) {
  const receiver = await startScriptedReceiver({ authority, names: [name], ...options });
  open.push(() => receiver.close());
  return receiver;
}

async function startListener(...args: Parameters<typeof startTcpListener>) {
  const listener = await startTcpListener(...args);
  open.push(() => listener.close());
  return listener;
}

function post(client: EndpointClient, endpoint: string): Promise<EndpointAnswer> {
  return client.post({ endpoint, body: Buffer.from('{"secret":"content"}'), headers: {} });
}

describe('TLS', () => {
  const day = 86_400_000;
  const cases: [string, () => Promise<TestCertificate>, string][] = [
    [
      'an expired certificate',
      () => authority.issue({ addresses: ['127.0.0.1'], notAfter: new Date(Date.now() - day / 2) }),
      'TLS: certificate has expired',
    ],
    [
      'a certificate of tomorrow',
      () => authority.issue({ addresses: ['127.0.0.1'], notBefore: new Date(Date.now() + day / 2) }),
      'TLS: certificate is not yet valid',
    ],
    [
      'a self-signed certificate',
      () => authority.selfSigned({ addresses: ['127.0.0.1'] }),
      'TLS: self-signed certificate',
    ],
    [
      'a certificate of an unknown authority',
      async () => (await createTestAuthority()).issue({ addresses: ['127.0.0.1'] }),
      'TLS: unable to verify the certificate (is an intermediate missing?)',
    ],
    [
      'a certificate for another name',
      () => authority.issue({ names: ['evil.example.com'] }),
      'TLS: certificate is not valid for 127.0.0.1',
    ],
  ];

  test.each(cases)('%s fails the attempt and nothing is sent', async (_, issue, error) => {
    const receiver = await startReceiver({ certificate: await issue() });
    expect(await post(createClient(), receiver.url('/'))).toEqual({ kind: 'failed', cause: 'tls', error });
    expect(receiver.requests).toHaveLength(0);
  });

  test('a server that speaks no TLS 1.2 fails the attempt', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    const receiver = await startReceiver({ tls: old });
    const answer = await post(createClient(), receiver.url('/'));
    expect(answer).toMatchObject({ kind: 'failed', cause: 'tls' });
    expect(answer).toMatchObject({ error: expect.stringMatching(/^TLS: .*protocol/) });
  });

  test('plain HTTP on the port fails the attempt and never sees the event', async () => {
    const listener = await startListener((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await post(createClient(), `https://127.0.0.1:${listener.port}/`)).toEqual({
      kind: 'failed',
      cause: 'tls',
      error: 'TLS: wrong version number',
    });
    expect(listener.received.includes('secret')).toBe(false);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => void socket.once('data', () => socket.end())],
    ['reset', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
  ])('a handshake that is %s fails the attempt', async (_, onSocket) => {
    const listener = await startListener(onSocket);
    expect(await post(createClient(), `https://127.0.0.1:${listener.port}/`)).toEqual({
      kind: 'failed',
      cause: 'tls',
      error: 'TLS: connection closed during the handshake',
    });
  });

  test('a handshake that stalls ends at the deadline', async () => {
    const listener = await startListener();
    const answer = await post(createClient({ timeoutMs: 300 }), `https://127.0.0.1:${listener.port}/`);
    expect(answer).toEqual({ kind: 'failed', cause: 'timeout', error: 'timeout after 300 ms' });
    await waitFor(() => listener.openSockets === 0, { what: 'the connection to be closed' });
  });

  test('without the test authority the system roots decide: its certificate is not trusted', async () => {
    const receiver = await startReceiver();
    const client = createEndpointClient({ guard, timeoutMs: 20_000, socketsPerHost: 1 });
    open.push(() => client.close());
    expect(await post(client, receiver.url('/'))).toMatchObject({ kind: 'failed', cause: 'tls' });
  });
});

describe('connecting', () => {
  test('a refused connection names the address and the port', async () => {
    const port = await closedPort();
    expect(await post(createClient(), `https://127.0.0.1:${port}/`)).toEqual({
      kind: 'failed',
      cause: 'connect',
      error: `connect ECONNREFUSED 127.0.0.1:${port}`,
    });
  });

  test('a refused connection costs no request, which would be most of an attempt', async () => {
    let requests = 0;
    const count = () => void (requests += 1);
    subscribe('http.client.request.start', count);
    open.push(() => unsubscribe('http.client.request.start', count));
    const receiver = await startReceiver();
    await post(createClient(), receiver.url('/hook'));
    expect(requests).toBe(1);
    const port = await closedPort();
    expect(await post(createClient(), `https://127.0.0.1:${port}/`)).toMatchObject({ cause: 'connect' });
    expect(requests).toBe(1);
  });

  test.each([
    ['an address', '127.0.0.1', undefined],
    ['an IPv6 address', '::1', undefined],
    ['a name', '127.0.0.1', name],
  ])('to %s opens one connection, which the request then has', async (_, host, hostname) => {
    const receiver = await startReceiver({ host });
    const { client } = await createClientWithNames(() => ({ addresses: [host] }));
    expect(await post(client, receiver.url('/hook', hostname))).toMatchObject({ statusCode: 200 });
    expect(await post(client, receiver.url('/hook', hostname))).toMatchObject({ statusCode: 200 });
    expect(receiver.connections).toBe(1);
  });

  test('a connection made for a request that then took another is closed while that request is under way', async () => {
    const receiver = await startReceiver();
    receiver.script('/late', [hang()]);
    let found: (addresses: string[]) => void = () => undefined;
    const first = new Promise<string[]>((resolve) => (found = resolve));
    let lookUps = 0;
    const resolver: NameResolver = {
      resolve: () => (lookUps++ === 0 ? first : Promise.resolve(['127.0.0.1'])),
      resolveIpv6: async () => [],
      close: () => undefined,
    };
    const client = createClient({ resolver });
    const late = post(client, receiver.url('/late', name));
    late.catch(() => undefined); // it ends with its client
    expect(await post(client, receiver.url('/hook', name))).toMatchObject({ statusCode: 200 });
    found(['127.0.0.1']);
    await waitFor(() => receiver.requests.length === 2, { what: 'the late request' });
    await waitFor(() => receiver.openSockets === 1, {
      what: 'the connection that was not needed to be closed',
    });
    expect(receiver.connections).toBe(2);
  });

  test('an endpoint that speaks before TLS does fails as any other that does not speak TLS', async () => {
    const listener = await startListener((socket) => void socket.write('220 mail.example ESMTP\r\n'));
    expect(await post(createClient(), `https://127.0.0.1:${listener.port}/`)).toMatchObject({
      kind: 'failed',
      cause: 'tls',
    });
    await waitFor(() => listener.openSockets === 0, { what: 'the connection to be closed' });
  });

  test('an IPv6 address is named in brackets', async () => {
    const port = await closedPort();
    expect(await post(createClient(), `https://[::1]:${port}/`)).toMatchObject({
      cause: 'connect',
      error: expect.stringMatching(new RegExp(`^connect E[A-Z]+ \\[::1\\]:${port}$`)),
    });
  });

  test('a name with a dead address and a live one reaches the live one', async () => {
    const receiver = await startReceiver();
    const { client } = await createClientWithNames(() => ({ addresses: ['127.0.0.1', '::1'] }));
    expect(await post(client, receiver.url('/', name))).toMatchObject({ kind: 'answered', statusCode: 200 });
  });

  test('a name whose addresses are all dead fails with the first of the reasons', async () => {
    const port = await closedPort();
    const { client } = await createClientWithNames(() => ({ addresses: ['127.0.0.1', '::1'] }));
    expect(await post(client, `https://${name}:${port}/`)).toMatchObject({
      cause: 'connect',
      error: `connect ECONNREFUSED 127.0.0.1:${port}`,
    });
  });
});

describe('names', () => {
  test('a name keeps its SNI, its Host and its certificate', async () => {
    const receiver = await startReceiver();
    const { client } = await createClientWithNames(() => ({ addresses: ['127.0.0.1'] }));
    expect(await post(client, receiver.url('/', name))).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(receiver.requests[0]).toMatchObject({
      serverName: name,
      headers: { host: `${name}:${receiver.port}` },
    });
  });

  test('the trailing dot of a name goes into neither', async () => {
    const receiver = await startReceiver();
    const { client } = await createClientWithNames(() => ({ addresses: ['127.0.0.1'] }));
    expect(await post(client, receiver.url('/', `${name}.`))).toMatchObject({
      kind: 'answered',
      statusCode: 200,
    });
    expect(receiver.requests[0]).toMatchObject({
      serverName: name,
      headers: { host: `${name}:${receiver.port}` },
    });
  });

  test.each<[string, NameReply, string]>([
    ['does not exist', 'nxdomain', `DNS: ${name} does not exist`],
    ['has no address', { addresses: [] }, `DNS: ${name} has no address`],
    ['leads back to itself', { cname: name }, `DNS: ${name} has no address`],
    ['is not served', 'servfail', `DNS: no answer for ${name} (SERVFAIL)`],
    ['is met with silence', 'silence', `DNS: no answer for ${name} (TIMEOUT)`],
  ])('a name that %s is a failed attempt', async (_, reply, error) => {
    const { client } = await createClientWithNames(() => reply);
    expect(await post(client, `https://${name}/`)).toEqual({ kind: 'failed', cause: 'dns', error });
  });

  test('without a name server in reach the attempt fails', async () => {
    const resolver = createNameResolver({ servers: [`127.0.0.1:${await closedPort()}`] });
    const answer = await post(createClient({ resolver }), `https://${name}/`);
    expect(answer).toMatchObject({
      kind: 'failed',
      cause: 'dns',
      error: expect.stringMatching(/^DNS: no answer for/),
    });
  });

  test('the deadline does not wait for the name server', async () => {
    const { client } = await createClientWithNames(() => 'silence', { timeoutMs: 200 });
    expect(await post(client, `https://${name}/`)).toMatchObject({
      cause: 'timeout',
      error: 'timeout after 200 ms',
    });
  });
});

describe('the guard while connecting', () => {
  test.each([
    ['the last', (bad: string) => [...Array.from({ length: 99 }, () => '127.0.0.1'), bad]],
    ['the first', (bad: string) => [bad, ...Array.from({ length: 99 }, () => '127.0.0.1')]],
  ])('one refused address among a hundred refuses the delivery, be it %s', async (_, addresses) => {
    const canary = await startListener();
    const { client } = await createClientWithNames(() => ({ addresses: addresses('127.0.0.2') }));
    expect(await post(client, `https://${name}:${canary.port}/`)).toEqual({
      kind: 'refused',
      error: `refused address 127.0.0.2 (loopback), an address of ${name}`,
    });
    expect(canary.connections).toBe(0);
  });

  test('a refused IPv6 address refuses a name whose IPv4 address is fine', async () => {
    const canary = await startListener();
    const { client } = await createClientWithNames(() => ({ addresses: ['127.0.0.1', 'fd00:ec2::254'] }));
    expect(await post(client, `https://${name}:${canary.port}/`)).toMatchObject({
      kind: 'refused',
      error: `refused address fd00:ec2::254 (private), an address of ${name}`,
    });
    expect(canary.connections).toBe(0);
  });

  test('a connection asks once: what was judged is what is connected to, however the answer changes', async () => {
    const receiver = await startReceiver();
    const canary = await startListener(undefined, '127.0.0.2');
    let asked = 0;
    const { client, queries } = await createClientWithNames((_, type) => {
      if (type === 'AAAA') return { addresses: [] };
      asked += 1;
      return { addresses: [asked === 1 ? '127.0.0.1' : '127.0.0.2'], ttlSeconds: 0 };
    });
    expect(await post(client, receiver.url('/', name))).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(queries).toEqual(expect.arrayContaining([`${name} A`, `${name} AAAA`]));
    expect(queries).toHaveLength(2);
    expect(canary.connections).toBe(0);
  });

  test('a synthesised AAAA record beside an A record does not refuse the delivery', async () => {
    const receiver = await startReceiver();
    const { client } = await createClientWithNames((_, type) => ({
      addresses: type === 'A' ? ['127.0.0.1'] : ['64:ff9b::7f00:1'],
    }));
    expect(await post(client, receiver.url('/', name))).toMatchObject({ kind: 'answered', statusCode: 200 });
  });

  test('one whose IPv4 address inside is refused refuses it, be the prefix known to all or told', async () => {
    const canary = await startListener();
    for (const prefix of ['64:ff9b::', 'fd00:64::']) {
      const { client } = await createClientWithNames((asked, type) => {
        if (asked === 'ipv4only.arpa') return { addresses: ['192.0.0.170', `${prefix}c000:aa`] };
        return { addresses: type === 'A' ? ['127.0.0.1'] : [`${prefix}a00:1`] };
      });
      expect(await post(client, `https://${name}:${canary.port}/`)).toEqual({
        kind: 'refused',
        error: `refused address 10.0.0.1 (private) by way of ${prefix}a00:1, an address of ${name}`,
      });
    }
    expect(canary.connections).toBe(0);
  });

  test('while nobody answers for prefixes an IPv6 address is not connected to, and nothing is dead-lettered', async () => {
    const receiver = await startReceiver();
    let addresses = ['127.0.0.1', 'fd00:64::7f00:1'];
    const { client } = await createClientWithNames((asked, type) => {
      if (asked === 'ipv4only.arpa') return type === 'A' ? { addresses: ['192.0.0.170'] } : 'servfail';
      return { addresses };
    });
    expect(await post(client, receiver.url('/', name))).toMatchObject({ kind: 'answered', statusCode: 200 });
    addresses = ['2a00:64::a00:1'];
    const unknown = { kind: 'failed', cause: 'dns', error: 'DNS: no answer for ipv4only.arpa (SERVFAIL)' };
    expect(await post(client, 'https://other.example.com/')).toEqual(unknown);
    expect(await post(client, 'https://[2a00:64::a00:1]/')).toEqual(unknown);
  });

  test('a literal is judged by the prefixes that are told, in the early connection too', async () => {
    const { client } = await createClientWithNames(() => ({ addresses: ['2a00:64::c000:aa'] }));
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await post(client, 'https://[2a00:64::a00:1]/')).toEqual({
        kind: 'refused',
        error: 'refused address 10.0.0.1 (private) by way of 2a00:64::a00:1',
      });
    }
  });

  test('a refused name is never looked up', async () => {
    const { client, queries } = await createClientWithNames(() => ({ addresses: ['127.0.0.1'] }));
    for (const host of ['localhost', 'db.internal', 'redis', 'printer.local.']) {
      expect(await post(client, `https://${host}/`)).toMatchObject({ kind: 'refused' });
    }
    expect(queries).toEqual([]);
  });

  test('a connection that came up to a refused address all the same is cut before anything is sent, and counted', async () => {
    const listener = await startListener();
    // A guard that changes its mind stands for a hole between judging and connecting.
    let judged = 0;
    const wavering: AddressGuard = {
      judgeHost: () => null,
      judgeAddress: (address) => (judged++ === 0 ? null : `refused address ${address} (wavering)`),
      judgeTranslated: () => null,
    };
    const tripped: string[] = [];
    const { client } = await createClientWithNames(() => ({ addresses: ['127.0.0.1'] }), {
      guard: wavering,
      onTripwire: (address) => tripped.push(address),
    });
    expect(await post(client, `https://${name}:${listener.port}/`)).toEqual({
      kind: 'refused',
      error: 'refused address 127.0.0.1 (wavering)',
    });
    expect(tripped).toEqual(['127.0.0.1']);
    expect(listener.received).toHaveLength(0);
  });
});

/** A port of 127.0.0.1 and ::1 that nothing listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
  await new Promise((resolve) => server.close(resolve));
  return port;
}
