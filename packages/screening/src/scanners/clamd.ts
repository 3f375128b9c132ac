import { connect } from 'node:net';
import type { NetConnectOpts, Socket } from 'node:net';
import { ScreeningUnavailableError } from './screening-unavailable-error.ts';

interface ClamdOptions {
  readonly target: NetConnectOpts;
  /** Time limit of a scan, connecting included. */
  readonly timeoutMs: number;
}

/** clamd takes chunks of any size up to StreamMaxLength. */
const CHUNK_BYTES = 65_536;
const REPLY_BYTES_MAX = 4096;
const NUL = 0;

/**
 * Scans with ClamAV's daemon, with its command INSTREAM (man clamd). clamd refuses a message over its
 * `StreamMaxLength` (100 MB by default), so no verdict exists for it. Each scan opens its own connection.
 */
export class ClamdScanner {
  readonly #options: ClamdOptions;

  constructor(options: ClamdOptions) {
    this.#options = options;
  }

  /** @returns whether clamd found a virus. @throws ScreeningUnavailableError */
  async scan(raw: Uint8Array): Promise<boolean> {
    return hasVirus(await exchange(this.#options, raw));
  }
}

/** Sends the message. Resolves with the first reply, without its final NUL. */
function exchange({ target, timeoutMs }: ClamdOptions, raw: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(target);
    const settle = (act: () => void) => {
      clearTimeout(deadline);
      socket.destroy();
      act();
    };
    const fail = (reason: string, cause?: Error) =>
      settle(() => reject(new ScreeningUnavailableError('clamd', reason, { cause })));
    const deadline = setTimeout(() => fail(`no reply within ${timeoutMs} ms`), timeoutMs);

    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf(NUL);
      if (end !== -1) settle(() => resolve(received.toString('utf8', 0, end)));
      else if (received.length > REPLY_BYTES_MAX) fail(`more than ${REPLY_BYTES_MAX} bytes without a reply`);
    });
    socket.on('error', (error) => fail(error.message, error));
    socket.on('close', () => fail('closed without a reply')); // after a reply, this has no effect
    socket.once('connect', () => writeStream(socket, raw));
  });
}

/**
 * Sends chunks, each after its length. Length 0 ends the stream. With the prefix `z`, replies end with NUL.
 */
function writeStream(socket: Socket, raw: Uint8Array): void {
  socket.write('zINSTREAM\0');
  for (let start = 0; start < raw.length; start += CHUNK_BYTES) {
    const chunk = raw.subarray(start, start + CHUNK_BYTES);
    socket.write(lengthOf(chunk.length));
    socket.write(chunk);
  }
  socket.write(lengthOf(0));
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  return length;
}

function hasVirus(reply: string): boolean {
  if (reply === 'stream: OK') return false;
  if (/^stream: .+ FOUND$/s.test(reply)) return true;
  throw new ScreeningUnavailableError('clamd', quotedStart(reply));
}

/** The first 200 characters as JSON, so that the log has no control characters. */
function quotedStart(reply: string): string {
  return JSON.stringify(reply.slice(0, 200));
}
