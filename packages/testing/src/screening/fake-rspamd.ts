import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen } from '../listening-server.ts';

/** How it treats a scan: with a verdict, by silence, by hanging up, or with an answer of any kind. */
export type RspamdBehaviour =
  { score: number; action: string } | { status: number; body: string | Buffer } | 'hang' | 'close';

/** One scan as it was asked for. */
export interface RspamdScan {
  readonly method: string;
  readonly path: string;
  /** Names in lower case; those of one name in their order. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly message: Buffer;
}

/** A normal worker of rspamd, as far as /checkv2 goes. Until told otherwise no message is spam. */
export interface FakeRspamd {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  readonly scans: readonly RspamdScan[];
  behaviour: RspamdBehaviour;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

export async function startFakeRspamd(): Promise<FakeRspamd> {
  const scans: RspamdScan[] = [];
  let behaviour: RspamdBehaviour = { score: 0, action: 'no action' };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const message = Buffer.concat((await request.toArray()) as Buffer[]);
    const { method = '', url = '' } = request;
    const headers = request.headersDistinct as Record<string, string[]>;
    scans.push({ method, path: url, headers, message });
    if (behaviour === 'hang') return;
    if (behaviour === 'close') request.socket.destroy();
    else if ('status' in behaviour) response.writeHead(behaviour.status).end(behaviour.body);
    else response.end(JSON.stringify({ is_skipped: false, required_score: 15, symbols: {}, ...behaviour }));
  }

  const server = createServer((request, response) => {
    // A client that gives up half-way is an ordinary thing here; its scan is not listed.
    answer(request, response).catch(() => request.socket.destroy());
  });
  const { port, close } = await listen(server);

  return {
    address: `127.0.0.1:${port}`,
    scans,
    get behaviour() {
      return behaviour;
    },
    set behaviour(next) {
      behaviour = next;
    },
    close,
  };
}
