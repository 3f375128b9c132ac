import { once } from 'node:events';
import { createServer } from 'node:net';

/** Hosts that customers' endpoints are spread over. */
const HOSTS = 256;

/**
 * The addresses the receiver listens on: 127.0.1.0 to 127.0.1.255 where all of 127.0.0.0/8 is this machine, as on
 * Linux; else 127.0.0.1 as often, told apart by port.
 */
export async function loopbackAddresses(): Promise<string[]> {
  const spread = await isOurs('127.0.1.1');
  return Array.from({ length: HOSTS }, (_, host) => (spread ? `127.0.1.${host}` : '127.0.0.1'));
}

/** Endpoints that nobody listens at: connecting to any of them is refused at once. */
export function deadEndpoints(count: number): string[] {
  // Port 1 (tcpmux) is not in use anywhere; a host each, from 127.1.0.0 on.
  return Array.from({ length: count }, (_, n) => `https://127.1.${n >> 8}.${n & 255}:1/at-once`);
}

async function isOurs(address: string): Promise<boolean> {
  const server = createServer();
  server.listen(0, address);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL') return false;
    throw error;
  }
  server.close();
  return true;
}
