import { connect, Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createTestDatabase, startTcpListener } from '@postrider/testing';
import { openSession } from './session.ts';

/** First byte of the message with which a client ends its connection. */
const TERMINATE = 'X'.charCodeAt(0);

test('a server that only reads is refused, even if it never closes the connection', async () => {
  const database = await createTestDatabase();
  const { hostname, port, pathname } = new URL(database.url);
  await database.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
  const proxy = await startTcpListener((socket) => {
    socket.allowHalfOpen = true;
    const server = connect(Number(port), hostname);
    server.pipe(socket);
    socket.on('data', (chunk) => chunk[0] === TERMINATE || server.write(chunk));
    socket.once('close', () => server.destroy());
  });
  const url = new URL(database.url);
  url.port = String(proxy.port);
  await expect(openSession({ connectionString: url.href })).rejects.toThrow('this server only reads');
  await proxy.close();
  await database.drop();
});

test('a session sends keepalive probes, so that nothing on the way drops it during a statement of minutes', async () => {
  const asked: unknown[] = [];
  class WatchedSocket extends Socket {
    override setKeepAlive(...given: [enable?: boolean, initialDelay?: number]): this {
      asked.push(given);
      return super.setKeepAlive(...given);
    }
  }
  const database = await createTestDatabase();
  const session = await openSession({
    connectionString: database.url,
    stream: () => new WatchedSocket(),
  });
  expect(asked).toEqual([[true, 10_000]]);
  await session.end();
  await database.drop();
});
