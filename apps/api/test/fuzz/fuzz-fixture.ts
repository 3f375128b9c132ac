import { newApiKey, newId, SCOPES } from '@postrider/domain';
import { within } from '@postrider/limits';
import { systemClock } from '@postrider/runtime';
import { waitFor } from '@postrider/testing';
import type { FakeSes } from '@postrider/testing';
import { startFakeDomains } from '../fake-domains.ts';
import { createOwnResources } from '../own-resources.ts';
import type { OwnResources } from '../own-resources.ts';
import { openRaw } from '../raw-request.ts';
import { idOfNothing } from '../route-paths.ts';
import { startApi } from '../start-api.ts';
import type { Caller, TestApi, TestApiOptions } from '../start-api.ts';
import { discoverRoutes } from './discover-routes.ts';
import { FUZZED_SNS } from './fuzzed-sns.ts';
import type { CallerName, IdSpec } from './request-spec.ts';
import { FUZZED_WEBHOOK } from './route-contract.ts';
import type { RouteContract } from './route-contract.ts';

/** The line of the log that tells of one request. */
export interface RequestLine {
  readonly level: string;
  readonly msg: string;
  readonly method: string;
  /** The pattern; `unmatched` where no route took the request. */
  readonly route: string;
  readonly status: number | null;
}

/** An API under fuzz, and everything known of what was sent to it. */
export interface FuzzFixture {
  readonly api: TestApi;
  /** Every route of the application but those that Express answers for `HEAD`. */
  readonly routes: readonly string[];
  /** That of the domains. */
  readonly ses: FakeSes;
  readonly callers: Readonly<Record<'live' | 'test' | 'other', Caller>>;
  /** What the caller writes into `Authorization`. */
  authorization(caller: CallerName): string | null;
  /** A segment for the `:id` of a path; an own one names a resource that is there. */
  idFor(noun: NonNullable<RouteContract['noun']>, id: IdSpec): Promise<string>;
  /** The ids of what `idFor` has made. */
  readonly made: ReadonlySet<string>;
  /** What a connection of its own answers to the bytes. @throws Error when the server neither answers nor closes. */
  exchange(bytes: Buffer, pieces: number): Promise<Buffer>;
  lineOf(requestId: string): Promise<RequestLine>;
  stop(): Promise<void>;
}

/** Everything is sent and the client has closed its side: nothing of the server's waits longer than this. */
const ANSWER_BOUND_MS = 20_000;

export async function startFuzzFixture(
  options: Pick<TestApiOptions, 'verifiedDomainsOnly'> = {},
): Promise<FuzzFixture> {
  const domains = await startFakeDomains();
  const { built: api, routes } = await discoverRoutes(() =>
    startApi({ ...options, domainProvider: domains.provider, sns: FUZZED_SNS.access }),
  );
  const callers = await makeCallers(api);
  const resources = createOwnResources(api, callers.live);
  await nameWebhook(api, await resources.idOf('webhook'));
  const unknown = `Bearer ${newApiKey('live')}`;
  return {
    api,
    ses: domains.ses,
    routes: routes.filter((route) => !route.startsWith('HEAD ')),
    callers,
    authorization(caller) {
      if (caller === 'none') return null;
      if (caller === 'malformed') return `Basic ${callers.live.key}`;
      return caller === 'unknown' ? unknown : callers[caller].authorization;
    },
    get made() {
      return new Set([...resources.made, FUZZED_WEBHOOK]);
    },
    idFor: createIds({
      async idOf(noun) {
        const id = await resources.idOf(noun);
        if (noun === 'webhook') await logAttempts(api, id);
        if (noun === 'email') await recordEvent(api, callers.live, id);
        return id;
      },
    }),
    exchange: (bytes, pieces) => exchange(api.port, bytes, pieces),
    lineOf: createLineReader(api),
    async stop() {
      await api.stop();
      await domains.stop();
    },
  };
}

/** Bodies of requests are written before anything is made: what they name must have an id that is known. */
async function nameWebhook(api: TestApi, id: string): Promise<void> {
  await api.database.query('update webhooks set id = $2 where id = $1', [id, FUZZED_WEBHOOK]);
}

/** One attempt that was answered, in bytes that are no UTF-8, and one that was not. */
async function logAttempts(api: TestApi, webhookId: string): Promise<void> {
  await api.database.query(
    `insert into attempts
       (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
     values (now(), 1, $1, $2, 1, 12, 503, 'HTTP 503', '\\x62757379 20ff', 'email.sent'),
            (now(), 1, $1, $2, 2, 12, null, 'timeout after 10000 ms', null, 'email.sent')`,
    [newId('event', systemClock), webhookId],
  );
}

async function recordEvent(api: TestApi, { accountId }: Caller, emailId: string): Promise<void> {
  await api.database.query(
    `insert into events (id, account_id, type, created_at, data) values ($1, $2, 'email.sent', now(), $3)`,
    [newId('event', systemClock), accountId, JSON.stringify({ email_id: emailId })],
  );
}

async function makeCallers(api: TestApi) {
  const live = await api.newCaller({ scopes: SCOPES });
  const mine = { accountId: live.accountId, scopes: SCOPES };
  const callers = {
    live,
    test: await api.newCaller({ ...mine, kind: 'test' }),
    other: await api.newCaller({ scopes: SCOPES }),
    revoked: await api.newCaller(mine),
    scopeless: await api.newCaller({ ...mine, scopes: [] }),
    exhausted: await api.newCaller({ ...mine, rateLimitPerMinute: 1 }),
  };
  await api.revoke(callers.revoked.keyId);
  await fetch(`${api.url}/v1/webhooks`, { headers: { authorization: callers.exhausted.authorization } });
  await api.database.query("update rate_limits set ends_at = now() + interval '1 day'");
  return callers;
}

/** Of no token that the API takes. */
const FOREIGN_KEYS = [Buffer.alloc(32, 8)];

function createIds(own: Pick<OwnResources, 'idOf'>): FuzzFixture['idFor'] {
  return async (noun, id) => {
    if (id.kind === 'odd') return id.text;
    if (id.kind === 'missing') return idOfNothing(noun, FOREIGN_KEYS);
    const text = await own.idOf(noun);
    return id.kind === 'own' ? text : text.replaceAll(/[a-z_]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  };
}

async function exchange(port: number, bytes: Buffer, pieces: number): Promise<Buffer> {
  const raw = await openRaw(port);
  const length = Math.ceil(bytes.length / pieces);
  for (let start = 0; start < bytes.length; start += length) {
    raw.send(bytes.subarray(start, start + length));
    if (pieces > 1) await new Promise(setImmediate);
  }
  raw.socket.end();
  const received = await within(
    () => raw.closed(),
    ANSWER_BOUND_MS,
    () => null,
  );
  if (received !== null) return Buffer.from(received, 'latin1');
  raw.socket.destroy();
  throw new Error(`neither answered nor closed within ${ANSWER_BOUND_MS} ms; so far: ${raw.received()}`);
}

/** Reads each line of the log once. */
function createLineReader(api: TestApi): FuzzFixture['lineOf'] {
  const lines = new Map<string, RequestLine>();
  let read = 0;
  const readOn = (): void => {
    for (; read < api.logLines.length; read += 1) {
      const line = JSON.parse(api.logLines[read] ?? '') as RequestLine & { readonly request_id?: string };
      if (line.msg === 'request' && line.request_id !== undefined) lines.set(line.request_id, line);
    }
  };
  return async (requestId) =>
    waitFor(
      () => {
        if (!lines.has(requestId)) readOn();
        return lines.get(requestId);
      },
      { what: `a line of the log about ${requestId}`, intervalMs: 2 },
    );
}
