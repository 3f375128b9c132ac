/** A server, or anything else, that the global teardown has to end. */
export interface Stoppable {
  stop(): Promise<void>;
}

const KEY = Symbol.for('postrider.test.running');

/** Setup and teardown are loaded apart from each other; what they share hangs on the global object. */
const shared = globalThis as unknown as Record<symbol, Stoppable[] | undefined>;

export function keepRunning(server: Stoppable): void {
  (shared[KEY] ??= []).push(server);
}

/** Stops everything, the last started first, and reports the first failure at the end. */
export async function stopAll(): Promise<void> {
  const servers = (shared[KEY] ?? []).splice(0).reverse();
  const results = await Promise.allSettled(servers.map((server) => server.stop()));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
