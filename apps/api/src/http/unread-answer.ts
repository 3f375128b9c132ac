import type { Socket } from 'node:net';

const CHECKS = 6;

/**
 * Closes the connection when its client takes no byte of an answer for `timeoutMs`. Node's own time limit
 * begins again when the client sends a byte. Write long answers in pieces: only a further piece shows that
 * the client reads.
 */
export function closeWhenUnread(socket: Socket, timeoutMs: number): void {
  let bytesBefore = 0;
  let checks = 0;
  const timer = setInterval(() => {
    const { bytesWritten, writableLength } = socket;
    checks = writableLength > 0 && bytesWritten === bytesBefore ? checks + 1 : 0;
    bytesBefore = bytesWritten;
    if (checks === CHECKS) socket.destroy();
  }, timeoutMs / CHECKS);
  socket.once('close', () => clearInterval(timer));
}
