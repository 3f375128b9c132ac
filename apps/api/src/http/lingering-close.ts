import type { Socket } from 'node:net';
import { READ_OFF_BYTES_MAX } from './unread-body.ts';

/**
 * Has `socket.destroySoon()`, by which Node and we end a connection behind its last answer, close it in two steps (RFC
 * 9112 9.6): our side first; the rest once the client has closed its own, or after `timeoutMs`. Closed at once with
 * something of the client's unread, the connection would be reset, and an answer that the client has not read yet be lost.
 */
export function closeInTwoSteps(socket: Socket, timeoutMs: number): void {
  socket.destroySoon = () => {
    if (socket.writableEnded) return;
    socket.end();
    if (!socket.readableEnded) throwAwayWhatComes(socket, timeoutMs);
  };
}

/** Once both sides have ended, the socket destroys itself. */
function throwAwayWhatComes(socket: Socket, timeoutMs: number): void {
  let bytes = 0;
  socket.removeAllListeners('data'); // the parser's: no request on this connection is served any more
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    if (bytes > READ_OFF_BYTES_MAX) socket.destroy();
  });
  socket.once('finish', () => {
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.once('close', () => clearTimeout(timer));
  });
  socket.resume();
}
