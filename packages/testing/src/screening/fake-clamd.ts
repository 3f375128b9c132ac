import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { listen } from '../listening-server.ts';

/** The EICAR test file. This source has it in two parts, so that no virus scanner finds it here. */
export const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

/**
 * The reaction to a scan. `scan` looks for EICAR, `hang` never replies, `close` ends the connection after the
 * first bytes, `refuse` replies that the stream is too large and ends the connection. `reply` is any other
 * reply.
 */
export type ClamdBehaviour = 'scan' | 'hang' | 'close' | 'refuse' | { reply: string };

/** ClamAV's daemon with INSTREAM only. */
export interface FakeClamd {
  /** `127.0.0.1:<port>`, or `unix:/path`. */
  readonly address: string;
  /** The streams that were received whole. */
  readonly streams: readonly Buffer[];
  /** The number of open connections. */
  readonly openSockets: number;
  behaviour: ClamdBehaviour;
  /** Forgets the streams, and scans again. */
  reset(): void;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

const COMMAND = Buffer.from('zINSTREAM\0');

/** @param path of a unix socket; without it a loopback port */
export async function startFakeClamd(path?: string): Promise<FakeClamd> {
  const streams: Buffer[] = [];

  function receive(socket: Socket, chunks: readonly Buffer[]): void {
    const { behaviour } = clamd;
    if (behaviour === 'close') return void socket.destroy();
    if (behaviour === 'refuse') return void socket.end('INSTREAM size limit exceeded. ERROR\0');
    const stream = readStream(chunks);
    if (stream === null) return;
    streams.push(stream);
    if (behaviour === 'hang') return;
    socket.end(behaviour === 'scan' ? scan(stream) : behaviour.reply);
  }

  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      receive(socket, chunks);
    });
  });
  const listening = await listen(server, path === undefined ? undefined : { path });

  const clamd: FakeClamd = {
    address: path === undefined ? `127.0.0.1:${listening.port}` : `unix:${path}`,
    streams,
    get openSockets() {
      return listening.openSockets;
    },
    behaviour: 'scan',
    reset() {
      streams.length = 0;
      clamd.behaviour = 'scan';
    },
    close: listening.close,
  };
  return clamd;
}

function scan(stream: Buffer): string {
  return stream.includes(EICAR) ? 'stream: Eicar-Test-Signature FOUND\0' : 'stream: OK\0';
}

/** Each part follows its length in 4 bytes. Returns null while the stream is not whole. */
function readStream(chunks: readonly Buffer[]): Buffer | null {
  // The last part is empty, so a whole stream ends with a zero.
  if (chunks.at(-1)?.at(-1) !== 0) return null;
  const received = Buffer.concat(chunks);
  if (!received.subarray(0, COMMAND.length).equals(COMMAND)) return null;
  const parts: Buffer[] = [];
  for (let at = COMMAND.length; at + 4 <= received.length;) {
    const length = received.readUInt32BE(at);
    if (length === 0) return Buffer.concat(parts);
    parts.push(received.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return null;
}
