import type { Agent } from 'node:https';
import got, { type Got } from 'got';
import { headBytesMax } from './failure.ts';

/** What one kind of request has of its own. */
export interface StrictGotOptions {
  agent: Agent;
  /** PEM certificates trusted in place of the system's roots. Without them, the agent or Node decides. */
  ca?: readonly string[] | undefined;
  headers?: Readonly<Record<string, string>>;
}

/** Names the sender and the major version of what it sends (contract section 9). */
const userAgent = 'Postrider/1';

/**
 * A client that makes the one request it is told to make and takes the answer as it is: no redirects, cookies, caches,
 * proxies, Unix sockets, decompression or retries, a bounded head, and certificates that are verified.
 *
 * Make it once: merging options costs as much as half a request.
 */
export function createStrictGot({ agent, ca, headers }: StrictGotOptions): Got {
  return got.extend({
    agent: { https: agent },
    cache: false,
    cookieJar: undefined,
    decompress: false,
    dnsCache: false,
    enableUnixSockets: false,
    followRedirect: false,
    http2: false,
    https: { rejectUnauthorized: true, ...(ca === undefined ? {} : { certificateAuthority: [...ca] }) },
    maxHeaderSize: headBytesMax,
    retry: { limit: 0 },
    throwHttpErrors: false,
    headers: { ...headers, 'user-agent': userAgent, 'accept-encoding': undefined },
  });
}
