import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createFlow } from './flow.ts';
import type { Direction, Flow, FlowMode } from './flow.ts';
import { resetConnection } from './reset-connection.ts';
import { createFinder } from './trap.ts';
import type { Caught, Trap, TrapRequest } from './trap.ts';

const BOTH: readonly Direction[] = ['toServer', 'toClient'];

/**
 * A TCP proxy that does harm on request: the failpoint of the experiments. What is set holds for the connections there
 * are and for those to come. A client that dies is passed on like everything else: behind held bytes, its end waits.
 */
export interface FaultProxy {
  readonly port: number;
  /** Connections open now. */
  readonly open: number;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Bytes wait, as on a link that is down for a while. */
  hold(...directions: Direction[]): void;
  /** Bytes vanish and nobody is told, not even of an end: the half-open connection. */
  drop(...directions: Direction[]): void;
  /** Everything goes on again, what was held first. What was dropped is gone. */
  pass(): void;
  /** Each way takes so much longer. */
  slow(ms: number): void;
  /** New connections are reset at once, until `accept`. */
  refuse(): void;
  accept(): void;
  /** New connections lead to another port of this machine, as behind an address that moved. Open ones stay. */
  moveTo(port: number): void;
  /** Resets every connection on both sides. @returns how many. */
  cut(): number;
  /** Waits on the wire for a text, once, and holds the connection that carried it. */
  trap(request: TrapRequest): Trap;
  close(): Promise<void>;
}

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
 * @param target asked for every new connection: a server that comes back may be somewhere else.
 * @param host where to listen.
 */
export async function startFaultProxy(
  target: () => { host: string; port: number },
  host = '127.0.0.1',
): Promise<FaultProxy> {
  const links = new Set<Link>();
  const armed = new Map<ArmedTrap, number>();
  const modes: Record<Direction, FlowMode> = { toServer: 'pass', toClient: 'pass' };
  let delayMs = 0;
  let refusing = false;
  let accepted = 0;
  let movedTo: { host: string; port: number } | null = null;

  function linkTo(client: Socket): void {
    accepted += 1;
    const server = connect({ ...(movedTo ?? target()), allowHalfOpen: true });
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
      if (client.destroyed && server.destroyed) links.delete(link);
    };
    client.once('close', forget);
    server.once('close', forget);
  }

  /** Looks for what the traps wait for; each connection is searched by itself. */
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

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (refusing) client.resetAndDestroy();
    else linkTo(client);
  });
  listener.listen(0, host);
  await once(listener, 'listening');

  return {
    port: (listener.address() as AddressInfo).port,
    get open() {
      return links.size;
    },
    get accepted() {
      return accepted;
    },
    hold: (...directions) => setModes('hold', directions),
    drop: (...directions) => setModes('drop', directions),
    pass: () => setModes('pass', BOTH),
    slow(ms) {
      delayMs = ms;
      for (const link of links) for (const direction of BOTH) link.flows[direction].setDelay(ms);
    },
    refuse: () => void (refusing = true),
    accept: () => void (refusing = false),
    moveTo: (port) => void (movedTo = { host: '127.0.0.1', port }),
    cut: () => cutAll(links),
    trap: (request) => armTrap(request, armed),
    async close() {
      const closed = once(listener, 'close');
      listener.close();
      cutAll(links);
      await closed;
    },
  };
}

function cutAll(links: ReadonlySet<Link>): number {
  const cut = [...links];
  for (const link of cut) cutLink(link);
  return cut.length;
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
    async caught(withinMs = CATCH_WITHIN_MS) {
      const deadline = performance.now() + withinMs;
      while (caught === null) {
        if (performance.now() > deadline) throw new Error(`"${request.sees}" did not pass in ${withinMs} ms`);
        await delay(LOOK_EVERY_MS);
      }
      return caught;
    },
    disarm: () => void armed.delete(trap),
  };
}

function caughtOn(link: Link, held: Direction): Caught {
  return {
    async answered() {
      const deadline = performance.now() + CATCH_WITHIN_MS;
      while (link.flows[held].heldBytes === 0) {
        if (performance.now() > deadline) throw new Error(`no answer was held in ${CATCH_WITHIN_MS} ms`);
        await delay(LOOK_EVERY_MS);
      }
    },
    release: () => link.flows[held].setMode('pass'),
    cut: () => cutLink(link),
  };
}
