import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestAuthority } from '@postrider/testing';

/** A lean HTTPS endpoint: answers 200 as soon as the body is read, and notes when each event arrived. */
export interface Receiver {
  readonly url: string;
  readonly received: number;
  /** Arrival of each event by its id, on this process's monotonic clock. */
  readonly arrivals: ReadonlyMap<string, number>;
  /** Forgets what has arrived so far. */
  reset(): void;
  /** Resolves with the time at which so many had arrived. @throws Error when they have not within the time. */
  reached(count: number, withinMs: number): Promise<number>;
  close(): Promise<void>;
}

export async function startReceiver(authority: TestAuthority): Promise<Receiver> {
  const { keyPem, certPem } = await authority.issue({ names: [], addresses: ['127.0.0.1'] });
  const arrivals = new Map<string, number>();
  let received = 0;
  let onArrival: (() => void) | null = null;
  const server = createServer(
    { key: keyPem, cert: certPem, keepAliveTimeout: 60_000 },
    (request, response) => {
      request.resume().once('end', () => {
        received += 1;
        const id = request.headers['service-event-id'];
        if (typeof id === 'string' && !arrivals.has(id)) arrivals.set(id, performance.now());
        response.end();
        onArrival?.();
      });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    get received() {
      return received;
    },
    arrivals,
    reset() {
      arrivals.clear();
      received = 0;
    },
    reached(count, withinMs) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          reject(new Error(`${received} of ${count} arrived in ${withinMs} ms`));
        }, withinMs);
        onArrival = () => {
          if (received < count) return;
          onArrival = null;
          clearTimeout(timer);
          resolve(performance.now());
        };
        onArrival();
      });
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
