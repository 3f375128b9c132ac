import { freePort, portFault } from '@postrider/embedded';
import { StartError } from '../settings.ts';
import type { Settings } from '../settings.ts';

/** The variable of the host that belongs to each port variable. */
const HOST_OF = {
  PORT: 'HOST',
  METRICS_PORT: 'METRICS_HOST',
  INBOUND_SMTP_PORT: 'INBOUND_SMTP_HOST',
  CONSOLE_PORT: 'CONSOLE_HOST',
} as const;
type PortVariable = keyof typeof HOST_OF;

/** @returns the port to use. @throws StartError with the variable to change. */
export async function requirePort(host: string, port: number, variable: PortVariable): Promise<number> {
  if (port === 0) return freePort();
  const fault = await portFault(host, port);
  switch (fault) {
    case null:
      return port;
    case 'EADDRINUSE':
      throw new StartError(
        `port ${port} on ${host} is taken; choose another: ${variable}=${await freePort()} npm start`,
      );
    case 'EACCES':
      throw new StartError(`port ${port} may not be used by this user; choose another with ${variable}`);
    default:
      throw new StartError(`${HOST_OF[variable]}=${host} cannot be listened on (${fault})`);
  }
}

/**
 * Returns `port` when the user set it, and throws if it is taken. Without a setting, `port` is the default:
 * returns it, or any free port when it is taken or is also the port of another server.
 */
export async function choosePort(
  settings: Settings,
  host: string,
  port: number,
  variable: PortVariable,
): Promise<number> {
  if (settings.env[variable] !== undefined) return requirePort(host, port, variable);
  const { port: apiPort, smtpPort, consolePort, metricsPort } = settings;
  const allPorts = [apiPort, smtpPort, consolePort, metricsPort];
  const isNamedTwice = allPorts.filter((each) => each === port).length > 1;
  return !isNamedTwice && (await portFault(host, port)) === null ? port : freePort();
}

/** The host to connect to, from this machine, for a server that listens on `host`. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** `host` as a URL writes it. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
