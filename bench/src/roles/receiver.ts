import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { monotonicMs } from '../monotonic.ts';

/** The behaviour of an endpoint, chosen by the first part of its path. */
export type Behaviour = 'at-once' | `after-${number}-ms` | 'tail' | 'fail' | 'fail-half' | 'never' | 'drip';

const DRIP_EVERY_MS = 1_000;
/** The endpoint `tail`: one answer in a hundred takes two seconds, the others come at once. */
const TAIL_EVERY = 100;
const TAIL_MS = 2_000;

/** Keys and certificates by address, in PEM. */
export type Certificates = Record<string, { readonly key: string; readonly cert: string }>;

/**
 * The customers' endpoints: HTTPS servers on many loopback addresses. They answer 200 after the body, or
 * misbehave as the path says, and record the first arrival of each event. Endpoints of one account have
 * names, such as `/at-once/second`; an arrival there is recorded as `evt_…/second`.
 */
export function receiverCommands(): ReceiverCommands {
  const log = new ArrivalLog();
  const certificates = JSON.parse(readFileSync(required('BENCH_CERTIFICATES_FILE'), 'utf8')) as Certificates;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume().once('end', () => {
      const id = request.headers['service-event-id'];
      const [, , name] = request.url?.split('/') ?? [];
      if (typeof id === 'string') log.note(name === undefined ? id : `${id}/${name}`);
      answer(request, response);
    });
  };
  return {
    clock: () => monotonicMs(),
    listen: (addresses) =>
      Promise.all(
        addresses.map((address) => listenOn(address, createServer({ ...certificates[address] }, onRequest))),
      ),
    reset: () => log.reset(),
    reached: ({ count, withinMs }) =>
      log.until(() => log.arrivals.size >= count, { withinMs, what: `${count} events to arrive` }),
    arrived: ({ ids, withinMs }) => {
      const missing = new Set(ids);
      const allHere = (): boolean => {
        for (const id of missing) if (log.arrivals.has(id)) missing.delete(id);
        return missing.size === 0;
      };
      return log.until(allHere, { withinMs, what: `all of ${ids.length} events to arrive` });
    },
    counts: () => ({ requests: log.requests, events: log.arrivals.size }),
    arrivals: () => [...log.arrivals],
  };
}

export interface ReceiverCommands extends Record<string, (argument: never) => unknown> {
  /** @returns its monotonic clock, in milliseconds */
  readonly clock: (argument: null) => number;
  /** @returns the origin at each address, such as `https://127.0.1.1:40001` */
  readonly listen: (addresses: readonly string[]) => Promise<string[]>;
  /** Forgets all arrivals. */
  readonly reset: (argument: null) => void;
  /** Resolves when `count` different events have arrived, with the time of the last. */
  readonly reached: (wish: { readonly count: number; readonly withinMs: number }) => Promise<number>;
  /** Resolves when all these events have arrived. */
  readonly arrived: (wish: { readonly ids: readonly string[]; readonly withinMs: number }) => Promise<number>;
  readonly counts: (argument: null) => { requests: number; events: number };
  /** The id and the first arrival of each event. */
  readonly arrivals: (argument: null) => [id: string, atMs: number][];
}

class ArrivalLog {
  arrivals = new Map<string, number>();
  requests = 0;
  #onArrival: (() => void) | null = null;

  note(id: string): void {
    this.requests += 1;
    if (this.arrivals.has(id)) return;
    this.arrivals.set(id, monotonicMs());
    this.#onArrival?.();
  }

  reset(): void {
    this.arrivals = new Map();
    this.requests = 0;
  }

  /** @returns the time when it became true. Only one wait at a time. */
  until(isTrue: () => boolean, wait: { withinMs: number; what: string }): Promise<number> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#onArrival = null;
        reject(new Error(`waited ${wait.withinMs} ms for ${wait.what}; ${this.arrivals.size} have`));
      }, wait.withinMs);
      this.#onArrival = () => {
        if (!isTrue()) return;
        this.#onArrival = null;
        clearTimeout(timer);
        resolve(monotonicMs());
      };
      this.#onArrival();
    });
  }
}

let tailed = 0;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const behaviour = (request.url?.split('/')[1] ?? 'at-once') as Behaviour;
  switch (behaviour) {
    case 'never':
      return;
    case 'drip':
      drip(request);
      return;
    case 'fail-half':
      response.writeHead(Math.random() < 0.5 ? 503 : 200).end();
      return;
    case 'fail':
      response.writeHead(503).end();
      return;
    case 'tail':
      tailed += 1;
      if (tailed % TAIL_EVERY === 0) setTimeout(() => response.end(), TAIL_MS);
      else response.end();
      return;
    case 'at-once':
      response.end();
      return;
    default: {
      const [, takesMs = '0'] = /^after-(\d+)-ms$/.exec(behaviour) ?? [];
      setTimeout(() => response.end(), Number(takesMs));
    }
  }
}

/** Sends the head of a good answer, one byte per second. */
function drip({ socket }: IncomingMessage): void {
  const bytes = Buffer.from(`HTTP/1.1 200 OK\r\nx-slow: ${'z'.repeat(200)}\r\ncontent-length: 0\r\n\r\n`);
  let sent = 0;
  const timer = setInterval(() => {
    socket.write(bytes.subarray(sent, sent + 1));
    sent += 1;
    if (sent === bytes.length) clearInterval(timer);
  }, DRIP_EVERY_MS);
  socket.once('close', () => clearInterval(timer));
}

async function listenOn(address: string, server: Server): Promise<string> {
  server.keepAliveTimeout = 60_000;
  server.listen(0, address, 4_096);
  await once(server, 'listening');
  return `https://${address}:${(server.address() as AddressInfo).port}`;
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}
