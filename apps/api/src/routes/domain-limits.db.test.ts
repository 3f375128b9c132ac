import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { publishKeys, serviceHang, sesError, waitFor } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';
import { problemsPage } from '../docs/problems-page.ts';

const MAX = 10;
const ALL_MAX = 15;
const DETAIL = `The account has as many domains that are not verified as it may have: ${MAX}.`;

const fake = setupFakeDomains();
const options = () => ({ domainProvider: fake.provider, domainLimits: { all: ALL_MAX, unverified: MAX } });
const api = setupApi(options);
/** A second process on the same database. */
const second = setupApi(() => ({ ...options(), through: () => api.database.url }));
let caller: Caller;

beforeEach(async () => void (caller = await newCaller()));
afterEach(async () => {
  await api.database.query('delete from domains');
  fake.ses.identities.clear();
});

const newCaller = () => api.newCaller({ scopes: ['domains:manage'] });

const add = (name: string, { by = caller, process = 0 } = {}) =>
  request((process === 0 ? api : second).url)
    .post('/v1/domains')
    .set('authorization', by.authorization)
    .send({ name });

async function fill(): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < MAX; n += 1) {
    const answer = await add(`n${n}.example`);
    expect(answer.status).toBe(200);
    ids.push((answer.body as { id: string }).id);
  }
  return ids;
}

test('thirty additions at once, in two processes, make as many domains as the limit allows', async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, async (_, n) => add(`n${n}.example`, { process: n % 2 })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(MAX);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(expectProblem(answer, 'validation-failed')).toBe(DETAIL);
  }
  expect(fake.ses.identities.size).toBe(MAX);
});

test('one more is 422 without a call to the provider; other accounts are not affected', async () => {
  await fill();
  const asked = fake.ses.requests.length;
  expect(expectProblem(await add('more.example'), 'validation-failed')).toBe(DETAIL);
  expect(fake.ses.requests).toHaveLength(asked);
  expect((await add('more.example', { by: await newCaller() })).status).toBe(200);
});

test('after a domain is verified or deleted the account may add another, as docs/problems.md says', async () => {
  expect(problemsPage().replaceAll(/\s+/g, ' ')).toContain(
    '"The account has as many domains that are not verified as it may have", once one is verified or deleted.',
  );
  const [first = '', second = ''] = await fill();
  const identity = fake.ses.identities.get('n0.example');
  if (identity !== undefined) publishKeys(identity);
  const act = request(api.url);
  await act.post(`/v1/domains/${first}/verify`).set('authorization', caller.authorization);
  expect((await add('a.example')).status).toBe(200);
  expectProblem(await add('b.example'), 'validation-failed');
  await act.delete(`/v1/domains/${second}`).set('authorization', caller.authorization);
  expect((await add('b.example')).status).toBe(200);
});

test('names below a domain of the account count against its limit', async () => {
  const above = await add('own.example');
  const identity = fake.ses.identities.get('own.example');
  if (identity !== undefined) publishKeys(identity);
  const { id } = above.body as { id: string };
  await request(api.url).post(`/v1/domains/${id}/verify`).set('authorization', caller.authorization);
  for (let n = 1; n < ALL_MAX; n += 1) {
    expect((await add(`n${n}.own.example`)).body).toMatchObject({ status: 'verified' });
  }
  const asked = fake.ses.requests.length;
  expect(expectProblem(await add('more.own.example'), 'validation-failed')).toBe(
    `The account has as many domains as it may have: ${ALL_MAX}.`,
  );
  expect(fake.ses.requests).toHaveLength(asked);
});

test('a domain that the provider refuses does not count', async () => {
  fake.ses.script('CreateEmailIdentity', [sesError(400, 'BadRequestException', 'no')]);
  expectProblem(await add('no.example'), 'ses-refused');
  await fill();
});

test('an account’s own limit replaces the default', async () => {
  await api.database.query('update accounts set unverified_domains_max = 0 where id = $1', [
    caller.accountId,
  ]);
  expectProblem(await add('a.example'), 'validation-failed');
});

test('an account has one call at the provider at a time; another account’s call does not wait for it', async () => {
  fake.ses.script('CreateEmailIdentity', [serviceHang]);
  const before = fake.ses.requests.length;
  const slow = Array.from({ length: 5 }, (_, n) => {
    const asked = add(`n${n}.example`);
    asked.end(() => undefined);
    return asked;
  });
  await waitFor(() => fake.ses.requests.length === before + 1, { what: 'the first call' });
  expect((await add('other.example', { by: await newCaller() })).status).toBe(200);
  const names = fake.ses.requests.slice(before).map(({ operation }) => operation);
  expect(names.filter((name) => name === 'CreateEmailIdentity')).toHaveLength(2);
  for (const asked of slow) asked.abort();
});
