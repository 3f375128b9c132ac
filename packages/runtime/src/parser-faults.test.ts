import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { parserStatusLine } from './parser-faults.ts';

const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
const LONG = 'x'.repeat(20_000);

test.each([
  ['HPE_HEADER_OVERFLOW', `GET / HTTP/1.1\r\nHost: a\r\nLong: ${LONG}\r\n\r\n`],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', `${CHUNKED}1;${LONG}\r\nx\r\n0\r\n\r\n`],
  ['HPE_INVALID_METHOD', 'nonsense\r\n\r\n'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n'],
])('%s has the status line that Node answers', async (code, bytes) => {
  const options = { requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 };
  const server = createServer(options, (request) => void request.resume());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  try {
    socket.write(bytes);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(`HTTP/1.1 ${parserStatusLine(code)}\r\n`);
  } finally {
    socket.destroy();
    server.close();
  }
});
