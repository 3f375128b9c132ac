import { connect } from 'node:net';

/** What a client says, whatever it is told meanwhile: a head, and pieces of a body until it is cut off. */
export interface Spoken {
  /** Up to and with the empty line, if it has one. */
  readonly head: string;
  /** A piece of its body, sent again and again. */
  readonly piece: Buffer;
  /** How often; without end. */
  readonly times?: number;
  /** Between two pieces; as fast as they are taken. */
  readonly everyMs?: number;
}

export interface Conversation {
  /** Of the answer; null: there was none. */
  readonly status: number | null;
  /** Of what was sent, what was on its way when the answer came. */
  readonly sentBeforeAnswerBytes: number;
  /** Handed to the network until the connection ended, or was given up. */
  readonly sentBytes: number;
}

/** More than any server should take: a client that is not cut off is no endless test. */
const GIVEN_UP_AFTER_BYTES = 256 * 1024 * 1024;
const GIVEN_UP_AFTER_MS = 60_000;

/** Speaks to a server by hand, until it is cut off or has the whole of an answer to what it sent. */
export function converse(
  port: number,
  { head, piece, times = Infinity, everyMs = 0 }: Spoken,
): Promise<Conversation> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let received = '';
    let pieces = 0;
    let sentBeforeAnswerBytes = 0;
    let timer: NodeJS.Timeout | undefined;
    const giveUp = setTimeout(() => socket.destroy(), GIVEN_UP_AFTER_MS);
    const speak = (): void => {
      if (!socket.writable || socket.bytesWritten > GIVEN_UP_AFTER_BYTES) {
        socket.destroy();
        return;
      }
      if (pieces === times) return;
      pieces += 1;
      const goOn = (): void => {
        timer = setTimeout(speak, everyMs);
      };
      if (socket.write(piece)) goOn();
      else socket.once('drain', goOn);
    };
    socket.on('connect', () => {
      socket.write(head);
      speak();
    });
    socket.on('data', (chunk) => {
      if (received === '') sentBeforeAnswerBytes = socket.bytesWritten;
      received += chunk.toString('latin1');
    });
    socket.on('end', () => socket.destroy());
    socket.on('error', () => undefined); // cut off: what was answered before counts
    socket.on('close', () => {
      clearTimeout(giveUp);
      clearTimeout(timer);
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1];
      resolve({
        status: status === undefined ? null : Number(status),
        sentBeforeAnswerBytes,
        sentBytes: socket.bytesWritten,
      });
    });
  });
}
