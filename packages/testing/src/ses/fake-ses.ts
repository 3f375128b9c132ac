import type { IncomingHttpHeaders } from 'node:http';
import PostalMime from 'postal-mime';
import type { Email } from 'postal-mime';
import { AWS_ENVIRONMENT, requestsOf, startFakeService } from '../fake-service.ts';
import type { ServiceReaction } from '../fake-service.ts';
import type { FakeIdentity } from './identities.ts';
import { operationOf, perform } from './operations.ts';
import type { SesOperation } from './operations.ts';
import { sesError } from './reactions.ts';

/** One request that the fake got. */
export interface SesRequest {
  readonly operation: SesOperation;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A message of SendEmail. Messages of requests that the script lets fail are listed, too. */
export interface SesMessage {
  readonly destination: Readonly<
    Partial<Record<'ToAddresses' | 'CcAddresses' | 'BccAddresses', readonly string[]>>
  >;
  /** Values by name. */
  readonly tags: Readonly<Record<string, string>>;
  readonly configurationSet: string | null;
  readonly raw: Buffer;
  /** `raw`, parsed. */
  readonly mail: Email;
}

/**
 * Amazon SES, API v2, over plain HTTP on loopback. It sends nothing, keeps identities, and follows the test's
 * script. It accepts every signature.
 *
 * @example
 * const ses = await startFakeSes();
 * const worker = await system.start('worker', { MAIL_PROVIDER: 'ses', ...ses.environment });
 * ses.script('SendEmail', [sesThrottle, serviceHang]); // the first two; every further one is accepted
 * …
 * await ses.close();
 */
export interface FakeSes {
  /** Environment variables that send the AWS SDK of a process here, with credentials. */
  readonly environment: Readonly<Record<string, string>>;
  /** All whole requests so far. */
  readonly requests: readonly SesRequest[];
  readonly messages: readonly SesMessage[];
  /** The identities by domain. A test may change them. */
  readonly identities: Map<string, FakeIdentity>;
  /** The number of open TCP connections. */
  readonly openSockets: number;
  /** Queues reactions for the next requests of an operation, in this order. */
  script(operation: SesOperation, reactions: readonly ServiceReaction[]): void;
  /** Sets the reaction of an operation when nothing is queued. Null: the service's own. */
  always(operation: SesOperation, reaction: ServiceReaction | null): void;
  /** Waits until `count` requests of an operation have arrived since the start. */
  waitForRequests(operation: SesOperation, count: number, withinMs?: number): Promise<SesRequest[]>;
  /** Forgets all requests, messages, identities and reactions. Connections stay open. */
  reset(): void;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

export async function startFakeSes(): Promise<FakeSes> {
  const requests: SesRequest[] = [];
  const messages: SesMessage[] = [];
  const identities = new Map<string, FakeIdentity>();
  const queued = new Map<SesOperation, ServiceReaction[]>();
  const always = new Map<SesOperation, ServiceReaction>();
  let accepted = 0;

  const listening = await startFakeService(async (request, bytes, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://ses.test');
    const text = bytes.toString();
    const called = operationOf(request.method ?? '', pathname);
    if (called === null) {
      sesError(404, 'UnknownOperationException', 'no such operation')(response);
      return;
    }
    const { operation, identity } = called;
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    if (operation === 'SendEmail') messages.push(await readMessage(body as unknown as SendEmailBody));
    requests.push({ operation, path: pathname, headers: request.headers, body });
    const nextMessageId = () => `fake-${(accepted += 1)}`;
    const reaction = queued.get(operation)?.shift() ?? always.get(operation);
    (reaction ?? perform(operation, identity, body, { identities, nextMessageId }))(response);
  });

  const { port } = listening;

  return {
    environment: {
      AWS_ENDPOINT_URL_SESV2: `http://127.0.0.1:${port}`,
      ...AWS_ENVIRONMENT,
    },
    requests,
    messages,
    identities,
    get openSockets() {
      return listening.openSockets;
    },
    script: (operation, reactions) =>
      void queued.set(operation, [...(queued.get(operation) ?? []), ...reactions]),
    always(operation, reaction) {
      if (reaction === null) always.delete(operation);
      else always.set(operation, reaction);
    },
    waitForRequests: (operation, count, withinMs) => requestsOf(requests, operation, count, withinMs),
    reset() {
      requests.length = 0;
      messages.length = 0;
      for (const map of [identities, queued, always]) map.clear();
    },
    close: listening.close,
  };
}

interface SendEmailBody {
  Destination?: SesMessage['destination'];
  EmailTags?: { Name: string; Value: string }[];
  ConfigurationSetName?: string;
  Content: { Raw: { Data: string } };
}

async function readMessage(body: SendEmailBody): Promise<SesMessage> {
  const raw = Buffer.from(body.Content.Raw.Data, 'base64');
  return {
    destination: body.Destination ?? {},
    tags: Object.fromEntries((body.EmailTags ?? []).map(({ Name, Value }) => [Name, Value])),
    configurationSet: body.ConfigurationSetName ?? null,
    raw,
    mail: await PostalMime.parse(raw),
  };
}
