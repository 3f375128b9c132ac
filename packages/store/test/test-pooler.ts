import type { Socket } from 'node:net';
import { startTcpListener } from '@postrider/testing';
import { Client } from 'pg';

export interface TestPoolerOptions {
  /** How long a client keeps a server's session: for one transaction, or until it leaves. */
  readonly mode: 'transaction' | 'session';
  /** Sessions with the server. */
  readonly size: number;
  /** Which of several free sessions a client gets: the last one that was used, or the one that is free for longest. */
  readonly order: 'last' | 'first';
  /** When `discard all` cleans a session. */
  readonly cleans: 'when the client leaves' | 'after each transaction' | 'never';
}

/** A session with the server. The pooler reads and writes its messages as bytes. */
interface ServerSession {
  readonly stream: Client['connection']['stream'];
  onMessage: (message: Buffer) => void;
}

/** A pooler as PgBouncer is one, with its two modes. It takes any client, without a password. */
export async function startTestPooler(databaseUrl: string, options: TestPoolerOptions) {
  const clients: Client[] = [];
  const sessions = new Sessions(options);
  for (let n = 0; n < options.size; n += 1) {
    const client = new Client({ connectionString: databaseUrl });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    sessions.add(client.connection.stream);
  }
  const listener = await startTcpListener((socket) => serve(socket, sessions, options));
  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${listener.port}` }).href,
    async close(): Promise<void> {
      await listener.close();
      for (const client of clients) client.connection.stream.destroy();
    },
  };
}

class Sessions {
  readonly #order: TestPoolerOptions['order'];
  readonly #free: ServerSession[] = [];
  readonly #waiting: ((session: ServerSession) => void)[] = [];

  constructor({ order }: TestPoolerOptions) {
    this.#order = order;
  }

  add(stream: ServerSession['stream']): void {
    const session: ServerSession = { stream, onMessage: () => undefined };
    stream.removeAllListeners('data');
    stream.on(
      'data',
      splitter((message) => session.onMessage(message)),
    );
    this.#free.push(session);
  }

  async take(): Promise<ServerSession> {
    return new Promise((resolve) => {
      const session = this.#order === 'last' ? this.#free.pop() : this.#free.shift();
      if (session === undefined) this.#waiting.push(resolve);
      else resolve(session);
    });
  }

  async giveBack(session: ServerSession, clean: boolean): Promise<void> {
    if (clean) {
      await new Promise<void>((resolve) => {
        session.onMessage = (message) => {
          if (isReady(message)) resolve();
        };
        session.stream.write(messageOf('Q', Buffer.from('discard all\0')));
      });
    }
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(session);
    else next(session);
  }
}

function serve(client: Socket, sessions: Sessions, { mode, cleans }: TestPoolerOptions): void {
  let session: Promise<ServerSession> | null = null;
  function leave(clean: boolean): void {
    const left = session;
    session = null;
    void left?.then((given) => sessions.giveBack(given, clean));
  }
  function toServer(message: Buffer): void {
    session ??= sessions.take();
    void session.then((given) => {
      given.onMessage = (answer) => {
        client.write(answer);
        if (mode === 'transaction' && isReady(answer)) leave(cleans === 'after each transaction');
      };
      given.stream.write(message);
    });
  }
  client.on('error', () => undefined);
  client.on('close', () => leave(cleans === 'when the client leaves'));
  // The start-up message is small: it comes whole.
  client.once('data', () => {
    const isEnd = (message: Buffer) => message[0] === 0x58;
    client.on(
      'data',
      splitter((message) => {
        if (!isEnd(message)) toServer(message);
      }),
    );
    client.write(Buffer.concat([messageOf('R', Buffer.alloc(4)), messageOf('Z', Buffer.from('I'))]));
  });
}

function messageOf(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

/** ReadyForQuery, outside a transaction. */
function isReady(message: Buffer): boolean {
  return message[0] === 0x5a && message[5] === 0x49;
}

/** Cuts a stream of bytes into messages: a type, a length and a body. */
function splitter(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const end = rest.readUInt32BE(1) + 1;
      onMessage(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}
