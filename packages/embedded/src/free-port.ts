import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Systems choose ports from 32768 on (Linux) or higher ones, for connections and for servers on port 0. */
const PORTS = { first: 20_000, end: 32_768 } as const;
const TRIES = 100;

/**
 * Finds a free TCP port on 127.0.0.1 that the system does not choose by itself. So it is most likely still
 * free when the caller binds it, also after a restart.
 * @throws after 100 tries
 */
export async function freePort(): Promise<number> {
  let fault: string | null = null;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const port = randomInt(PORTS.first, PORTS.end);
    fault = await portFault('127.0.0.1', port);
    if (fault === null) return port;
  }
  throw new Error(`no free port on 127.0.0.1 after ${TRIES} tries: ${fault}`);
}

/** @returns null when the port is free, or the error code, such as `EADDRINUSE`. */
export async function portFault(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
