import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { TestAuthority, TestCertificate } from '../certificates.ts';
import { listen } from '../listening-server.ts';
import { waitFor } from '../wait-for.ts';
import type { Exchange, Reaction, ReceivedRequest } from './behaviour.ts';
import { answer } from './behaviours.ts';

/**
 * An HTTPS server that answers by a test's script and remembers all requests.
 *
 * @example
 * const receiver = await startScriptedReceiver({ authority: await createTestAuthority() });
 * receiver.script('/hook', [answer(503), hang()]); // the first two requests; every further one gets 200
 * receiver.always('/gone', answer(410));
 * …
 * const [first, second] = await receiver.waitForRequests(2, { path: '/hook' });
 * await receiver.close();
 */
export interface ScriptedReceiver {
  /** The port it listens on. */
  port: number;
  /** All requests so far. A request is added just before its behaviour plays. */
  requests: readonly ReceivedRequest[];
  /** The number of TCP connections accepted so far. */
  readonly connections: number;
  /** The number of open TCP connections. */
  readonly openSockets: number;
  /** `https://127.0.0.1:<port><path>`, or with a name that resolves to the receiver. */
  url(path: string, hostname?: string): string;
  /** Queues reactions for the next requests to a path (without its query), in this order. */
  script(path: string, reactions: readonly Reaction[]): void;
  /** Sets the reaction of a path when nothing is queued. Default: 200. */
  always(path: string, reaction: Reaction): void;
  /** Waits until `count` requests (to that path) have arrived since the start, and returns all of them. */
  waitForRequests(count: number, options?: { path?: string; withinMs?: number }): Promise<ReceivedRequest[]>;
  /** Forgets all requests and reactions. Connections stay open and stay counted. */
  reset(): void;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

export interface ScriptedReceiverOptions {
  /** Issues the certificate when none is given. */
  authority: TestAuthority;
  /** DNS names of the certificate, besides the host's address. */
  names?: string[];
  /** The test's own certificate: expired, self-signed, or of another name. */
  certificate?: TestCertificate;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Default: any free port. */
  port?: number;
  /** Further TLS options, such as `maxVersion`. */
  tls?: ServerOptions;
}

/** Starts the receiver; close it before the test ends. */
export async function startScriptedReceiver(options: ScriptedReceiverOptions): Promise<ScriptedReceiver> {
  const host = options.host ?? '127.0.0.1';
  const certificate =
    options.certificate ?? (await options.authority.issue({ names: options.names ?? [], addresses: [host] }));
  const server = createServer({ ...options.tls, key: certificate.keyPem, cert: certificate.certPem });
  // A test decides when a connection ends, not a timer of the server.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  const sockets = trackSockets(server);
  const script = createScript();
  const requests: ReceivedRequest[] = [];
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // A sender may give up half-way. Its request is not listed.
    receive(request, response, { sockets, script, requests }).catch(() => request.socket.destroy());
  });
  const listening = await listen(server, { host, port: options.port });
  const { port } = listening;
  const literal = host.includes(':') ? `[${host}]` : host;

  return {
    port,
    requests,
    get connections() {
      return sockets.accepted();
    },
    get openSockets() {
      return listening.openSockets;
    },
    url: (path, hostname = literal) => `https://${hostname}:${port}${path}`,
    script: (path, reactions) => script.queue(path, reactions),
    always: (path, reaction) => script.always(path, reaction),
    waitForRequests: (count, { path, withinMs } = {}) =>
      waitFor(
        () => {
          const found = requests.filter((request) => path === undefined || pathOf(request) === path);
          if (found.length < count) throw new Error(`${found.length} came`);
          return found;
        },
        { what: `${count} requests to ${path ?? 'any path'}`, timeoutMs: withinMs, intervalMs: 5 },
      ),
    reset() {
      requests.length = 0;
      script.clear();
    },
    close: listening.close,
  };
}

interface Parts {
  sockets: ReturnType<typeof trackSockets>;
  script: ReturnType<typeof createScript>;
  requests: ReceivedRequest[];
}

async function receive(message: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  const tls = message.socket as TLSSocket;
  const { id, tcp } = parts.sockets.beneath(tls);
  const request: ReceivedRequest = {
    method: message.method ?? '',
    path: message.url ?? '',
    headers: message.headers,
    rawHeaders: message.rawHeaders,
    body: Buffer.alloc(0),
    receivedAtMs: performance.now(),
    receivedAt: new Date(),
    socketId: id,
    serverName: tls.servername || null, // false without SNI
    status: null,
  };
  const reaction = parts.script.next(pathOf(request));
  const early = typeof reaction !== 'function' && reaction.beforeBody === true;
  if (!early) request.body = Buffer.concat((await message.toArray()) as Buffer[]);
  const behaviour = typeof reaction === 'function' ? reaction(request) : reaction;
  request.status = behaviour.status;
  parts.requests.push(request);
  await behaviour.play(createExchange(request, response, tls, tcp));
}

function createExchange(
  request: ReceivedRequest,
  response: ServerResponse,
  socket: TLSSocket,
  tcp: Socket,
): Exchange {
  return {
    request,
    response,
    socket,
    reset: () => void tcp.resetAndDestroy(),
    every(intervalMs, action) {
      const timer = setInterval(() => socket.writable && action(), intervalMs);
      socket.once('close', () => clearInterval(timer));
    },
    pump(chunk) {
      const fill = () => {
        while (socket.writable && socket.write(chunk));
      };
      socket.on('drain', fill);
      fill();
    },
  };
}

/** Finds the TCP socket of each TLS socket: only the TCP socket can be reset. */
function trackSockets(server: Server) {
  const open = new Map<string, { id: number; tcp: Socket }>();
  let accepted = 0;
  server.on('connection', (tcp: Socket) => {
    accepted += 1;
    const peer = peerOf(tcp);
    open.set(peer, { id: accepted, tcp });
    tcp.on('error', () => undefined);
    tcp.once('close', () => open.delete(peer));
  });
  server.on('secureConnection', (tls: TLSSocket) => tls.on('error', () => undefined));
  return {
    accepted: () => accepted,
    beneath(tls: TLSSocket) {
      const connection = open.get(peerOf(tls));
      if (connection === undefined) throw new Error('the connection was closed before its request was read');
      return connection;
    },
  };
}

function createScript() {
  const queued = new Map<string, Reaction[]>();
  const usual = new Map<string, Reaction>();
  return {
    queue: (path: string, reactions: readonly Reaction[]) =>
      void queued.set(path, [...(queued.get(path) ?? []), ...reactions]),
    always: (path: string, reaction: Reaction) => void usual.set(path, reaction),
    clear() {
      queued.clear();
      usual.clear();
    },
    next: (path: string): Reaction => queued.get(path)?.shift() ?? usual.get(path) ?? answer(200),
  };
}

function pathOf(request: ReceivedRequest): string {
  return request.path.split('?', 1)[0] ?? '';
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress ?? ''} ${socket.remotePort ?? 0}`;
}
