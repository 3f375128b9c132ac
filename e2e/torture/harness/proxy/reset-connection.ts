import type { Socket } from 'node:net';

/**
 * Ends a connection with a reset. While a shutdown is pending, libuv refuses one (EINVAL). Node 20 then forgets
 * the socket without closing it, and the process cannot end by itself. So it is closed.
 */
export function resetConnection(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
