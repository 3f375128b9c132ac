import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import {
  newIdentity,
  publishKeys,
  serviceDrop,
  serviceHang,
  sesError,
  sesThrottle,
  waitFor,
} from '@postrider/testing';
import type { FakeSes, ServiceReaction } from '@postrider/testing';
import request from 'supertest';
import { expectPlainText, expectProblem, textOf, withoutInstance } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { setupApi, startApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const NAME = 'mail.b.example';
const ID = expect.stringMatching(/^dom_[0-9a-z]{26}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider }));
let ses: FakeSes;
let caller: Caller;

beforeAll(() => void ({ ses } = domains));
beforeEach(async () => void (caller = await newCaller()));
afterEach(async () => {
  await api.database.query('delete from domains');
  ses.identities.clear();
  domains.setImpatient(false);
});

function newCaller() {
  return api.newCaller({ scopes: ['domains:manage'] });
}

function post(body: unknown, by = caller) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return request(api.url).post('/v1/domains').set('authorization', by.authorization).send(text);
}

function get(path: string, by = caller) {
  return request(api.url).get(`/v1/domains${path}`).set('authorization', by.authorization);
}

function verify(id: string, by = caller) {
  return request(api.url).post(`/v1/domains/${id}/verify`).set('authorization', by.authorization);
}

function remove(id: string, by = caller) {
  return request(api.url).delete(`/v1/domains/${id}`).set('authorization', by.authorization);
}

async function created(name = NAME, by = caller): Promise<string> {
  const response = await post({ name }, by);
  expect({ status: response.status, body: response.text }).toMatchObject({ status: 200 });
  return (response.body as { id: string }).id;
}

/** The provider's identity. A test may change it. */
function identity(name = NAME) {
  const found = ses.identities.get(name);
  if (found === undefined) throw new Error(`the provider has no ${name}`);
  return found;
}

function stored(): Promise<unknown[]> {
  return api.database.query('select name, account_id from domains');
}

async function statusOf(id: string): Promise<string> {
  return ((await get(`/${id}`)).body as { status: string }).status;
}

/** Each fault of the provider, and the API's answer to it. */
const FAILURES: readonly [string, ServiceReaction, 'ses-refused' | 'ses-unavailable'][] = [
  ['a 4xx', sesError(400, 'BadRequestException', 'no'), 'ses-refused'],
  ['a limit', sesError(400, 'LimitExceededException', 'enough'), 'ses-refused'],
  ['a 5xx', sesError(500, 'InternalFailure', 'oops'), 'ses-unavailable'],
  ['throttling', sesThrottle, 'ses-unavailable'],
  ['a lost connection', serviceDrop, 'ses-unavailable'],
  ['silence', serviceHang, 'ses-unavailable'],
];

function nextFails(operation: Parameters<FakeSes['script']>[0], reaction: ServiceReaction): void {
  ses.script(operation, [reaction]);
  domains.setImpatient(reaction === serviceHang);
}

describe('POST /v1/domains', () => {
  test('answers 200 with the records to publish, in the shape of Resend’s', async () => {
    const response = await post({ name: 'Mail.BÜCHER.example', region: 'us-east-1' });
    expect(response.status).toBe(200);
    const name = 'mail.xn--bcher-kva.example';
    const spf = { record: 'SPF', name: `send.${name}`, ttl: 'Auto', status: 'not_started' };
    const keys = identity(name).DkimAttributes.Tokens.map((token) => ({
      record: 'DKIM',
      name: `${token}._domainkey.${name}`,
      type: 'CNAME',
      ttl: 'Auto',
      status: 'pending',
      value: `${token}.dkim.amazonses.com`,
    }));
    expect(response.body).toEqual({
      object: 'domain',
      id: ID,
      name,
      status: 'pending',
      created_at: TIME,
      region: 'eu-central-1',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
      open_tracking: false,
      click_tracking: false,
      records: [
        { ...spf, type: 'MX', value: 'feedback-smtp.eu-central-1.amazonses.com', priority: 10 },
        { ...spf, type: 'TXT', value: 'v=spf1 include:amazonses.com ~all' },
        ...keys,
      ],
    });
    expect(keys).toHaveLength(3);
    expect(identity(name).Tags).toEqual([{ Key: 'postrider-account', Value: caller.accountId }]);
    const { id } = response.body as { id: string };
    expect((await get(`/${id}`)).body).toEqual(response.body);
  });

  test.each([
    ['', 400],
    ['{"name"', 400],
    ['null', 422],
    ['{}', 422],
    ['["name"]', 422],
  ])('%j is refused in plain text', async (body, status) => {
    expectPlainText(await post(body), status);
  });

  test.each([
    [{ name: null }, 'name null is not a string.'],
    [{ name: '' }, 'name "" is not a domain name.'],
    [{ name: 'co.uk' }, 'name "co.uk" is a public suffix.'],
    [{ name: '192.0.2.1' }, 'name "192.0.2.1" is an IP address.'],
    [{ name: 'https://b.example' }, 'name "https://b.example" is not a domain name.'],
    [{ name: 'b.example\0' }, 'name "b.example\\u0000" is not a domain name.'],
  ])('%j is 422 with the field and the value, and the provider is not asked', async (body, detail) => {
    const asked = ses.requests.length;
    expect(expectProblem(await post(body), 'validation-failed')).toBe(detail);
    expect(ses.requests).toHaveLength(asked);
  });

  test('a body over 64 KiB is 413', async () => {
    expectProblem(await post({ name: NAME, more: 'x'.repeat(65_536) }), 'request-too-large');
  });

  test('a name that is taken, by this or another account, is 409, and the provider is not asked', async () => {
    await created();
    const asked = ses.requests.length;
    const responses = [
      await post({ name: NAME.toUpperCase() }),
      await post({ name: NAME }, await newCaller()),
    ];
    for (const response of responses) expectProblem(response, 'domain-taken');
    expect(new Set(responses.map(withoutInstance)).size).toBe(1);
    expect(ses.requests).toHaveLength(asked);
  });

  test('one of two accounts that ask at once gets the domain, at the provider and here; the other gets 409', async () => {
    for (let round = 0; round < 5; round += 1) {
      const callers = [await newCaller(), await newCaller(), await newCaller()];
      const name = `race${round}.example`;
      const responses = await Promise.all(callers.map(async (each) => post({ name }, each)));
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
      const winner = callers[responses.findIndex(({ status }) => status === 200)];
      expect(identity(name).Tags).toEqual([{ Key: 'postrider-account', Value: winner?.accountId }]);
      expect(await stored()).toContainEqual({ name, account_id: winner?.accountId });
    }
  });

  describe.each([
    'CreateEmailIdentity',
    'PutEmailIdentityMailFromAttributes',
    'PutEmailIdentityFeedbackAttributes',
  ] as const)('when %s gets', (operation) => {
    test.each(FAILURES)('%s, nothing is stored, and the next try succeeds', async (_, reaction, slug) => {
      nextFails(operation, reaction);
      const detail = expectProblem(await post({ name: NAME }), slug);
      expect(detail).toMatch(/^The provider (refused|did not answer): /);
      expect(await stored()).toEqual([]);
      domains.setImpatient(false);
      await created();
    });
  });

  test('after a crash between the provider’s answer and our row, the same account can add the domain again', async () => {
    const left = newIdentity([{ Key: 'postrider-account', Value: caller.accountId }]);
    ses.identities.set(NAME, left);
    await api.database.query(`insert into domain_turns values ($1, 'crashed', now() + interval '300 ms')`, [
      NAME,
    ]);
    const id = await created();
    expect((await get(`/${id}`)).text).toContain(left.DkimAttributes.Tokens[0]);
    expect(identity()).toBe(left);
  });

  test('an identity that another customer has at the provider is 502', async () => {
    const theirs = newIdentity([]);
    ses.identities.set(NAME, theirs);
    expectProblem(await post({ name: NAME }), 'ses-refused');
    expect(await stored()).toEqual([]);
    expect(ses.identities.get(NAME)).toBe(theirs);
  });
});

describe('GET /v1/domains', () => {
  test('answers the account’s domains without their records, the newest first, in pages', async () => {
    const [first, second] = [await created('a.example'), await created('c.example')];
    const entry = {
      status: 'pending',
      created_at: TIME,
      region: 'eu-central-1',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
      open_tracking: false,
      click_tracking: false,
    };
    const response = await get('?limit=1');
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      object: 'list',
      has_more: true,
      data: [{ ...entry, id: second, name: 'c.example' }],
    });
    const rest = (await get(`?after=${second}`)).body as { data: unknown[] };
    expect(rest.data).toEqual([{ ...entry, id: first, name: 'a.example' }]);
    expectProblem(await get('?limit=101'), 'validation-failed');
  });
});

describe('POST /v1/domains/{id}/verify', () => {
  test('asks the provider at once; the domain is verified when the provider sends for it', async () => {
    const id = await created();
    expect((await verify(id)).body).toEqual({ object: 'domain', id });
    expect(await statusOf(id)).toBe('pending');
    publishKeys(identity());
    expect((await verify(id)).status).toBe(200);
    expect(await statusOf(id)).toBe('verified');
    expect((await get(`/${id}`)).body).toMatchObject({
      capabilities: { sending: 'enabled', receiving: 'enabled' },
    });
    Object.assign(identity(), { VerifiedForSendingStatus: false, VerificationStatus: 'FAILED' });
    identity().DkimAttributes.Status = 'FAILED';
    await verify(id);
    const failed = (await get(`/${id}`)).body as { status: string; records: { status: string }[] };
    expect(failed).toMatchObject({ status: 'failed', capabilities: { receiving: 'enabled' } });
    expect(failed.records.map(({ status }) => status)).toContain('failed');
  });

  test.each<[string, () => Promise<unknown>]>([
    ['another account’s', async () => created('b.example', await newCaller())],
    ['one of the account’s own that is not verified', async () => created('b.example')],
    ['one without a row here, as the operator’s', async () => ses.identities.set('b.example', newIdentity())],
  ])('a name under %s is verified by keys of its own alone', async (_, putAbove) => {
    await putAbove();
    publishKeys(identity('b.example'));
    const id = await created();
    expect(identity().VerifiedForSendingStatus).toBe(true);
    expect(await statusOf(id)).toBe('pending');
    await verify(id);
    expect(await statusOf(id)).toBe('pending');
    publishKeys(identity());
    await verify(id);
    expect(await statusOf(id)).toBe('verified');
  });

  test('a name under a verified domain of the account is verified with it', async () => {
    const above = await created('b.example');
    publishKeys(identity('b.example'));
    await verify(above);
    const id = await created();
    expect(await statusOf(id)).toBe('verified');
    await verify(id);
    expect(await statusOf(id)).toBe('verified');
  });

  test.each(FAILURES)('when the provider gives %s, nothing changes', async (_, reaction, slug) => {
    const id = await created();
    publishKeys(identity());
    nextFails('GetEmailIdentity', reaction);
    expectProblem(await verify(id), slug);
    expect((await get(`/${id}`)).body).toMatchObject({ status: 'pending' });
  });
});

describe('DELETE /v1/domains/{id}', () => {
  test('removes it at the provider and here; then any account may add the name', async () => {
    const id = await created();
    const response = await remove(id);
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 200,
      body: { object: 'domain', id, deleted: true },
    });
    expect([ses.identities.size, await stored()]).toEqual([0, []]);
    for (const again of [remove(id), get(`/${id}`), verify(id)]) expectProblem(await again, 'not-found');
    await created(NAME, await newCaller());
  });

  test('completes a deletion after a crash: gone at the provider, still here', async () => {
    const id = await created();
    ses.identities.clear();
    expect((await remove(id)).status).toBe(200);
    expect(await stored()).toEqual([]);
  });

  test('does not touch a new domain of the same name that was added while it waited', async () => {
    const old = await created();
    const both = await Promise.all([remove(old), remove(old), remove(old)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
    const race = await Promise.all([remove(await created()), post({ name: NAME }), post({ name: NAME })]);
    expect(race[0].status).toBe(200);
    expect(ses.identities.size).toBe((await stored()).length);
  });

  test.each(FAILURES)('when the provider gives %s, the domain stays', async (_, reaction, slug) => {
    const id = await created();
    nextFails('DeleteEmailIdentity', reaction);
    expectProblem(await remove(id), slug);
    expect((await get(`/${id}`)).status).toBe(200);
  });
});

test('a malformed id, a missing one and another account’s give the same 404, and the provider is not asked', async () => {
  const id = await created(NAME, await newCaller());
  const asked = ses.requests.length;
  for (const act of [(each: string) => get(`/${each}`), verify, remove]) {
    const ids = ['x', id, newId('domain', systemClock), id.toUpperCase(), '%00', 'a%2Fb'];
    const responses = await Promise.all(ids.map(async (each) => act(each)));
    for (const response of responses) expectProblem(response, 'not-found');
    expect(new Set(responses.map(withoutInstance)).size).toBe(1);
    expect(responses.map(textOf).join()).not.toContain(id);
  }
  expect(ses.requests).toHaveLength(asked);
});

test('when other work on the domain never ends, the answer is 503', async () => {
  const impatient = await startApi({
    domainProvider: { region: 'r', create: never, get: never, delete: never },
    domainTurn: { operationMs: 50, marginMs: 50 },
  });
  try {
    await impatient.database.query(`insert into domain_turns values ($1, 'x', now() + interval '1 hour')`, [
      NAME,
    ]);
    const { authorization } = await impatient.newCaller({ scopes: ['domains:manage'] });
    const response = await request(impatient.url)
      .post('/v1/domains')
      .set('authorization', authorization)
      .send({ name: NAME });
    const detail = 'The provider was not asked: other requests for this domain are still being worked on';
    expect(expectProblem(response, 'ses-unavailable')).toBe(detail);
  } finally {
    await impatient.stop();
  }
});

test('a 503 tells the customer no error code; the log keeps it', async () => {
  const unavailable = async () =>
    ({ kind: 'unavailable', detail: 'no answer from the mail provider', code: 'ECONNRESET' }) as const;
  const cut = await startApi({
    domainProvider: { region: 'r', create: unavailable, get: never, delete: never },
  });
  try {
    const { authorization } = await cut.newCaller({ scopes: ['domains:manage'] });
    const response = await request(cut.url)
      .post('/v1/domains')
      .set('authorization', authorization)
      .send({ name: NAME });
    const detail = 'The provider did not answer: no answer from the mail provider';
    expect(expectProblem(response, 'ses-unavailable')).toBe(detail);
    expect(cut.log()).toContain('"detail":"no answer from the mail provider (ECONNRESET)"');
  } finally {
    await cut.stop();
  }
});

function never(): Promise<never> {
  throw new Error('the provider was asked');
}

test('every route answers 503 on a deployment without domains', async () => {
  const plain = await startApi();
  try {
    const { authorization } = await plain.newCaller({ scopes: ['domains:manage'] });
    const id = newId('domain', systemClock);
    const asked = [
      request(plain.url).post('/v1/domains').send({ name: NAME }),
      request(plain.url).get('/v1/domains'),
      request(plain.url).get(`/v1/domains/${id}`),
      request(plain.url).post(`/v1/domains/${id}/verify`),
      request(plain.url).patch(`/v1/domains/${id}`).send({}),
      request(plain.url).delete(`/v1/domains/${id}`),
    ];
    for (const each of asked)
      expectProblem(await each.set('authorization', authorization), 'ses-not-configured');
  } finally {
    await plain.stop();
  }
});

test.each([
  ['POST /v1/domains', async () => post({ name: NAME })],
  ['POST /v1/domains/{id}/verify', async (id: string) => verify(id)],
  ['DELETE /v1/domains/{id}', async (id: string) => remove(id)],
])('%s of a key that was revoked during the wait is 401 and changes nothing', async (route, send) => {
  const id = route === 'POST /v1/domains' ? '' : await created();
  const before = await stored();
  const asked = ses.requests.length;
  await api.database.query(`insert into domain_turns values ($1, 'x', now() + interval '1 hour')`, [NAME]);
  const [start] = await api.database.query<{ at: Date }>('select clock_timestamp() as at');
  const pending = send(id);
  const waits = async () =>
    api.database.query(
      `select from pg_stat_activity
       where datname = current_database() and query like '/* take-domain-turn */%' and query_start > $1`,
      [start?.at],
    );
  await waitFor(async () => (await waits()).length > 0, { what: 'the request to wait for its turn' });
  await api.revoke(caller.keyId);
  await api.database.query('delete from domain_turns');
  expectProblem(await pending, 'api-key-unauthorized');
  expect(await stored()).toEqual(before);
  expect(ses.requests).toHaveLength(asked);
});
