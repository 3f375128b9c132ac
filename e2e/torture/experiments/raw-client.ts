import { connect } from 'node:net';

/** The bytes that a client sends, whatever the server answers: a head, and then pieces of a body. */
export interface Spoken {
  /** The head, with the empty line at its end, if there is one. */
  readonly head: string;
  /** A piece of the body, sent again and again. */
  readonly piece: Buffer;
  /** The number of pieces. Default: without end. */
  readonly times?: number;
  /** The pause between two pieces. Default: 0. */
  readonly everyMs?: number;
}

export interface Conversation {
  /** The status of the answer. Null: none. */
  readonly status: number | null;
  /** The bytes that the client had sent when the answer began. */
  readonly sentBeforeAnswerBytes: number;
  /** The bytes that the client sent until the end of the connection. */
  readonly sentBytes: number;
}

/** The client ends the connection, when the server has not ended it after so many bytes or so long. */
const GIVEN_UP_AFTER_BYTES = 256 * 1024 * 1024;
const GIVEN_UP_AFTER_MS = 60_000;

/** Sends raw bytes to a server, until the server ends the connection. */
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
