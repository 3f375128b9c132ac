import { createServer } from 'node:net';

/**
 * Finds a free TCP port on 127.0.0.1. Another program may take it before the caller binds it. The caller must
 * then ask for another port.
 */
export async function freePort(): Promise<number> {
  const port = await bind(0);
  if (port === null) throw new Error('the system has no free TCP port on 127.0.0.1');
  return port;
}

/** Tries to bind `port` on 127.0.0.1. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await bind(port)) !== null;
}

async function bind(port: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null);
      else reject(error);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
