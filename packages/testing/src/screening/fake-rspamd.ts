import { startFakeService } from '../fake-service.ts';

/** The answer to a scan: a verdict, any other answer, silence, or the end of the connection. */
export type RspamdBehaviour =
  | { score: number; action: string }
  | { status: number; body: string | Buffer }
  | 'hang'
  | 'close';

/** One request for a scan. */
export interface RspamdScan {
  readonly method: string;
  readonly path: string;
  /** Values by name in lower case, in their order. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly message: Buffer;
}

/** A normal worker of rspamd with /checkv2 only. By default no message is spam. */
export interface FakeRspamd {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  readonly scans: readonly RspamdScan[];
  behaviour: RspamdBehaviour;
  /** Forgets the scans. No message is spam again. */
  reset(): void;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

const NO_SPAM: RspamdBehaviour = { score: 0, action: 'no action' };

export async function startFakeRspamd(): Promise<FakeRspamd> {
  const scans: RspamdScan[] = [];
  const { port, close } = await startFakeService((request, message, response) => {
    const { behaviour } = rspamd;
    const { method = '', url = '' } = request;
    const headers = request.headersDistinct as Record<string, string[]>;
    scans.push({ method, path: url, headers, message });
    if (behaviour === 'hang') return;
    if (behaviour === 'close') request.socket.destroy();
    else if ('status' in behaviour) response.writeHead(behaviour.status).end(behaviour.body);
    else response.end(JSON.stringify({ is_skipped: false, required_score: 15, symbols: {}, ...behaviour }));
  });

  const rspamd: FakeRspamd = {
    address: `127.0.0.1:${port}`,
    scans,
    behaviour: NO_SPAM,
    reset() {
      scans.length = 0;
      rspamd.behaviour = NO_SPAM;
    },
    close,
  };
  return rspamd;
}
