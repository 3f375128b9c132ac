import type { Agent } from 'node:https';
import got, { type Got } from 'got';
import { headBytesMax } from './failure.ts';
import { USER_AGENT } from './user-agent.ts';

/** What one kind of request has of its own. */
export interface StrictGotOptions {
  agent: Agent;
  /** PEM certificates trusted in place of the system's roots. Without them, the agent or Node decides. */
  ca?: readonly string[] | undefined;
}

/**
 * A client that makes the one request it is told to make and takes the answer as it is: no redirects, cookies, caches,
 * proxies, Unix sockets, decompression or retries, a bounded head, and certificates that are verified.
 *
 * Make it once: merging options costs as much as half a request.
 */
export function createStrictGot({ agent, ca }: StrictGotOptions): Got {
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
    headers: { 'user-agent': USER_AGENT, 'accept-encoding': undefined },
  });
}
