import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { startTcpListener } from '@postrider/testing';

/** A line to Postgres that a test may cut, or let carry the questions and lose the answers. */
export interface PostgresLine {
  /** The database's address, by this line. */
  readonly url: string;
  /** How many new connections were cut off since the line was. */
  readonly cutOff: number;
  cut(): void;
  loseAnswers(): void;
  /** For connections made from now on. */
  restore(): void;
  close(): Promise<void>;
}

export async function startPostgresLine(databaseUrl: string): Promise<PostgresLine> {
  const target = new URL(databaseUrl);
  const open = new Set<Socket>();
  let state: 'whole' | 'cut' | 'answers lost' = 'whole';
  let cutOff = 0;

  function join(from: Socket, to: Socket, passes: () => boolean): void {
    open.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      open.delete(from);
      to.destroy();
    });
    from.on('data', (chunk) => {
      if (passes()) to.write(chunk);
    });
  }

  function cut(): void {
    state = 'cut';
    cutOff = 0;
    for (const socket of open) socket.destroy();
  }

  const listener = await startTcpListener((client) => {
    if (state === 'cut') {
      cutOff += 1;
      client.destroy();
      return;
    }
    const server = connect(Number(target.port), target.hostname);
    join(client, server, () => state !== 'cut');
    join(server, client, () => state === 'whole');
  });

  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(listener.port) }).href,
    get cutOff() {
      return cutOff;
    },
    cut,
    loseAnswers: () => void (state = 'answers lost'),
    restore: () => void (state = 'whole'),
    async close() {
      cut();
      await listener.close();
    },
  };
}
