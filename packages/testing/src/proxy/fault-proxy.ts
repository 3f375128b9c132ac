import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { listen } from '../listening-server.ts';
import { waitFor } from '../wait-for.ts';
import { createFlow, resetConnection } from './flow.ts';
import type { Direction, Flow, FlowMode } from './flow.ts';
import { createFinder } from './trap.ts';
import type { Caught, Trap, TrapRequest } from './trap.ts';

const BOTH: readonly Direction[] = ['toServer', 'toClient'];

/**
 * A TCP proxy before a server, such as Postgres or Redis, that causes faults on request. A mode holds for
 * open and for later connections. The end of a client waits behind held bytes, like everything else.
 */
export interface FaultProxy {
  readonly port: number;
  /** `url` with the proxy's address in place of the server's. */
  url(url: string): string;
  /** The number of open connections. */
  readonly open: number;
  /** The number of connections accepted so far. */
  readonly accepted: number;
  /** The number of connections refused since the last `takeAway`. */
  readonly refused: number;
  /** Bytes wait, as on a link that is down for a while. */
  hold(...directions: Direction[]): void;
  /** Bytes vanish and no side learns it, not even of an end: the half-open connection. */
  drop(...directions: Direction[]): void;
  /** No byte is read: the process at the other end is frozen. */
  freeze(): void;
  /** Everything goes on again, held bytes first. Dropped bytes are gone. */
  pass(): void;
  /** Open connections carry nothing any more, and never end by themselves. New ones work. */
  strand(): void;
  /** Each direction takes this much longer. */
  slow(ms: number): void;
  /** Resets every connection on both sides. @returns their number */
  cut(): number;
  /** The server is away: cuts, and resets new connections at once, until `restore`. */
  takeAway(): void;
  /** Accepts connections and passes everything again. */
  restore(): void;
  /** New connections go to another port of 127.0.0.1, as behind an address that moved. Open ones stay. */
  moveTo(port: number): void;
  /** Waits on the wire for a text, once, and holds the connection that carried it. */
  trap(request: TrapRequest): Trap;
  close(): Promise<void>;
}

type Address = { readonly host: string; readonly port: number };

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly flows: Readonly<Record<Direction, Flow>>;
}

interface ArmedTrap {
  readonly request: TrapRequest;
  readonly catch: (link: Link) => void;
}

const CATCH_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 2;

/**
 * @param target a URL, or a function that is asked for each new connection: a server may come back elsewhere
 * @param host the address to listen on
 */
export async function startFaultProxy(
  target: string | (() => Address),
  host = '127.0.0.1',
): Promise<FaultProxy> {
  const links = new Set<Link>();
  const stranded = new Set<Link>();
  const armed = new Map<ArmedTrap, number>();
  const modes: Record<Direction, FlowMode> = { toServer: 'pass', toClient: 'pass' };
  let addressOf = typeof target === 'string' ? () => addressIn(target) : target;
  let delayMs = 0;
  let refusing = false;
  let accepted = 0;
  let refused = 0;

  function linkTo(client: Socket): void {
    accepted += 1;
    const server = connect({ ...addressOf(), allowHalfOpen: true });
    for (const socket of [client, server]) socket.setNoDelay(true).on('error', () => undefined);
    const flow = (direction: Direction, source: Socket, sink: Socket): Flow => {
      const inspect = inspector(direction, () => link);
      return createFlow(source, sink, { mode: modes[direction], delayMs, inspect });
    };
    const link: Link = {
      client,
      server,
      flows: { toServer: flow('toServer', client, server), toClient: flow('toClient', server, client) },
    };
    links.add(link);
    const forget = (): void => {
      if (!client.destroyed || !server.destroyed) return;
      links.delete(link);
      stranded.delete(link);
    };
    client.once('close', forget);
    server.once('close', forget);
  }

  /** Looks for the texts of the traps, in each connection separately. */
  function inspector(direction: Direction, link: () => Link): (chunk: Buffer) => void {
    const finders = new Map<ArmedTrap, (chunk: Buffer) => number>();
    return (chunk) => {
      for (const [trap, passed] of armed) {
        if (trap.request.in !== direction) continue;
        const find = finders.get(trap) ?? createFinder(trap.request.sees);
        finders.set(trap, find);
        const seen = passed + find(chunk);
        armed.set(trap, seen);
        if (seen > (trap.request.skip ?? 0)) trap.catch(link());
      }
    };
  }

  function setModes(mode: FlowMode, directions: readonly Direction[]): void {
    for (const direction of directions.length === 0 ? BOTH : directions) {
      modes[direction] = mode;
      for (const link of links) link.flows[direction].setMode(mode);
    }
  }

  function cut(): number {
    const all = [...links, ...stranded];
    for (const link of all) cutLink(link);
    return all.length;
  }

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (!refusing) {
      linkTo(client);
      return;
    }
    refused += 1;
    client.resetAndDestroy();
  });
  const { port, close } = await listen(listener, { host });

  return {
    port,
    url: (url) => Object.assign(new URL(url), { hostname: host, port: String(port) }).href,
    get open() {
      return links.size;
    },
    get accepted() {
      return accepted;
    },
    get refused() {
      return refused;
    },
    hold: (...directions) => setModes('hold', directions),
    drop: (...directions) => setModes('drop', directions),
    freeze: () => setModes('unread', BOTH),
    pass: () => setModes('pass', BOTH),
    strand() {
      for (const link of links) {
        for (const direction of BOTH) link.flows[direction].setMode('drop');
        stranded.add(link);
      }
      links.clear();
    },
    slow(ms) {
      delayMs = ms;
      for (const link of links) for (const direction of BOTH) link.flows[direction].setDelay(ms);
    },
    cut,
    takeAway() {
      refusing = true;
      refused = 0;
      cut();
    },
    restore() {
      refusing = false;
      setModes('pass', BOTH);
    },
    moveTo: (moved) => void (addressOf = () => ({ host: '127.0.0.1', port: moved })),
    trap: (request) => armTrap(request, armed),
    async close() {
      cut();
      await close();
    },
  };
}

function addressIn(url: string): Address {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

function cutLink({ client, server }: Link): void {
  resetConnection(client);
  resetConnection(server);
}

function armTrap(request: TrapRequest, armed: Map<ArmedTrap, number>): Trap {
  let caught: Caught | null = null;
  const trap: ArmedTrap = {
    request,
    catch(link) {
      armed.delete(trap);
      link.flows[request.holds].setMode('hold');
      caught = caughtOn(link, request.holds);
    },
  };
  armed.set(trap, 0);
  return {
    caught: (withinMs = CATCH_WITHIN_MS) =>
      waitFor(() => caught, {
        what: `"${request.sees}" to pass`,
        timeoutMs: withinMs,
        intervalMs: LOOK_EVERY_MS,
      }),
    disarm: () => void armed.delete(trap),
  };
}

function caughtOn(link: Link, held: Direction): Caught {
  return {
    async answered() {
      await waitFor(() => link.flows[held].heldBytes > 0, {
        what: 'an answer to be held',
        timeoutMs: CATCH_WITHIN_MS,
        intervalMs: LOOK_EVERY_MS,
      });
    },
    release: () => link.flows[held].setMode('pass'),
    cut: () => cutLink(link),
  };
}
