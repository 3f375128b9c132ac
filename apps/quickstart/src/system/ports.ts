import { freePort, portFault } from '@postrider/embedded';
import { StartError } from '../settings.ts';

/** @returns the port to use. @throws StartError with the variable to change. */
export async function requirePort(host: string, port: number): Promise<number> {
  if (port === 0) return freePort();
  const fault = await portFault(host, port);
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

/** Returns `port` if it is free, or any free port. */
export async function portOrFree(host: string, port: number): Promise<number> {
  return port !== 0 && (await portFault(host, port)) === null ? port : freePort();
}

/** The host part of a URL that reaches, from this machine, a server that listens on `host`. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::' || host === '[::]') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
