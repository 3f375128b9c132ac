import type { Socket } from 'node:net';

/**
 * Ends a connection with a reset. Where its end is on the way, the system refuses one (EINVAL), and Node 20 then forgets
 * the socket without closing it: the process could not end by itself. There it is closed.
 */
export function resetConnection(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
