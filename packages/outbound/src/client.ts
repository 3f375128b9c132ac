import { Attempt } from './attempt.ts';
import type { AttemptEnvironment } from './attempt.ts';
import type { EndpointResult, EndpointRequest } from './endpoint-result.ts';
import { refused } from './failure.ts';
import type { AddressGuard } from './guard/address-guard.ts';
import { withoutTrailingDot } from './guard/names.ts';
import { GuardedAgent } from './guarded-agent.ts';
import type { GuardedAgentOptions } from './guarded-agent.ts';
import { NameResolver } from './resolve/name-resolver.ts';
import { USER_AGENT } from './strict-got.ts';
import { createGotTransport } from './transport/got-transport.ts';
import { createHttpsTransport } from './transport/https-transport.ts';
import type { OutgoingPost, Transport } from './transport/transport.ts';

/** The HTTP clients for attempts. Endpoints cannot distinguish them. */
export const HTTP_CLIENTS = ['https', 'got'] as const;
export type HttpClient = (typeof HTTP_CLIENTS)[number];

const CREATE_TRANSPORT: Readonly<Record<HttpClient, (agent: GuardedAgent) => Transport>> = {
  https: createHttpsTransport,
  got: createGotTransport,
};

export interface EndpointClientOptions extends Omit<GuardedAgentOptions, 'resolver'> {
  httpClient: HttpClient;
  /** Limits one attempt: the wait for a connection, DNS, connect, TLS and the answer together. */
  timeoutMs: number;
  /** Default: the machine's name servers. The client closes only a resolver that it created. */
  resolver?: GuardedAgentOptions['resolver'];
}

/** Posts events to endpoints that customers name. It opens no connection before the first post. */
export class EndpointClient {
  readonly #guard: AddressGuard;
  readonly #agent: GuardedAgent;
  /** Null when the caller provided the resolver, and so closes it. */
  #ownResolver: NameResolver | null = null;
  readonly #environment: AttemptEnvironment;
  #closed = false;

  constructor(options: EndpointClientOptions) {
    this.#guard = options.guard;
    const resolver = options.resolver ?? (this.#ownResolver = new NameResolver());
    const agent = new GuardedAgent({ ...options, resolver });
    this.#agent = agent;
    this.#environment = {
      transport: CREATE_TRANSPORT[options.httpClient](agent),
      timeoutMs: options.timeoutMs,
      closeIdle: agent.closeIdle.bind(agent),
      isClosed: () => this.#closed,
    };
  }

  /**
   * Makes one attempt. It ends within `timeoutMs`, whatever the endpoint sends.
   *
   * @throws Error only for a fault of our own: no descriptors or memory left, an invalid header, a closed
   *   client.
   */
  async post(request: EndpointRequest): Promise<EndpointResult> {
    if (this.#closed) throw new Error('the endpoint client is closed');
    const url = parseEndpoint(request.endpoint);
    if (typeof url === 'string') return refused(url);
    // The agent judges again when it connects. A refusal here costs no request. This check also covers pooled
    // connections.
    const refusal = this.#guard.judgeHost(url.hostname);
    if (refusal !== null) return refused(refusal);
    const answer = await Attempt.run(this.#environment, postTo(url, request));
    if (this.#environment.isClosed() && answer.kind === 'failed')
      throw new Error('the endpoint client was closed during the attempt');
    return answer;
  }

  /** Closes every connection. Attempts in flight reject. */
  close(): void {
    this.#closed = true;
    this.#ownResolver?.close();
    this.#agent.destroy();
  }
}

function postTo(url: URL, { headers, body }: EndpointRequest): OutgoingPost {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    url,
    body,
    headers: {
      'user-agent': USER_AGENT,
      // No compression (RFC 9110 12.5.3): the attempt log shows the start of the answer's body as text.
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      ...(Object.fromEntries(own) as Record<string, string>),
      'content-length': String(body.length),
    },
  };
}

/**
 * Parses an endpoint. Only this function does, so the host that is judged is the host that is connected to.
 * It removes the trailing dot of a fully qualified name, which neither SNI nor Host allows.
 *
 * @returns the reason when the endpoint is refused, whatever its address is. Registration refuses it too, but
 * a delivery does not rely on that.
 */
export function parseEndpoint(endpoint: string): URL | string {
  let url: URL;
  try {
    url = new URL(endpoint);
  } catch {
    return 'refused endpoint: not an absolute URL';
  }
  if (url.protocol !== 'https:') return 'refused endpoint: not an https URL';
  if (url.username !== '' || url.password !== '') return 'refused endpoint: it holds credentials';
  if (url.port === '0') return 'refused endpoint: port 0';
  if (url.hostname.endsWith('.')) url.hostname = withoutTrailingDot(url.hostname);
  return url;
}
