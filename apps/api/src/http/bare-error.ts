import type { Socket } from 'node:net';
import { newRequestId } from './request-context.ts';

/** The status for each error code of Node's HTTP parser. Other codes answer 400. */
const STATUS_LINES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers bytes that Node could not parse as a request, in plain text, and closes the connection. */
export function sendBareError(socket: Socket, error: NodeJS.ErrnoException): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  endBare(socket, STATUS_LINES[error.code ?? ''] ?? '400 Bad Request');
}

/** Answers with a status line and its text, and closes the connection. */
export function endBare(socket: Socket, statusLine: string): void {
  const text = statusLine.slice(statusLine.indexOf(' ') + 1);
  const head = [
    `HTTP/1.1 ${statusLine}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${text.length}`,
    `x-request-id: ${newRequestId()}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    'Connection: close',
  ].join('\r\n');
  socket.write(`${head}\r\n\r\n${text}`);
  socket.destroySoon();
}
