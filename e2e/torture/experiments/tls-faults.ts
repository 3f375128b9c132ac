import { connect } from 'node:net';
import { startScriptedReceiver, startTcpListener } from '@postrider/testing';
import type { ScriptedReceiver, ScriptedReceiverOptions, TcpListener } from '@postrider/testing';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';

const DAY_MS = 86_400_000;
const HOST = '127.0.0.1';

/** A webhook to a server with faulty TLS. */
export interface TlsFault {
  readonly name: string;
  /** The error that the customer must see. */
  readonly lastError: RegExp;
  readonly endpoint: Endpoint;
  /** The listener of the endpoint. It keeps every byte that a worker sends, below TLS. */
  readonly line: TcpListener;
  /** The TLS server behind the listener. Null: there is none. */
  readonly receiver: ScriptedReceiver | null;
}

export async function serversWithWrongTls(world: World): Promise<TlsFault[]> {
  const { authority } = world;
  const ofHost = { addresses: [HOST] };
  const aDayAgo = { notBefore: new Date(Date.now() - 2 * DAY_MS), notAfter: new Date(Date.now() - DAY_MS) };
  const expired = { certificate: await authority.issue({ ...ofHost, ...aDayAgo }) };
  const selfSigned = { certificate: await authority.selfSigned(ofHost) };
  const misnamed = { certificate: await authority.issue({ names: ['elsewhere.test'] }) };
  // Security level 0, because OpenSSL refuses TLS 1.0 at higher levels.
  const old = { tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } } as const;
  const servers: [string, RegExp, Omit<ScriptedReceiverOptions, 'authority'>][] = [
    ['an expired certificate', /^TLS: certificate has expired$/, expired],
    ['a self-signed certificate', /^TLS: self-signed certificate$/, selfSigned],
    ['the certificate of another name', /^TLS: certificate is not valid for 127\.0\.0\.1$/, misnamed],
    ['TLS 1.0', /^TLS: .*(protocol|version)/, old],
  ];
  return Promise.all(
    servers.map(async ([name, lastError, options]) => {
      const receiver = await startScriptedReceiver({ authority, host: HOST, ...options });
      const line = await startTcpListener((socket) => {
        const onward = connect(receiver.port, HOST);
        onward.on('error', () => socket.destroy());
        socket.pipe(onward).pipe(socket);
      });
      return { name, lastError, line, receiver, endpoint: await endpointAt(world, line) };
    }),
  );
}

export async function portsWithoutTls(world: World): Promise<TlsFault[]> {
  const stalled = await startTcpListener();
  const plain = await startTcpListener((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  });
  const ports: [string, RegExp, TcpListener][] = [
    ['a handshake that stalls', /^timeout after \d+ ms$/, stalled],
    ['plain HTTP on the port', /^TLS: (wrong version number|packet length too long)$/, plain],
  ];
  return Promise.all(
    ports.map(async ([name, lastError, line]) => {
      return { name, lastError, line, receiver: null, endpoint: await endpointAt(world, line) };
    }),
  );
}

function endpointAt(world: World, { port }: TcpListener): Promise<Endpoint> {
  return world.endpoint({ url: `https://${HOST}:${port}/`, mayGiveUp: true });
}
