import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newApiKey, newId, SCOPES } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { createMetrics, systemClock } from '@postrider/runtime';
import type { ActiveKey } from '@postrider/store';
import { waitFor } from '@postrider/testing';
import request from 'supertest';
import { expectPlainText, expectProblem } from '../../test/expect-problem.ts';
import { openRaw } from '../../test/raw-request.ts';
import { BASES } from '../../test/start-api.ts';
import type { KeyedRoute, KeylessRequest, KeylessRoute, Route } from '../routes/route.ts';
import { createUnmeteredSlots } from './account-slots.ts';
import { json } from './answer.ts';
import type { Answer } from './answer.ts';
import { breakBody } from './body-fault.ts';
import { emailBody, resourceBody } from './body-rules.ts';
import { BodyLimits } from './read-body.ts';
import { openRequest } from './request-context.ts';
import { createSend } from './send.ts';
import { serveRoute } from './serve-route.ts';
import type { StageServices } from './serve-route.ts';

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

function asked(): never {
  throw new Error('a keyless route was asked for a key or charged');
}
const METRICS = createMetrics('api', { processMetrics: false });
const SMALL_LIMITS = {
  bytesMax: 100,
  bytesUncounted: 100,
  parsedBytesMax: 100,
  parseWaitMs: 60_000,
  batchesWaitingMax: 9,
};
const KEYLESS_SERVICES: StageServices = {
  apiKeys: { findActive: asked },
  limitOf: asked,
  limiter: { charge: asked, peek: asked },
  bodies: new BodyLimits(),
  ...createUnmeteredSlots(2, { perSecond: 1, outstandingMax: 1, outstandingOf: asked }),
  metrics: { limiterFailures: { inc: asked } as unknown as StageServices['metrics']['limiterFailures'] },
};

/** A limiter that allows every request. */
function countingLimiter(onCharge: (cost: number) => unknown): RateLimiter {
  return {
    peek: async () => ({ allowed: true }),
    async charge(_key, cost) {
      onCharge(cost);
      return { allowed: true };
    },
  };
}

/** A server with this one route, and the requests that its handler got. */
async function serving(body: KeylessRoute['body']): Promise<{ url: string; handed: KeylessRequest[] }> {
  const handed: KeylessRequest[] = [];
  const handle: KeylessRoute['handle'] = async (given) => {
    handed.push(given);
    return json(200, {});
  };
  const route: KeylessRoute = { method: 'post', path: '/u/:id', scope: null, body, handle };
  return { url: `http://127.0.0.1:${await listening(route, KEYLESS_SERVICES)}`, handed };
}

/** @returns the port of a server with this one route. */
async function listening(
  route: Route,
  services: StageServices,
  failed = (): void => undefined,
): Promise<number> {
  const serve = serveRoute(route, services, createSend(BASES, { warn: asked }, METRICS));
  server = createServer((incoming, response) => {
    openRequest(incoming, response);
    const matched: IncomingMessage & { params: Record<string, string> } = Object.assign(incoming, {
      params: { id: incoming.url ?? '' },
    });
    serve(matched, response).catch(() => {
      failed();
      response.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('a keyless route needs no key, costs nothing, and gets the bytes as they came', async () => {
  const { url, handed } = await serving(resourceBody);
  const bytes = Buffer.from([0x7b, 0x00, 0xff, 0xfe]);
  const response = await request(url)
    .post('/token')
    .set('content-type', 'text/plain; charset=UTF-8')
    .set('authorization', 'Bearer nonsense')
    .serialize((body: Buffer) => body as unknown as string)
    .send(bytes);
  expect(response.status).toBe(200);
  expect(response.headers['x-request-id']).toMatch(/^req_/);
  expect(handed).toMatchObject([{ id: '/token', body: bytes }]);
});

test('a keyless route limits its body and refuses an unreadable one by its body rule', async () => {
  const { url, handed } = await serving(resourceBody);
  const long = await request(url)
    .post('/')
    .type('form')
    .send('x'.repeat(resourceBody.bytesMax + 1));
  expectProblem(long, 'request-too-large');
  const encoded = await request(url).post('/').set('content-encoding', 'gzip').type('form').send('a=b');
  expectPlainText(encoded, 400);
  expect(handed).toEqual([]);
});

test('a route that ignores its body gets none', async () => {
  const { url, handed } = await serving(undefined);
  await request(url).post('/').type('form').send('a=b');
  expect(handed).toMatchObject([{ body: Buffer.alloc(0) }]);
});

const KEY: ActiveKey = {
  isSuspended: false,
  id: newId('apiKey', systemClock),
  accountId: newId('account', systemClock),
  kind: 'live',
  scopes: SCOPES,
  rateLimitPerMinute: null,
  createdAt: new Date(),
  revokedAt: null,
  name: null,
  expiresAt: null,
  lastUsedAt: null,
};

describe('a body that waits for a batch slot', () => {
  const HEAD = `POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${newApiKey('live')}\r\nContent-Length: 2\r\n`;

  /** A route that charges for its body and reads one body at a time. */
  async function priced(handle: KeyedRoute['handle'], findActive = async (): Promise<ActiveKey> => KEY) {
    const services: StageServices = {
      ...KEYLESS_SERVICES,
      apiKeys: { findActive },
      limitOf: () => 60,
      limiter: countingLimiter((cost) => charged.push(cost)),
      bodies: new BodyLimits({ ...SMALL_LIMITS, batchesPerKey: 1 }),
    };
    const route: KeyedRoute = {
      method: 'post',
      path: '/',
      scope: 'emails:send',
      limited: true,
      body: resourceBody,
      cost: () => ({ cost: 1, refusal: null }),
      handle,
    };
    const charged: number[] = [];
    let failures = 0;
    const port = await listening(route, services, () => (failures += 1));
    return { port, failures: () => failures, charged };
  }

  test('and gets none in time is refused as not counted, and costs nothing', async () => {
    let answer = (): void => undefined;
    const { port, charged } = await priced(
      () => new Promise((resolve) => (answer = () => resolve(json(200, { done: true })))),
    );
    const [first, second] = [await openRaw(port), await openRaw(port)];
    first.send(`${HEAD}\r\n{}`);
    await waitFor(() => charged.length === 1, { what: 'the first to be in flight' });
    second.send(`${HEAD}\r\n`);
    const [waiting] = (await once(server as Server, 'request')) as [IncomingMessage];
    breakBody(waiting, 'did not arrive in time'); // as the server does
    const refused = await second.until('"instance"');
    expect(refused).toMatch(
      /^HTTP\/1.1 429 [^]*costs 1 or more, which could not be counted [^]*limit of 60 per minute\. Too many bodies/,
    );
    answer();
    await first.until('done');
    expect(charged).toEqual([1]);
    for (const { socket } of [first, second]) socket.destroy();
  });

  test('gets it after a body whose handler failed', async () => {
    const { port, failures } = await priced(async () => {
      throw new Error('gone wrong');
    });
    for (let n = 0; n < 3; n += 1) {
      const raw = await openRaw(port);
      raw.send(`${HEAD}\r\n{}`);
      await raw.closed();
    }
    expect(failures()).toBe(3);
  });

  test('gets it after a body whose client disconnected before the reading', async () => {
    const lookUps: (() => void)[] = [];
    // Only the first look-up waits for the test.
    const findActive = async (): Promise<ActiveKey> =>
      lookUps.length === 0 ? new Promise((resolve) => lookUps.push(() => resolve(KEY))) : KEY;
    const { port, charged } = await priced(async () => json(200, { done: true }), findActive);
    const gone = await openRaw(port);
    gone.send(`${HEAD}\r\n`);
    const [incoming] = (await once(server as Server, 'request')) as [IncomingMessage];
    gone.socket.destroy();
    await waitFor(() => incoming.destroyed, { what: 'the disconnect' });
    lookUps[0]?.();
    await waitFor(() => charged.length === 1, { what: 'the request to be abandoned' });
    const next = await openRaw(port);
    next.send(`${HEAD}\r\n{}`);
    expect(await next.until('done')).toMatch(/^HTTP\/1.1 200 /);
    next.socket.destroy();
  });
});

test('a key that is revoked while its request is charged is refused', async () => {
  let found: ActiveKey | null = KEY;
  const services: StageServices = {
    ...KEYLESS_SERVICES,
    apiKeys: { findActive: async () => found },
    limitOf: () => 60,
    limiter: countingLimiter(() => (found = null)),
  };
  let handled = 0;
  const route: KeyedRoute = {
    ...{ method: 'post', path: '/', scope: 'emails:send', limited: true, body: resourceBody },
    cost: () => ({ cost: 1, refusal: null }),
    async handle() {
      handled += 1;
      return json(200, {});
    },
  };
  const port = await listening(route, services);
  const response = await request(`http://127.0.0.1:${port}`)
    .post('/')
    .set('authorization', `Bearer ${newApiKey('live')}`)
    .send({});
  expectProblem(response, 'api-key-unauthorized');
  expect(handled).toBe(0);
});

describe('a body that gets no memory in time', () => {
  /** More than the memory budget, without the last byte. */
  const LARGE = `"${'x'.repeat(2_000)}`;
  const HEAD = `POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${newApiKey('live')}\r\n`;
  const TOO_MANY =
    'Too many bodies are in flight at the moment, of this key or of others: there was no space for this one.';

  /**
   * A route whose memory budget one large body fills.
   * @param route without its path, body rule and handler.
   */
  async function crowded(route: Pick<KeyedRoute, 'scope' | 'limited' | 'cost'> | { readonly scope: null }) {
    const charged: number[] = [];
    const keyed: Partial<StageServices> = {
      apiKeys: { findActive: async () => KEY },
      limitOf: () => 60,
      limiter: countingLimiter((cost) => charged.push(cost)),
    };
    const bodies = new BodyLimits({ ...SMALL_LIMITS, bytesUncounted: 0, batchesPerKey: 9 });
    const handle = async (): Promise<Answer> => json(200, { done: true });
    const port = await listening(
      { ...route, method: 'post', path: '/', body: emailBody, handle },
      {
        ...KEYLESS_SERVICES,
        ...(route.scope === null ? {} : keyed),
        bodies,
      },
    );
    const begun = async () => {
      const raw = await openRaw(port);
      const come = once(server as Server, 'request');
      raw.send(`${HEAD}Content-Length: ${LARGE.length + 1}\r\n\r\n${LARGE}`);
      const [incoming] = (await come) as [IncomingMessage];
      return { raw, incoming };
    };
    return { charged, begun };
  }

  /** The refusal of the waiting body after its time limit. The other body, and one more, are served. */
  async function refusal({ begun }: Awaited<ReturnType<typeof crowded>>): Promise<string> {
    const both = [await begun(), await begun()];
    const waiting = await waitFor(() => both.find(({ incoming }) => incoming.isPaused()), {
      what: 'one body to pause',
    });
    breakBody(waiting.incoming, 'did not arrive in time'); // as the server does
    const refused = await waiting.raw.until('"instance"');
    for (const { raw } of [...both.filter((each) => each !== waiting), await begun()]) {
      raw.send('"');
      expect(await raw.until('done')).toMatch(/^HTTP\/1.1 200 /);
      raw.socket.destroy();
    }
    waiting.raw.socket.destroy();
    return refused;
  }

  test('gets a 429 with the cost and the limit', async () => {
    const route = await crowded({ scope: 'emails:send', limited: true });
    const refused = await refusal(route);
    expect(refused).toMatch(/^HTTP\/1.1 429 [^]*platform.test\/rate-limited"/);
    expect(refused).toContain(
      `The request costs 1, which was counted against the key's limit of 60 per minute. ${TOO_MANY}`,
    );
    expect(route.charged).toEqual([1, 1, 1]);
  });

  test('and holds its own cost gets a 429 that says so, and costs nothing', async () => {
    const cost = () => ({ cost: 7, refusal: null });
    const route = await crowded({ scope: 'emails:send', limited: true, cost });
    const refused = await refusal(route);
    expect(refused).toMatch(/^HTTP\/1.1 429 [^]*platform.test\/rate-limited"/);
    expect(refused).toContain(
      `The request costs 1 or more, which could not be counted against the key's limit of 60 per minute. ${TOO_MANY}`,
    );
    expect(route.charged).toEqual([7, 7]);
  });

  test.each([
    ['no key', { scope: null }],
    ['no limit', { scope: 'suppressions:manage', limited: false }],
  ] as const)('gets a 503 on a route with %s', async (_, whose) => {
    const route = await crowded(whose);
    const refused = await refusal(route);
    expect(refused).toMatch(/^HTTP\/1.1 503 [^]*problems.test\/not-ready"/);
    expect(refused).toContain(TOO_MANY);
    expect(route.charged).toEqual([]);
  });
});
