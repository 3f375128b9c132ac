import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { createLogger } from '@postrider/runtime';
import type { PeriodicTask } from '@postrider/runtime';
import { createAccountStore, createDomainStore, createDomainTurns, openDatabase } from '@postrider/store';
import type { Database, DomainStore } from '@postrider/store';
import {
  ACTOR,
  createTestDatabase,
  fakeClock,
  publishKeys,
  serviceDrop,
  sesError,
  waitFor,
} from '@postrider/testing';
import type { FakeIdentity, ServiceReaction, TestDatabase } from '@postrider/testing';
import { requestBy, setupFakeDomains } from '../../test/fake-domains.ts';
import { domainClaimsTask } from './domain-claims.ts';
import type { DomainClaimsOptions } from './domain-claims.ts';
import { SendingDomains } from './sending-domains.ts';

const NAME = 'b.example';
const OTHER_NAME = 'c.example';
const DAYS = 7;
const INTERVAL_MS = 10;

const fake = setupFakeDomains();
let outside: TestDatabase;
let database: Database;
let store: DomainStore;
let domains: SendingDomains;
let accountId: AccountId;
let claims: PeriodicTask | undefined;

beforeAll(async () => {
  outside = await createTestDatabase();
  const wakeUps = { send: () => undefined, close: async () => undefined };
  const pool = { databaseUrl: outside.url, size: 4, applicationName: 'test', onError: () => undefined };
  database = openDatabase(pool, wakeUps);
  store = createDomainStore(database, fakeClock());
  domains = new SendingDomains({
    store,
    turns: createDomainTurns(database, { operationMs: 20_000, marginMs: 20_000 }),
    provider: fake.provider,
    limits: { all: 100, unverified: 100 },
    logger: { warn: () => undefined },
  });
});
afterAll(async () => {
  await database.close();
  await outside.drop();
});
beforeEach(async () => {
  accountId = (await createAccountStore(database, fakeClock()).create('Test')).id;
});
afterEach(async () => {
  await claims?.stop();
  claims = undefined;
  await outside.query('delete from domains');
  await outside.query('delete from released_domains');
  fake.ses.identities.clear();
});

/** Adds a domain, as if this many days ago. */
async function claimed(name: string, daysAgo: number, owner = accountId) {
  const outcome = await domains.create(requestBy(owner), name);
  if (outcome.kind !== 'ok') throw new Error(outcome.kind);
  await outside.query('update domains set claimed_at = now() - make_interval(days => $2) where name = $1', [
    name,
    daysAgo,
  ]);
  return outcome.value;
}

function identity(name: string): FakeIdentity {
  const found = fake.ses.identities.get(name);
  if (found === undefined) throw new Error(`no identity ${name}`);
  return found;
}

/** Starts the task. @returns its log. */
function startClaims(intervalMs = INTERVAL_MS, using: DomainClaimsOptions['domains'] = domains): PassThrough {
  const stream = new PassThrough();
  const logger = createLogger({ level: 'info', service: 'api', stream });
  claims = domainClaimsTask({
    store,
    domains: using,
    claimDays: DAYS,
    logger,
    intervalMs,
  });
  claims.start();
  return stream;
}

/** The fields of the first log line that the tests compare. */
async function firstLine(log: PassThrough): Promise<Readonly<Record<string, unknown>>> {
  const [line] = (await once(createInterface(log), 'line')) as [string];
  const { msg, domain, domain_id, detail } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  return { msg, domain, domain_id, detail };
}

async function untilFree(name: string): Promise<void> {
  await waitFor(async () => !(await store.isTaken(name)), { what: `${name} to be free` });
}

/** How often the provider was asked for the domain's state. */
const askedFor = (name: string) =>
  fake.ses.requests.filter(({ operation, path }) => operation === 'GetEmailIdentity' && path.endsWith(name))
    .length;

async function untilAskedFor(name: string): Promise<void> {
  const before = askedFor(name);
  await waitFor(() => askedFor(name) > before, { what: `the provider to be asked for ${name}` });
}

/** Resolves after a whole pass that began after this call. */
async function untilPassed(): Promise<void> {
  await claimed('z.example', DAYS + 1);
  await untilFree('z.example');
}

describe('a domain that was never verified', () => {
  test('is removed after its days, here and at the provider, and another account may have its name', async () => {
    await claimed(NAME, DAYS + 1);
    await claimed(OTHER_NAME, DAYS - 1);
    startClaims();
    await untilFree(NAME);
    expect([...fake.ses.identities.keys()]).toEqual([OTHER_NAME]);
    await untilPassed();
    expect(await store.isTaken(OTHER_NAME)).toBe(true);
    const other = (await createAccountStore(database, fakeClock()).create('Other')).id;
    expect((await domains.create(requestBy(other), NAME)).kind).toBe('ok');
  });

  test('stays when the provider, asked again, finds it verified', async () => {
    const { id } = await claimed(NAME, DAYS + 1);
    publishKeys(identity(NAME));
    startClaims();
    await waitFor(async () => (await store.find(accountId, id))?.status === 'verified', {
      what: 'its status',
    });
    await untilPassed();
    expect(await store.isTaken(NAME)).toBe(true);
  });

  test('stays when a process of the previous release has verified it, and the provider is not asked', async () => {
    const { id } = await claimed(NAME, DAYS + 1);
    await outside.query(`update domains set status = 'verified' where name = $1`, [NAME]);
    const asked = fake.ses.requests.length;
    expect(await domains.expire({ accountId, id, name: NAME })).toEqual({ kind: 'ok', value: 'kept' });
    expect(fake.ses.requests).toHaveLength(asked);
  });

  test.each<[string, ServiceReaction]>([
    ['does not answer', serviceDrop],
    ['is busy', sesError(429, 'TooManyRequestsException', 'slow down')],
    ['refuses to say', sesError(403, 'AccessDeniedException', 'not you')],
  ])('stays while the provider %s', async (_, reaction) => {
    const { id } = await claimed(NAME, DAYS + 1);
    fake.ses.script('GetEmailIdentity', [reaction]);
    const asked = fake.ses.requests.length;
    const outcome = await domains.expire({ accountId, id, name: NAME });
    expect(outcome.kind).not.toBe('ok');
    expect(fake.ses.requests).toHaveLength(asked + 1);
    expect([await store.isTaken(NAME), fake.ses.identities.has(NAME)]).toEqual([true, true]);
  });

  test('stays while its keys cannot be looked up', async () => {
    await claimed(NAME, DAYS + 1);
    identity(NAME).DkimAttributes.Status = 'TEMPORARY_FAILURE';
    startClaims();
    await untilAskedFor(NAME);
    await untilAskedFor(NAME);
    expect(await store.isTaken(NAME)).toBe(true);
    await untilPassed(); // other domains are still judged
  });

  test('is judged alone: a pass judges one domain only', async () => {
    for (const name of [NAME, OTHER_NAME, 'd.example']) await claimed(name, DAYS + 1);
    await outside.query(`insert into released_domains (name) values ('e.example')`);
    const asked = fake.ses.requests.length;
    startClaims(60 * 60 * 1000); // no second pass
    await waitFor(async () => !(await store.isReleased('e.example')), { what: 'the end of the pass' });
    const operations = fake.ses.requests.slice(asked).map(({ operation }) => operation);
    expect(operations).toEqual(['GetEmailIdentity', 'DeleteEmailIdentity', 'DeleteEmailIdentity']);
    expect(fake.ses.identities.size).toBe(2);
  });

  test('stored by an older release: its days begin with the first pass', async () => {
    await claimed(NAME, 1_000);
    await outside.query('update domains set claimed_at = null');
    startClaims();
    await untilPassed();
    expect(
      await outside.query('select name, claimed_at is not null as claimed from domains where name = $1', [
        NAME,
      ]),
    ).toEqual([{ name: NAME, claimed: true }]);
  });

  test('is removed although the provider does not have it', async () => {
    await claimed(NAME, DAYS + 1);
    fake.ses.identities.delete(NAME);
    startClaims();
    await untilFree(NAME);
  });

  test('is removed although SES sends for it through another account’s parent domain', async () => {
    await claimed(NAME, DAYS + 1);
    Object.assign(identity(NAME), { VerifiedForSendingStatus: true, VerificationStatus: 'SUCCESS' });
    startClaims();
    await untilFree(NAME);
  });
});

describe('the log says what the provider did not do', () => {
  const denied = sesError(403, 'AccessDeniedException', 'not you');
  const detail = expect.stringContaining('AccessDenied');

  test('when it does not judge a domain', async () => {
    const { id } = await claimed(NAME, DAYS + 1);
    fake.ses.script('GetEmailIdentity', [denied]);
    const msg = 'the provider did not judge a domain';
    expect(await firstLine(startClaims())).toEqual({ msg, domain_id: id, detail });
  });

  test('when it does not delete a domain that it has judged', async () => {
    const { id } = await claimed(NAME, DAYS + 1);
    fake.ses.script('DeleteEmailIdentity', [denied]);
    const msg = 'the provider did not delete a domain';
    expect(await firstLine(startClaims())).toEqual({ msg, domain_id: id, detail });
  });

  test('when it does not delete a released domain', async () => {
    await outside.query('insert into released_domains (name) values ($1)', [NAME]);
    fake.ses.script('DeleteEmailIdentity', [denied]);
    const msg = 'the provider did not delete a domain';
    expect(await firstLine(startClaims())).toEqual({ msg, domain: NAME, detail });
  });

  test('when nobody asked it', async () => {
    const { id } = await claimed(NAME, DAYS + 1);
    const busy = { kind: 'not-asked', detail: 'other requests are being worked on' } as const;
    const using = { expire: async () => busy, finishRelease: async () => busy };
    const msg = 'the provider was not asked about a domain';
    expect(await firstLine(startClaims(INTERVAL_MS, using))).toEqual({
      msg,
      domain_id: id,
      detail: busy.detail,
    });
  });
});

test('a domain that was verified once is never taken away, and the provider is not asked', async () => {
  const { id } = await claimed(NAME, 1_000);
  publishKeys(identity(NAME));
  await domains.verify(requestBy(accountId), id);
  Object.assign(identity(NAME), { VerifiedForSendingStatus: false, VerificationStatus: 'FAILED' });
  identity(NAME).DkimAttributes.Status = 'FAILED';
  await domains.verify(requestBy(accountId), id);
  expect(await store.find(accountId, id)).toMatchObject({ status: 'failed' });
  expect(await domains.expire({ accountId, id, name: NAME })).toEqual({ kind: 'ok', value: 'kept' });
  const asked = askedFor(NAME);
  startClaims();
  await untilPassed();
  expect([await store.isTaken(NAME), askedFor(NAME)]).toEqual([true, asked]);
  expect(fake.ses.identities.has(NAME)).toBe(true);
});

describe('a domain that an operator has released', () => {
  test("is free at once: the next account's request deletes it at the provider and adds it again", async () => {
    const { id } = await claimed(NAME, 0);
    expect(await store.release(NAME, ACTOR)).toEqual({ accountId, id, name: NAME });
    expect(await store.find(accountId, id)).toBeNull();
    const other = (await createAccountStore(database, fakeClock()).create('Other')).id;
    expect((await domains.create(requestBy(other), NAME)).kind).toBe('ok');
    expect(identity(NAME).Tags).toEqual([{ Key: 'postrider-account', Value: other }]);
    startClaims();
    await untilPassed();
    expect(identity(NAME).Tags).toEqual([{ Key: 'postrider-account', Value: other }]);
  });

  test('is deleted at the provider by an API process', async () => {
    await claimed(NAME, 0);
    await store.release(NAME, ACTOR);
    startClaims();
    await waitFor(() => !fake.ses.identities.has(NAME), { what: 'the provider to have it no more' });
    await waitFor(async () => !(await store.isReleased(NAME)), { what: 'its row in released_domains to go' });
  });

  test('stays at the provider when an account has added it since', async () => {
    await claimed(NAME, 0);
    await outside.query('insert into released_domains (name) values ($1)', [NAME]);
    startClaims();
    await waitFor(async () => !(await store.isReleased(NAME)), { what: 'its row in released_domains to go' });
    expect(fake.ses.identities.has(NAME)).toBe(true);
  });

  test('no longer counts for the domains below it', async () => {
    const above = await claimed(NAME, 0);
    publishKeys(identity(NAME));
    await domains.verify(requestBy(accountId), above.id);
    const below = await claimed(`mail.${NAME}`, 0);
    Object.assign(identity(`mail.${NAME}`), {
      VerifiedForSendingStatus: true,
      VerificationStatus: 'SUCCESS',
    });
    await domains.verify(requestBy(accountId), below.id);
    expect(await store.find(accountId, below.id)).toMatchObject({ status: 'verified' });
    await store.release(NAME, ACTOR);
    expect(await store.find(accountId, below.id)).toMatchObject({ status: 'pending' });
  });
});

test('a release of a name that no account has returns null', async () => {
  expect(await store.release(NAME, ACTOR)).toBeNull();
  expect(await store.isReleased(NAME)).toBe(false);
});
