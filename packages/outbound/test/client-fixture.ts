import { beforeAll, describe } from '@jest/globals';
import {
  cleanUpAfterEach,
  createTestAuthority,
  type ScriptedReceiver,
  type ScriptedReceiverOptions,
  startNameServer,
  startScriptedReceiver,
  startTcpListener,
  type TcpListener,
  type TestAuthority,
} from '@postrider/testing';
import { EndpointClient, type EndpointClientOptions, HTTP_CLIENTS, type HttpClient } from '../src/client.ts';
import { AddressGuard } from '../src/guard/address-guard.ts';
import { NameResolver } from '../src/resolve/name-resolver.ts';

/** The name in the certificates of the fixture's receivers, beside their address. */
export const NAME = 'hooks.example.com';

/**
 * The test fixture for one HTTP client. After each test it closes everything that it opened, in reverse
 * order.
 */
export interface ClientFixture {
  readonly httpClient: HttpClient;
  readonly authority: TestAuthority;
  /** Default: loopback only, a time limit of 20 s, 4 connections per host. */
  createClient(options?: Partial<EndpointClientOptions>): EndpointClient;
  startReceiver(options?: Partial<ScriptedReceiverOptions>): Promise<ScriptedReceiver>;
  /** A client that uses the test's own name server. */
  createClientWithNames(
    reply: Parameters<typeof startNameServer>[0],
    options?: Partial<EndpointClientOptions>,
  ): Promise<{ client: EndpointClient; queries: readonly string[] }>;
  startListener(...args: Parameters<typeof startTcpListener>): Promise<TcpListener>;
  /** Closes something of the test's own. */
  atEnd(close: () => unknown): void;
}

/** Runs a suite for each HTTP client. Every client must pass it. */
export function forEachHttpClient(suite: (fixture: ClientFixture) => void): void {
  describe.each(HTTP_CLIENTS)('over %s', (httpClient) => suite(useClientFixture(httpClient)));
}

/** Lets attempts go to loopback. */
export const GUARD = new AddressGuard({ allowedNetworks: ['127.0.0.1/32', '::1/128'] });

function useClientFixture(httpClient: HttpClient): ClientFixture {
  const atEnd = cleanUpAfterEach();
  let authority: TestAuthority;

  beforeAll(async () => {
    authority = await createTestAuthority();
  });

  function createClient(options: Partial<EndpointClientOptions> = {}): EndpointClient {
    const defaults = {
      httpClient,
      guard: GUARD,
      timeoutMs: 20_000,
      socketsPerHost: 4,
      ca: [authority.caPem],
    };
    const client = new EndpointClient({ ...defaults, ...options });
    atEnd(() => client.close());
    return client;
  }

  return {
    httpClient,
    get authority() {
      return authority;
    },
    createClient,
    async createClientWithNames(reply, options = {}) {
      const server = await startNameServer(reply);
      const resolver = new NameResolver({ servers: [server.address] });
      atEnd(
        () => server.close(),
        () => resolver.close(),
      );
      return { client: createClient({ resolver, ...options }), queries: server.questions };
    },
    startReceiver: (options = {}) => kept(startScriptedReceiver({ authority, names: [NAME], ...options })),
    startListener: (...args) => kept(startTcpListener(...args)),
    atEnd,
  };

  async function kept<Opened extends { close(): unknown }>(opening: Promise<Opened>): Promise<Opened> {
    const opened = await opening;
    atEnd(() => opened.close());
    return opened;
  }
}
