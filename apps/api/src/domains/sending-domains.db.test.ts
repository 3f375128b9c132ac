import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { createDomainProvider } from '@postrider/mail';
import type { DomainProvider } from '@postrider/mail';
import { systemClock } from '@postrider/runtime';
import { createAccountStore, createDomainStore, openDatabase } from '@postrider/store';
import type { Database, DomainStore } from '@postrider/store';
import { createTestDatabase, setEnvironment, startFakeSes } from '@postrider/testing';
import type { FakeSes, TestDatabase } from '@postrider/testing';
import { requestBy } from '../../test/fake-domains.ts';
import { SendingDomains } from './sending-domains.ts';

const NAME = 'b.example';
const MANY = 1_000;

let outside: TestDatabase;
let database: Database;
let store: DomainStore;
let ses: FakeSes;
let restore: () => void;
let provider: DomainProvider;

beforeAll(async () => {
  outside = await createTestDatabase();
  const wakeUps = { send: () => undefined, close: async () => undefined };
  const pool = { databaseUrl: outside.url, size: 2, applicationName: 'test', onError: () => undefined };
  database = openDatabase(pool, wakeUps);
  store = createDomainStore(database, systemClock);
  ses = await startFakeSes();
  restore = setEnvironment(ses.environment);
  provider = await createDomainProvider({ region: 'eu-central-1', timeoutMs: 20_000 });
});
afterAll(async () => {
  provider.close();
  restore();
  await ses.close();
  await database.close();
  await outside.drop();
});

/** @param meanwhile runs while a request waits for its turn. @param hasTimeLeft the turn's answer. */
function sendingDomains(meanwhile: () => Promise<void>, hasTimeLeft = true) {
  return new SendingDomains({
    store,
    provider,
    limits: { all: MANY, unverified: MANY },
    logger: { warn: () => undefined },
    turns: {
      async during(_name, work) {
        await meanwhile();
        return {
          kind: 'done',
          value: await work({ hasTimeLeft: () => hasTimeLeft, reserve: async () => null }),
        };
      },
    },
  });
}

const undisturbed = () => sendingDomains(async () => undefined);

async function created(accountId: AccountId, name = NAME) {
  const outcome = await undisturbed().create(requestBy(accountId), name);
  if (outcome.kind !== 'ok') throw new Error(outcome.kind);
  return outcome.value;
}

test('a deletion that waited does not touch the domain that has come under its name since', async () => {
  const accounts = createAccountStore(database, systemClock);
  const [first, second] = [(await accounts.create('1')).id, (await accounts.create('2')).id];
  const old = await created(first);
  const waiting = sendingDomains(async () => {
    await undisturbed().delete(requestBy(first), old.id);
    await created(second);
  });
  expect(await waiting.delete(requestBy(first), old.id)).toEqual({ kind: 'missing' });
  expect(ses.identities.get(NAME)?.Tags).toEqual([{ Key: 'postrider-account', Value: second }]);
  expect(await store.isTaken(NAME)).toBe(true);
});

test('in a turn that has too little time left the provider is not asked, and nothing changes', async () => {
  const accountId = (await createAccountStore(database, systemClock).create('3')).id;
  const { id } = await created(accountId, 'late.example');
  const claim = { accountId, id, name: 'late.example' };
  await outside.query(`insert into released_domains (name) values ('released.example')`);
  const late = sendingDomains(async () => undefined, false);
  const asked = ses.requests.length;
  const outcome = { kind: 'not-asked', detail: 'the storage took too long' };
  expect(await late.create(requestBy(accountId), 'later.example')).toEqual(outcome);
  expect(await late.create(requestBy(accountId), 'released.example')).toEqual(outcome);
  expect(await late.verify(requestBy(accountId), id)).toEqual(outcome);
  expect(await late.expire(claim)).toEqual(outcome);
  expect(await late.delete(requestBy(accountId), id)).toEqual({ ...outcome, duringDeletion: true });
  expect(await late.finishRelease('released.example')).toEqual({ ...outcome, duringDeletion: true });
  expect(ses.requests).toHaveLength(asked);
  expect([await store.isTaken('later.example'), await store.isTaken('late.example')]).toEqual([false, true]);
  expect(await store.isReleased('released.example')).toBe(true);
});

test('to verify a domain that the provider does not have is refused, and changes nothing', async () => {
  const accountId = (await createAccountStore(database, systemClock).create('5')).id;
  const { id } = await created(accountId, 'gone.example');
  const before = await store.find(accountId, id);
  ses.identities.delete('gone.example');
  expect(await undisturbed().verify(requestBy(accountId), id)).toEqual({
    kind: 'refused',
    detail: 'it does not have the domain',
  });
  expect(await store.find(accountId, id)).toEqual(before);
});

test('that a name is taken is told without waiting for a turn', async () => {
  const accountId = (await createAccountStore(database, systemClock).create('4')).id;
  await created(accountId, 'taken.example');
  const waiting = sendingDomains(async () => {
    throw new Error('it waited for a turn');
  });
  expect(await waiting.create(requestBy(accountId), 'taken.example')).toEqual({ kind: 'taken' });
});
