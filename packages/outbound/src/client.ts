import { Attempt } from './attempt.ts';
import type { EndpointAnswer, EndpointRequest } from './endpoint-answer.ts';
import { parseEndpoint } from './endpoint-url.ts';
import { refused } from './failure.ts';
import type { AddressGuard } from './guard/address-guard.ts';
import { GuardedAgent } from './guarded-agent.ts';
import { createNameResolver, type NameResolver } from './resolve/name-resolver.ts';
import { createGotTransport } from './transport/got-transport.ts';
import { createHttpsTransport } from './transport/https-transport.ts';
import type { OutgoingPost, Transport } from './transport/transport.ts';
import { USER_AGENT } from './user-agent.ts';

/** The HTTP clients that attempts can be made with. An endpoint cannot tell one from the other. */
export const HTTP_CLIENTS = ['https', 'got'] as const;
export type HttpClient = (typeof HTTP_CLIENTS)[number];

const CREATE_TRANSPORT: Readonly<Record<HttpClient, (agent: GuardedAgent) => Transport>> = {
  https: createHttpsTransport,
  got: createGotTransport,
};

/** Posts events to endpoints that customers name. */
export interface EndpointClient {
  /**
   * Makes one attempt. It settles within `timeoutMs`, whatever the endpoint sends.
   * Rejects only for a fault of our own: out of descriptors or memory, an unusable header, a closed client.
   */
  post(request: EndpointRequest): Promise<EndpointAnswer>;
  /** Closes every connection; attempts under way reject. */
  close(): void;
}

export interface EndpointClientOptions {
  httpClient: HttpClient;
  /** Time limit of one attempt: waiting for a connection, DNS, connect, TLS and the answer together. */
  timeoutMs: number;
  guard: AddressGuard;
  /** Connections to one host and port at a time; further attempts wait within their own time limit. */
  socketsPerHost: number;
  /** Default: the machine's name servers. The client closes what it made itself, never what it was given. */
  resolver?: NameResolver;
  /** PEM certificates trusted in place of the system's roots. `NODE_EXTRA_CA_CERTS` adds to the roots, as Node defines it. */
  ca?: readonly string[];
  /** Counts connections that came up to a refused address in spite of the guard: a metric that must stay 0. */
  onTripwire?: (address: string) => void;
  /** An idle connection is closed after this long. Default: 12 s. */
  idleMs?: number;
  /** Monotonic time in milliseconds, for the age of a connection. */
  nowMs?: () => number;
}

/** Makes the client. It opens nothing before the first post. */
export function createEndpointClient(options: EndpointClientOptions): EndpointClient {
  const { guard, timeoutMs } = options;
  const resolver = options.resolver ?? createNameResolver();
  const agent = new GuardedAgent({ ...options, resolver });
  let closed = false;
  const environment = {
    transport: CREATE_TRANSPORT[options.httpClient](agent),
    timeoutMs,
    closeIdle: agent.closeIdle.bind(agent),
    isClosed: () => closed,
  };

  async function post(request: EndpointRequest): Promise<EndpointAnswer> {
    if (closed) throw new Error('the endpoint client is closed');
    const url = parseEndpoint(request.endpoint);
    if (!(url instanceof URL)) return refused(url.refusal);
    // The agent judges again when it connects. Judged here, a refusal costs no request and a pooled connection no trust.
    const refusal = guard.judgeHost(url.hostname);
    if (refusal !== null) return refused(refusal);
    return unlessClosed(await Attempt.run(environment, postTo(url, request)));
  }

  function unlessClosed(answer: EndpointAnswer): EndpointAnswer {
    if (closed && answer.kind === 'failed')
      throw new Error('the endpoint client was closed during the attempt');
    return answer;
  }

  function close(): void {
    closed = true;
    if (options.resolver === undefined) resolver.close();
    agent.destroy();
  }

  return { post, close };
}

function postTo(url: URL, { headers, body }: EndpointRequest): OutgoingPost {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    url,
    body,
    headers: {
      'user-agent': USER_AGENT,
      'content-type': 'application/json',
      ...(Object.fromEntries(own) as Record<string, string>),
      'content-length': String(body.length),
    },
  };
}
