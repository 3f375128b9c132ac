import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import PostalMime from 'postal-mime';
import type { Email } from 'postal-mime';
import { listen } from '../listening-server.ts';
import { waitFor } from '../wait-for.ts';
import type { FakeIdentity } from './identities.ts';
import { operationOf, perform } from './operations.ts';
import type { SesOperation } from './operations.ts';
import { sesError } from './reactions.ts';
import type { SesReaction } from './reactions.ts';

/** One request as the fake got it. */
export interface SesRequest {
  readonly operation: SesOperation;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a SendEmail asked for; listed also when it was scripted to fail. */
export interface SesMessage {
  readonly destination: Readonly<
    Partial<Record<'ToAddresses' | 'CcAddresses' | 'BccAddresses', readonly string[]>>
  >;
  /** By name. */
  readonly tags: Readonly<Record<string, string>>;
  readonly configurationSet: string | null;
  readonly raw: Buffer;
  /** `raw`, parsed. */
  readonly mail: Email;
}

/**
 * Amazon SES, API v2, over plain HTTP on loopback: it sends nothing, keeps identities, and treats requests as it was
 * told to. It believes every signature.
 *
 * @example
 * const ses = await startFakeSes();
 * const worker = await system.start('worker', { MAIL_PROVIDER: 'ses', ...ses.environment });
 * ses.script('SendEmail', [sesThrottle, sesHang]); // the first two; every further one is accepted
 * …
 * await ses.close();
 */
export interface FakeSes {
  /** Sends the AWS SDK of a process here, with credentials. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every request so far, once its body is there. */
  readonly requests: readonly SesRequest[];
  readonly messages: readonly SesMessage[];
  /** What it has, by domain; a test may change it. */
  readonly identities: Map<string, FakeIdentity>;
  /** TCP connections open now. */
  readonly openSockets: number;
  /** Queues reactions for the next requests of an operation, in this order. */
  script(operation: SesOperation, reactions: readonly SesReaction[]): void;
  /** Sets the reaction for every request of an operation that finds nothing queued; null: do as asked. */
  always(operation: SesOperation, reaction: SesReaction | null): void;
  /** Waits until so many requests of an operation have come, counted from the start. */
  waitForRequests(operation: SesOperation, count: number, withinMs?: number): Promise<SesRequest[]>;
  /** Forgets every request, message, identity and reaction. Connections stay open. */
  reset(): void;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

const REGION = 'eu-central-1';

export async function startFakeSes(): Promise<FakeSes> {
  const requests: SesRequest[] = [];
  const messages: SesMessage[] = [];
  const identities = new Map<string, FakeIdentity>();
  const queued = new Map<SesOperation, SesReaction[]>();
  const standing = new Map<SesOperation, SesReaction>();
  let accepted = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', 'http://ses.test');
    const text = Buffer.concat((await request.toArray()) as Buffer[]).toString();
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
    const reaction = queued.get(operation)?.shift() ?? standing.get(operation);
    (reaction ?? perform(operation, identity, body, { identities, nextMessageId }))(response);
  }

  const server = createServer((request, response) => {
    // A client that gives up half-way is an ordinary thing here; its request is not listed.
    answer(request, response).catch(() => request.socket.destroy());
  });
  server.keepAliveTimeout = 0;
  const listening = await listen(server);
  const { port } = listening;

  return {
    environment: {
      AWS_ENDPOINT_URL_SESV2: `http://127.0.0.1:${port}`,
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: 'AKIAFAKE',
      AWS_SECRET_ACCESS_KEY: 'fake',
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
      if (reaction === null) standing.delete(operation);
      else standing.set(operation, reaction);
    },
    waitForRequests: (operation, count, withinMs = 10_000) =>
      waitFor(
        () => {
          const come = requests.filter((request) => request.operation === operation);
          return come.length >= count ? come : null;
        },
        { what: `${count} ${operation} requests`, timeoutMs: withinMs },
      ),
    reset() {
      requests.length = 0;
      messages.length = 0;
      for (const map of [identities, queued, standing]) map.clear();
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
