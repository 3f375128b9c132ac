/** A server or anything that the global teardown has to end. */
export interface Stoppable {
  stop(): Promise<void>;
}

const KEY = Symbol.for('postrider.test.running');

/** Jest loads setup and teardown separately, so they share this list through the global object. */
const shared = globalThis as unknown as Record<symbol, Stoppable[] | undefined>;

export function keepRunning(server: Stoppable): void {
  (shared[KEY] ??= []).push(server);
}

/** Begins to stop all at once, the last started first. Throws the first failure when all have ended. */
export async function stopAll(): Promise<void> {
  const servers = (shared[KEY] ?? []).splice(0).reverse();
  const results = await Promise.allSettled(servers.map((server) => server.stop()));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
