import type { Socket } from 'node:net';
import { READ_OFF_BYTES_MAX } from './unread-body.ts';

/**
 * Makes `socket.destroySoon()` close the connection in two steps (RFC 9112 9.6). Node and we call that method
 * after the last answer. Our side closes first. The rest closes when the client closes its side, or after
 * `timeoutMs`. Closing at once with unread bytes would reset the connection, and the client could lose the
 * answer.
 */
export function closeInTwoSteps(socket: Socket, timeoutMs: number): void {
  socket.destroySoon = () => {
    if (socket.writableEnded) return;
    socket.end();
    if (!socket.readableEnded) throwAwayWhatComes(socket, timeoutMs);
  };
}

/** The socket destroys itself when both sides have ended. */
function throwAwayWhatComes(socket: Socket, timeoutMs: number): void {
  let bytes = 0;
  socket.removeAllListeners('data'); // the HTTP parser listens no more: no further request is served
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
