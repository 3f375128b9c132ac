import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import {
  CLOSED_PORT,
  createTestAuthority,
  type TestCertificate,
  testWithIpv6,
  waitFor,
} from '@postrider/testing';
import { forEachHttpClient, GUARD, NAME } from '../../test/client-fixture.ts';
import { handshakeFlood } from '../../test/handshake-flood.ts';
import { EndpointClient } from '../client.ts';
import type { EndpointResult } from '../endpoint-result.ts';

/** The usual public exponent of RSA, 65537. */
const F4 = new Uint8Array([1, 0, 1]);

/** OpenSSL 3.0, of Node 22, calls the protocol sslv3. */
const HANDSHAKE_FAILURE = {
  kind: 'failed',
  cause: 'tls',
  error: expect.stringMatching(/^TLS: (ssl\/tls|sslv3) alert handshake failure$/),
};

forEachHttpClient((fixture) => {
  describe('TLS', () => {
    const day = 86_400_000;
    const cases: [string, () => Promise<TestCertificate>, string][] = [
      [
        'an expired certificate',
        () => fixture.authority.issue({ addresses: ['127.0.0.1'], notAfter: new Date(Date.now() - day / 2) }),
        'TLS: certificate has expired',
      ],
      [
        'a certificate of tomorrow',
        () =>
          fixture.authority.issue({ addresses: ['127.0.0.1'], notBefore: new Date(Date.now() + day / 2) }),
        'TLS: certificate is not yet valid',
      ],
      [
        'a self-signed certificate',
        () => fixture.authority.selfSigned({ addresses: ['127.0.0.1'] }),
        'TLS: self-signed certificate',
      ],
      [
        'a certificate of an unknown authority',
        async () => (await createTestAuthority()).issue({ addresses: ['127.0.0.1'] }),
        'TLS: unable to verify the certificate (is an intermediate missing?)',
      ],
      [
        'a certificate for another name',
        () => fixture.authority.issue({ names: ['evil.example.com'] }),
        'TLS: certificate is not valid for 127.0.0.1',
      ],
    ];

    test.each(cases)('%s fails the attempt and nothing is sent', async (_, issue, error) => {
      const receiver = await fixture.startReceiver({ certificate: await issue() });
      expect(await post(fixture.createClient(), receiver.url('/'))).toEqual({
        kind: 'failed',
        cause: 'tls',
        error,
      });
      expect(receiver.requests).toHaveLength(0);
    });

    test('a server that speaks no TLS 1.2 fails the attempt', async () => {
      const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
      const receiver = await fixture.startReceiver({ tls: old });
      const answer = await post(fixture.createClient(), receiver.url('/'));
      expect(answer).toMatchObject({ kind: 'failed', cause: 'tls' });
      expect(answer).toMatchObject({ error: expect.stringMatching(/^TLS: .*protocol/) });
    });

    test('a server that offers only DHE fails the attempt: its group may cost a second of CPU', async () => {
      const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: F4 };
      const certificate = await fixture.authority.selfSigned({ addresses: ['127.0.0.1'], algorithm: rsa });
      const tls = { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' } as const;
      const receiver = await fixture.startReceiver({ certificate, tls });
      const client = fixture.createClient({ ca: [certificate.certPem] });
      expect(await post(client, receiver.url('/'))).toEqual(HANDSHAKE_FAILURE);
    });

    test('a server that renegotiates fails the attempt: it could do so without end', async () => {
      const receiver = await fixture.startReceiver({ tls: { maxVersion: 'TLSv1.2' } });
      let handshakes = 0;
      receiver.always('/', {
        status: null,
        play: ({ socket, response }) => {
          socket.renegotiate({}, () => {
            handshakes += 1;
            response.end();
          });
        },
      });
      expect(await post(fixture.createClient(), receiver.url('/'))).toEqual(HANDSHAKE_FAILURE);
      expect(handshakes).toBe(0);
    });

    test.each(['key update' as const, 'session ticket' as const])(
      'a server that sends a %s again and again is cut off',
      async (kind) => {
        const { certPem: cert, keyPem: key } = await fixture.authority.issue({ addresses: ['127.0.0.1'] });
        const server = createServer({ cert, key, ciphers: 'TLS_AES_128_GCM_SHA256' });
        const sockets: Socket[] = [];
        let secret = Buffer.alloc(0);
        server.on('connection', (tcp: Socket) => void sockets.push(tcp.on('error', () => undefined)));
        server.on('keylog', (line: Buffer) => {
          const [label, , hex = ''] = line.toString().trim().split(' ');
          if (label === 'SERVER_TRAFFIC_SECRET_0') secret = Buffer.from(hex, 'hex');
        });
        // Two session tickets and this answer are the records with the first key.
        server.on('request', (request: IncomingMessage) => {
          const flood = () => sockets[0]?.write(handshakeFlood(kind, secret, 3, 100));
          request.socket.write('HTTP/1.1 102 Processing\r\n\r\n', flood);
        });
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        fixture.atEnd(() => {
          for (const tcp of sockets) tcp.destroy();
          server.close();
        });
        const { port } = server.address() as AddressInfo;
        expect(await post(fixture.createClient(), `https://127.0.0.1:${port}/`)).toEqual({
          kind: 'failed',
          cause: 'tls',
          error: 'TLS: too many handshake messages',
        });
      },
    );

    test('plain HTTP on the port fails the attempt and never sees the event', async () => {
      const listener = await fixture.startListener(
        (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
      );
      expect(await post(fixture.createClient(), `https://127.0.0.1:${listener.port}/`)).toEqual({
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
      const listener = await fixture.startListener(onSocket);
      expect(await post(fixture.createClient(), `https://127.0.0.1:${listener.port}/`)).toEqual({
        kind: 'failed',
        cause: 'tls',
        error: 'TLS: connection closed during the handshake',
      });
    });

    test('a handshake that stalls ends at the deadline', async () => {
      const listener = await fixture.startListener();
      const answer = await post(
        fixture.createClient({ timeoutMs: 300 }),
        `https://127.0.0.1:${listener.port}/`,
      );
      expect(answer).toEqual({ kind: 'failed', cause: 'timeout', error: 'timeout after 300 ms' });
      await waitFor(() => listener.openSockets === 0, { what: 'the connection to be closed' });
    });

    test('without the test authority the system roots decide: its certificate is not trusted', async () => {
      const receiver = await fixture.startReceiver();
      const client = new EndpointClient({
        httpClient: fixture.httpClient,
        guard: GUARD,
        timeoutMs: 20_000,
        socketsPerHost: 1,
      });
      fixture.atEnd(() => client.close());
      expect(await post(client, receiver.url('/'))).toMatchObject({ kind: 'failed', cause: 'tls' });
    });
  });

  describe('connecting', () => {
    test('a refused connection names the address and the port', async () => {
      expect(await post(fixture.createClient(), `https://127.0.0.1:${CLOSED_PORT}/`)).toEqual({
        kind: 'failed',
        cause: 'connect',
        error: `connect ECONNREFUSED 127.0.0.1:${CLOSED_PORT}`,
      });
    });

    const opensOne = async (host: string, hostname?: string) => {
      const receiver = await fixture.startReceiver({ host });
      const { client } = await fixture.createClientWithNames(() => ({ addresses: [host] }));
      expect(await post(client, receiver.url('/hook', hostname))).toMatchObject({ statusCode: 200 });
      expect(await post(client, receiver.url('/hook', hostname))).toMatchObject({ statusCode: 200 });
      expect(receiver.connections).toBe(1);
    };

    test.each([
      ['an address', undefined],
      ['a name', NAME],
    ])('to %s opens one connection, which serves the next attempt too', async (_, hostname) =>
      opensOne('127.0.0.1', hostname),
    );

    testWithIpv6('to an IPv6 address opens one connection, which serves the next attempt too', async () =>
      opensOne('::1'),
    );

    test('an endpoint that speaks before TLS does fails as any other that does not speak TLS', async () => {
      const listener = await fixture.startListener(
        (socket) => void socket.write('220 mail.example ESMTP\r\n'),
      );
      expect(await post(fixture.createClient(), `https://127.0.0.1:${listener.port}/`)).toMatchObject({
        kind: 'failed',
        cause: 'tls',
      });
      await waitFor(() => listener.openSockets === 0, { what: 'the connection to be closed' });
    });

    test('an IPv6 address is named in brackets', async () => {
      expect(await post(fixture.createClient(), `https://[::1]:${CLOSED_PORT}/`)).toMatchObject({
        cause: 'connect',
        error: expect.stringMatching(new RegExp(`^connect E[A-Z]+ \\[::1\\]:${CLOSED_PORT}$`)),
      });
    });

    test('a name with a dead address and a live one reaches the live one', async () => {
      const receiver = await fixture.startReceiver();
      const { client } = await fixture.createClientWithNames(() => ({ addresses: ['127.0.0.1', '::1'] }));
      expect(await post(client, receiver.url('/', NAME))).toMatchObject({
        kind: 'answered',
        statusCode: 200,
      });
    });

    test('a name whose addresses are all dead fails with the first of the reasons', async () => {
      const { client } = await fixture.createClientWithNames(() => ({ addresses: ['127.0.0.1', '::1'] }));
      expect(await post(client, `https://${NAME}:${CLOSED_PORT}/`)).toMatchObject({
        cause: 'connect',
        error: `connect ECONNREFUSED 127.0.0.1:${CLOSED_PORT}`,
      });
    });
  });
});

function post(client: EndpointClient, endpoint: string): Promise<EndpointResult> {
  return client.post({ endpoint, body: Buffer.from('{"secret":"content"}'), headers: {} });
}
