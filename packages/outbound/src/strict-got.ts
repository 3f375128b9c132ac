import type { Agent as HttpAgent } from 'node:http';
import type { Agent } from 'node:https';
import got, { type Got } from 'got';
import { HEAD_BYTES_MAX } from './transport/transport.ts';

/** Names the sender and the major version of what it sends (contract section 9). */
export const USER_AGENT = 'Postrider/1';

export interface StrictGotOptions {
  agent: Agent;
  /** Default: Node's. */
  httpAgent?: HttpAgent;
  /** PEM certificates that replace the system's roots. Default: the agent or Node decides. */
  ca?: readonly string[] | undefined;
}

/**
 * A client that sends exactly one request and returns its answer unchanged. It has no redirects, cookies,
 * caches, proxies, Unix sockets, decompression or retries. It limits the answer's head and verifies
 * certificates.
 *
 * Create it once: merging the options costs half as much as a request.
 */
export function createStrictGot({ agent, httpAgent, ca }: StrictGotOptions): Got {
  return got.extend({
    agent: { https: agent, ...(httpAgent === undefined ? {} : { http: httpAgent }) },
    cache: false,
    cookieJar: undefined,
    decompress: false,
    dnsCache: false,
    enableUnixSockets: false,
    followRedirect: false,
    http2: false,
    https: { rejectUnauthorized: true, ...(ca === undefined ? {} : { certificateAuthority: [...ca] }) },
    maxHeaderSize: HEAD_BYTES_MAX,
    retry: { limit: 0 },
    throwHttpErrors: false,
    headers: { 'user-agent': USER_AGENT, 'accept-encoding': 'identity' },
  });
}
