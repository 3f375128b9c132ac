import { beforeEach, expect, test } from '@jest/globals';
import { publishKeys } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const domains = setupFakeDomains();
const api = setupApi(() => ({ domainProvider: domains.provider, verifiedDomainsOnly: true }));
let [first, second]: Caller[] = [];

beforeEach(async () => {
  await api.database.query('delete from domains');
  domains.ses.identities.clear();
  const scopes = ['domains:manage', 'emails:send'] as const;
  [first, second] = [await api.newCaller({ scopes }), await api.newCaller({ scopes })];
});

function call(by: Caller | undefined, method: 'post' | 'get' | 'delete', path: string) {
  return request(api.url)
    [method](path)
    .set('authorization', by?.authorization ?? '');
}

async function added(by: Caller | undefined, name: string): Promise<string> {
  const response = await call(by, 'post', '/v1/domains').send({ name });
  expect(response.status).toBe(200);
  return (response.body as { id: string }).id;
}

async function verified(by: Caller | undefined, name: string): Promise<string> {
  const id = await added(by, name);
  publishKeys(identity(name));
  expect((await call(by, 'post', `/v1/domains/${id}/verify`)).status).toBe(200);
  return id;
}

function identity(name: string) {
  const found = domains.ses.identities.get(name);
  if (found === undefined) throw new Error(`the provider has no ${name}`);
  return found;
}

async function statusOf(by: Caller | undefined, id: string): Promise<string> {
  return ((await call(by, 'get', `/v1/domains/${id}`)).body as { status: string }).status;
}

async function send(by: Caller | undefined, from: string) {
  return call(by, 'post', '/v1/emails').send({ from, to: 'b@b.example', subject: 'Hi', text: 'Hi' });
}

test('a name below a domain that now belongs to another account may not send', async () => {
  const shop = await verified(first, 'shop.example');
  const below = await added(first, 'sub.shop.example');
  expect((await send(first, 'x@sub.shop.example')).status).toBe(200);
  expect((await call(first, 'delete', `/v1/domains/${shop}`)).status).toBe(200);
  await verified(second, 'shop.example');
  expectProblem(await send(first, 'x@sub.shop.example'), 'domain-not-verified');
  await call(first, 'post', `/v1/domains/${below}/verify`);
  expectProblem(await send(first, 'x@sub.shop.example'), 'domain-not-verified');
  expect(await statusOf(first, below)).toBe('pending');
});

test('DKIM keys that were found before and cannot be looked up now leave a domain verified', async () => {
  const id = await verified(first, 'b.example');
  identity('b.example').DkimAttributes.Status = 'TEMPORARY_FAILURE';
  for (let n = 0; n < 2; n += 1) {
    await call(first, 'post', `/v1/domains/${id}/verify`);
    expect(await statusOf(first, id)).toBe('verified');
  }
  expect((await send(first, 'x@b.example')).status).toBe(200);
  identity('b.example').VerifiedForSendingStatus = false;
  await call(first, 'post', `/v1/domains/${id}/verify`);
  expectProblem(await send(first, 'x@b.example'), 'domain-not-verified');
});

test('DKIM keys that were never found do not verify a domain while they cannot be looked up', async () => {
  await verified(second, 'shop.example');
  const id = await added(first, 'sub.shop.example');
  identity('sub.shop.example').DkimAttributes.Status = 'TEMPORARY_FAILURE';
  for (let n = 0; n < 2; n += 1) {
    await call(first, 'post', `/v1/domains/${id}/verify`);
    expect(await statusOf(first, id)).toBe('pending');
  }
});
