import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { TestAuthority } from '@postrider/testing';

/** An HTTPS receiver on a thread of its own: it also answers while the test's event loop is held. */
export interface ThreadedReceiver {
  readonly url: string;
  /** Holds the event loop of this thread until so many answers have been given in all, or for some seconds: it may be what they wait for. */
  holdUntilAnswered(count: number): void;
  close(): Promise<void>;
}

/** Answers 200 with the number of connections that were made to it. */
const PROGRAM = `
  const { createServer } = require('node:https');
  const { parentPort, workerData: { tls, answers } } = require('node:worker_threads');
  let connections = 0;
  const server = createServer(tls, (request, response) => {
    request.resume().once('end', () => {
      response.once('finish', () => {
        Atomics.add(answers, 0, 1);
        Atomics.notify(answers, 0);
      });
      response.end(String(connections));
    });
  });
  server.on('secureConnection', () => { connections += 1; });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;
const HELD_MS_MAX = 5_000;

export async function startThreadedReceiver(authority: TestAuthority): Promise<ThreadedReceiver> {
  const { certPem, keyPem } = await authority.issue({ names: [], addresses: ['127.0.0.1'] });
  const answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData = { tls: { cert: certPem, key: keyPem }, answers };
  const thread = new Worker(PROGRAM, { eval: true, workerData });
  const [port] = (await once(thread, 'message')) as [number];
  return {
    url: `https://127.0.0.1:${port}/`,
    holdUntilAnswered(count) {
      const untilMs = performance.now() + HELD_MS_MAX;
      for (let given = 0; given < count && performance.now() < untilMs; given = Atomics.load(answers, 0)) {
        Atomics.wait(answers, 0, given, HELD_MS_MAX);
      }
    },
    async close() {
      await thread.terminate();
    },
  };
}
