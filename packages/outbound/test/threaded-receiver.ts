import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { TestAuthority } from '@postrider/testing';

/** An HTTPS receiver on a worker thread. It answers even while the test's event loop is blocked. */
export interface ThreadedReceiver {
  /** @param hostname one that leads to it; its address when absent */
  url(hostname?: string): string;
  openSockets(): number;
  /**
   * Blocks the event loop of the calling thread until the receiver has given `count` answers in total, for at
   * most 5 s.
   */
  holdUntilAnswered(count: number): void;
  close(): Promise<void>;
}

/** Indexes of the counters that both threads share. */
const ANSWERS = 0;
const OPEN_SOCKETS = 1;

/** Answers 200 with the number of connections that were made to it. Answers 101 to `/switch`. */
const PROGRAM = `
  const { createServer } = require('node:https');
  const { parentPort, workerData: { tls, counts } } = require('node:worker_threads');
  let connections = 0;
  const server = createServer(tls, (request, response) => {
    request.resume().once('end', () => {
      response.statusCode = request.url === '/switch' ? 101 : 200;
      response.once('finish', () => {
        Atomics.add(counts, ${ANSWERS}, 1);
        Atomics.notify(counts, ${ANSWERS});
      });
      response.end(String(connections));
    });
  });
  server.on('secureConnection', () => { connections += 1; });
  server.on('connection', (socket) => {
    Atomics.add(counts, ${OPEN_SOCKETS}, 1);
    socket.once('close', () => Atomics.sub(counts, ${OPEN_SOCKETS}, 1));
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;
const HELD_MS_MAX = 5_000;

/** @param names that its certificate is valid for, beside its address */
export async function startThreadedReceiver(
  authority: TestAuthority,
  names: string[] = [],
): Promise<ThreadedReceiver> {
  const { certPem, keyPem } = await authority.issue({ names, addresses: ['127.0.0.1'] });
  const counts = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const workerData = { tls: { cert: certPem, key: keyPem }, counts };
  const thread = new Worker(PROGRAM, { eval: true, workerData });
  const [port] = (await once(thread, 'message')) as [number];
  return {
    url: (hostname = '127.0.0.1') => `https://${hostname}:${port}/`,
    openSockets: () => Atomics.load(counts, OPEN_SOCKETS),
    holdUntilAnswered(count) {
      const untilMs = performance.now() + HELD_MS_MAX;
      for (
        let given = 0;
        given < count && performance.now() < untilMs;
        given = Atomics.load(counts, ANSWERS)
      ) {
        Atomics.wait(counts, ANSWERS, given, HELD_MS_MAX);
      }
    },
    async close() {
      await thread.terminate();
    },
  };
}
