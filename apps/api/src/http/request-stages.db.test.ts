import { beforeAll, describe, expect, test } from '@jest/globals';
import { newApiKey, grants, SCOPES } from '@postrider/domain';
import request from 'supertest';
import type { Response } from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { KEYED_ROUTES, requestOf, requestTo, titled } from '../../test/every-route.ts';
import type { KnownRoute } from '../../test/every-route.ts';
import { expectProblem, textOf, wholeAnswer, withoutInstance } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { FUZZED_SNS } from '../../test/fuzz/fuzzed-sns.ts';
import { rawRequest } from '../../test/raw-request.ts';
import { setupApi } from '../../test/start-api.ts';

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider, sns: FUZZED_SNS.access }));
/** The answer to every request without a key. */
let refusal: string;
/** A key that worked until it was revoked. */
let revoked: string;
let expired: string;

beforeAll(async () => {
  refusal = wholeAnswer(await request(api.url).get('/v1/webhooks'));
  const caller = await api.newCaller();
  await request(api.url).get('/v1/webhooks').set('authorization', caller.authorization).expect(200);
  await api.revoke(caller.keyId);
  revoked = caller.key;
  const soon = await api.newCaller();
  await api.database.query('update api_keys set expires_at = now() where id = $1', [soon.keyId]);
  expired = soon.key;
});

/** Announces a body longer than any route accepts, and sends none of it. Who waits for the body never answers. */
function oversizedRequest(route: KnownRoute): request.Test {
  return requestTo(api.url, route)
    .type('json')
    .set('content-length', String(9 * 1024 * 1024));
}

/** Sends a request of the route with each of these `authorization` headers; undefined: without the header. */
async function expectUnauthorized(route: KnownRoute, headers: readonly (string | undefined)[]) {
  const before = await everythingStored(api.database);
  const answers = headers.map(async (header) => {
    const unsigned = requestOf(api.url, route);
    return header === undefined ? unsigned : unsigned.set('authorization', header);
  });
  for (const response of await Promise.all(answers)) {
    expectProblem(response, 'api-key-unauthorized');
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(wholeAnswer(response)).toBe(refusal);
  }
  expect(await everythingStored(api.database)).toEqual(before);
}

function routeNamed(name: string): KnownRoute {
  const route = KEYED_ROUTES.find((each) => each.name === name);
  if (route === undefined) throw new Error(`no route ${name}`);
  return route;
}

describe.each(titled(KEYED_ROUTES))('%s', (_, route) => {
  test('without a key and with a revoked one: the same 401, and nothing is stored', async () => {
    await expectUnauthorized(route, [undefined, `Bearer ${revoked}`]);
  });

  test('with every scope except its own: 403', async () => {
    const { authorization } = await api.newCaller({
      scopes: SCOPES.filter((scope) => !grants([scope], route.scope)),
    });
    const response = await requestOf(api.url, route).set('authorization', authorization);
    expect(expectProblem(response, 'api-key-forbidden')).toBe(`The API key lacks the scope ${route.scope}.`);
  });

  test('of a suspended account: 403 before the body is read, and nothing is stored', async () => {
    const { accountId, authorization } = await api.newCaller({ scopes: SCOPES });
    await api.database.query('update accounts set suspended_at = now() where id = $1', [accountId]);
    const before = await everythingStored(api.database);
    const response = await oversizedRequest(route).set('authorization', authorization);
    expect(expectProblem(response, 'api-key-forbidden')).toBe('The account is suspended.');
    expect(await everythingStored(api.database)).toEqual(before);
  });
});

test('one and the same 401 for a missing, malformed, unknown, revoked and expired key', async () => {
  const { key } = await api.newCaller();
  await expectUnauthorized(routeNamed('POST /v1/emails'), [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Basic ${key}`,
    'Bearer pr_live_short',
    `Bearer ${newApiKey('live')}`,
    `Bearer ${newApiKey('test')}`,
    `Bearer ${revoked}`,
    `Bearer ${expired}`,
    `Bearer ${key} more`,
  ]);
});

test('every answer has a request id of its own', async () => {
  const { authorization } = await api.newCaller();
  const ids = new Set<unknown>();
  for (const headers of [{}, { authorization }, { authorization, 'x-request-id': 'mine' }]) {
    const { headers: answered } = await requestOf(api.url, routeNamed('POST /v1/emails')).set(headers);
    expect(answered['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
    ids.add(answered['x-request-id']);
  }
  expect(ids.size).toBe(3);
});

describe.each(titled(KEYED_ROUTES.filter(({ limited }) => limited)))('%s', (_, route) => {
  test('over the limit: 429 with the cost and the limit, and nothing is stored', async () => {
    const { authorization } = await api.newCaller({ scopes: SCOPES, rateLimitPerMinute: 1 });
    await request(api.url).get('/v1/webhooks').set('authorization', authorization);
    const before = await everythingStored(api.database);
    const response = await requestOf(api.url, route).set('authorization', authorization);
    const detail = expectProblem(response, 'rate-limited');
    const cost = route.path.endsWith('/batch') ? '1 or more' : '1';
    expect(detail).toBe(
      `The request costs ${cost}, which does not fit in what is left of the key's limit of 1 per minute.`,
    );
    expect(await everythingStored(api.database)).toEqual(before);
  });
});

describe.each(titled(KEYED_ROUTES.filter(({ limited }) => !limited)))('%s', (_, route) => {
  test('is served over the limit, and costs nothing', async () => {
    const { authorization } = await api.newCaller({ scopes: [route.scope], rateLimitPerMinute: 1 });
    const ask = () => requestOf(api.url, route).set('authorization', authorization);
    expect((await ask()).status).not.toBe(429);
    const counted = () => request(api.url).get('/v1/webhooks').set('authorization', authorization);
    expectProblem(await counted(), 'api-key-forbidden');
    expectProblem(await counted(), 'rate-limited');
    expect([200, 201, 404]).toContain((await ask()).status);
  });
});

describe('an unknown path or a wrong method', () => {
  test.each([
    ['get', '/'],
    ['get', '/v1'],
    ['get', '/v2/webhooks'],
    ['get', '/v1/webhooks/'],
    ['get', '/V1/Webhooks'],
    ['get', '/v1//webhooks'],
    ['patch', '/v1/webhooks/wh_01arz3ndektsv4rrffq69g5fav'],
    ['put', '/v1/webhooks/wh_01arz3ndektsv4rrffq69g5fav'],
    ['post', '/v1/webhooks/wh_01arz3ndektsv4rrffq69g5fav'],
    ['post', '/v1/webhooks/wh_01arz3ndektsv4rrffq69g5fav/rotate'],
    ['post', '/v1/webhooks/wh_01arz3ndektsv4rrffq69g5fav/test'],
    ['get', '/v1/webhooks/dead-letters/dl_01arz3ndektsv4rrffq69g5fav/replay'],
    ['delete', '/v1/webhooks'],
    ['delete', '/v1/webhooks/%'],
    ['delete', '/v1/webhooks/%zz'],
    ['delete', '/v1/webhooks/%c3%28'],
    ['post', '/v1/webhooks/dead-letters/%E0%A4%A/replay'],
    ['get', '/v1/emails/%'],
    ['options', '/v1/webhooks'],
    ['options', '/healthz'],
    ['trace', '/v1/webhooks'],
    ['post', '/metrics'],
  ] as const)('%s %s: the same 404, with a key and without', async (method, path) => {
    const { authorization } = await api.newCaller({ scopes: [], rateLimitPerMinute: 1 });
    const bare = await request(api.url)[method](path);
    expectProblem(bare, 'not-found');
    expect(textOf(bare)).not.toContain('wh_01');
    const withKey = await request(api.url)[method](path).set('authorization', authorization);
    expect(withoutInstance(withKey)).toBe(withoutInstance(bare));
    expect(withKey.headers).not.toHaveProperty('allow');
    // The request does not count against the key.
    expectProblem(
      await request(api.url).get('/v1/webhooks').set('authorization', authorization),
      'api-key-forbidden',
    );
  });
});

test('no query string changes the answer', async () => {
  const { authorization } = await api.newCaller();
  const response = await request(api.url)
    .get('/v1/webhooks?a[b]=1&%zz&__proto__[x]=1&limit=%00')
    .set('authorization', authorization);
  expect(response.status).toBe(200);
});

test('HEAD is answered as GET is, without the body', async () => {
  const { authorization } = await api.newCaller();
  const get = await request(api.url).get('/v1/webhooks').set('authorization', authorization);
  const head = await request(api.url).head('/v1/webhooks').set('authorization', authorization);
  const shown = ({ status, headers }: Response) => [
    status,
    headers['content-type'],
    headers['content-length'],
  ];
  expect(shown(head)).toEqual(shown(get));
  expect([head.status, head.body]).toEqual([200, {}]);
  const bare = await request(api.url).head('/v1/webhooks');
  expect(bare.status).toBe(401);
  expect((await request(api.url).head('/v1/webhooks/x/y')).status).toBe(404);
});

test.each([
  'OPTIONS * HTTP/1.1',
  'GET http://other.test/v1/nothing HTTP/1.1',
  'GET //v1/webhooks HTTP/1.1',
  'GET http://[ HTTP/1.1',
  'GET ftp://[/ HTTP/1.1',
  'GET http://@[ HTTP/1.1',
  // A target has no fragment (RFC 9112 3.2). A proxy that keeps strangers from `/metrics` may not know these.
  'GET /metrics#x HTTP/1.1',
  'GET /readyz# HTTP/1.1',
  'GET /healthz#x HTTP/1.1',
  'GET /v1/webhooks?limit=1#x HTTP/1.1',
])('"%s" is no route either', async (line) => {
  const answer = await rawRequest(api.port, `${line}\r\nHost: a\r\nConnection: close\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 404 [^]*\/not-found"/);
  const id = /x-request-id: (req_\w+)/.exec(answer)?.[1] ?? 'none';
  expect(api.log()).toContain(id);
});

test('the scheme Bearer may be in any case and followed by more spaces', async () => {
  const { key } = await api.newCaller();
  for (const header of [`bearer ${key}`, `BEARER   ${key}`]) {
    const response = await request(api.url).get('/v1/webhooks').set('authorization', header);
    expect(response.status).toBe(200);
  }
});
