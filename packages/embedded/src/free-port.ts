import { createServer } from 'node:net';

/**
 * A TCP port on 127.0.0.1 that was free a moment ago. Somebody else may take it before the caller does, so whoever
 * binds it must be ready to ask for another.
 */
export async function freePort(): Promise<number> {
  const port = await bind(0);
  if (port === null) throw new Error('the system has no free TCP port on 127.0.0.1');
  return port;
}

/** Whether `port` on 127.0.0.1 can be bound right now. */
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
