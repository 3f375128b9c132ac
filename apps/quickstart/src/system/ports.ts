import { createServer } from 'node:net';
import { freePort } from '@postrider/embedded';
import { StartError } from '../settings.ts';

/** @returns the port to use. @throws StartError naming the variable to change. */
export async function requirePort(host: string, port: number): Promise<number> {
  if (port === 0) return freePort();
  const fault = await tryPort(host, port);
  switch (fault) {
    case null:
      return port;
    case 'EADDRINUSE':
      throw new StartError(
        `port ${port} on ${host} is taken; choose another: PORT=${port === 65535 ? 3000 : port + 1} npm start`,
      );
    case 'EACCES':
      throw new StartError(`port ${port} may not be used by this user; choose another with PORT`);
    default:
      throw new StartError(`HOST=${host} cannot be listened on (${fault})`);
  }
}

/** The port asked for when it is free, else any free one. */
export async function portOrFree(host: string, port: number): Promise<number> {
  return port !== 0 && (await tryPort(host, port)) === null ? port : freePort();
}

/** Where a server that listens on `host` is reached from this machine, as it stands in a URL. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::' || host === '[::]') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** @returns null when the port can be bound at this moment, else why not. */
async function tryPort(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
