import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { apiKeyDigest, newApiKey, newId } from '@postrider/domain';
import type { AccountId, ApiKeyId } from '@postrider/domain';
import { ACTOR, awayFromNewHour, untilWaitingForLock, waitFor } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { watchedPool } from '../../test/watched-pool.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { createApiKeyStore } from './api-keys.ts';
import type { ApiKeyStore } from './api-keys.ts';
import { createKeyLookUps } from './key-look-ups.ts';
import type { FoundKey } from './key-look-ups.ts';

const SECOND_MS = 1_000;
const KEPT_MAX = 10_000;

const store = setupStore();
let operator: ApiKeyStore;
let accountId: AccountId;

/** A clock that the test sets. */
let nowMs: number;
/** The look-ups of one process, and the statements that they sent. */
let lookUp: ReturnType<typeof createKeyLookUps<FoundKey>>;
let find: (key: string) => Promise<FoundKey | null>;
let sent: readonly string[];
let watched: ReturnType<typeof watchedPool>;
let finds: () => number;

beforeAll(async () => {
  operator = createApiKeyStore(store.db, store.clock);
  accountId = await store.newAccount();
});
beforeEach(() => {
  watched = watchedPool(store.db.pool);
  nowMs = 5_000;
  sent = watched.sent;
  finds = () => sent.filter((name) => name === 'find-api-keys').length;
  lookUp = createKeyLookUps(
    watched.pool,
    (row) => row,
    () => nowMs,
  );
  find = async (key) => lookUp(apiKeyDigest(key));
});

async function newKey(): Promise<{ id: ApiKeyId; key: string }> {
  const { apiKey, key } = await operator.create(
    {
      accountId,
      kind: 'live',
      scopes: ['emails:send'],
      rateLimitPerMinute: null,
    },
    ACTOR,
  );
  return { id: apiKey.id, key };
}

/** Like `revoke`, but without its wait, so that the clock of the test decides. */
async function markRevoked(key: string): Promise<void> {
  await store.outside.query('update api_keys set revoked_at = now() where digest = $1', [apiKeyDigest(key)]);
}

describe('a found key', () => {
  test('is not read again within a second after the statement was sent, and is read again later', async () => {
    const { id, key } = await newKey();
    expect(await find(key)).toMatchObject({ id, accountId });
    await markRevoked(key);
    nowMs += SECOND_MS - 1;
    expect(await find(key)).toMatchObject({ id });
    expect(finds()).toBe(1);
    nowMs += 1;
    expect(await find(key)).toBeNull();
    expect(finds()).toBe(2);
  });

  test('is returned without a promise, the same object each time', async () => {
    const { key } = await newKey();
    const first = await find(key);
    expect(lookUp(apiKeyDigest(key))).toBe(first);
  });

  test('is read again at once when its statement took a second', async () => {
    const { id, key } = await newKey();
    await inUndoneTransaction(store.db.pool, async (session) => {
      await session.query('lock table api_keys in access exclusive mode');
      const first = find(key);
      await untilWaitingForLock(store.outside);
      nowMs += SECOND_MS;
      await session.query('rollback');
      expect(await first).toMatchObject({ id });
    });
    await find(key);
    expect(finds()).toBe(2);
  });

  test('is read again when its answer took more than a second: it may be revoked since', async () => {
    const { key } = await newKey();
    const answer = watched.holdAnswer();
    const late = find(key);
    await waitFor(async () => watched.ended.length === 1, { what: 'the key to be read' });
    await markRevoked(key);
    nowMs += SECOND_MS + 1;
    answer();
    expect(await late).toBeNull();
    expect(finds()).toBe(2);
  });

  test('is not read again when only the wait for a connection took more than a second', async () => {
    const { key, id } = await newKey();
    const { pool } = store.db;
    const busy = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    const waits = find(key);
    await waitFor(() => pool.waitingCount === 1, { what: 'the look-up to wait for a connection' });
    nowMs += SECOND_MS + 1;
    for (const client of busy) client.release();
    expect(await waits).toMatchObject({ id });
    expect(finds()).toBe(1);
  });

  test('is not used when the second answer is late, too', async () => {
    const { key } = await newKey();
    const first = watched.holdAnswer();
    const late = find(key);
    await waitFor(async () => watched.ended.length === 1, { what: 'the key to be read' });
    const second = watched.holdAnswer();
    nowMs += SECOND_MS + 1;
    first();
    await waitFor(async () => watched.ended.length === 2, { what: 'the key to be read again' });
    nowMs += SECOND_MS + 1;
    second();
    await expect(late).rejects.toThrow(StoreUnavailableError);
  });

  test('is the one of the newest statement, also when an older one answers later', async () => {
    const { key } = await newKey();
    const answerFirst = watched.holdAnswer();
    const first = find(key);
    await waitFor(async () => watched.ended.includes('find-api-keys'), { what: 'the first to be read' });
    await store.outside.query('update api_keys set rate_limit_per_minute = 7 where digest = $1', [
      apiKeyDigest(key),
    ]);
    nowMs += SECOND_MS / 2;
    expect(await find(key)).toMatchObject({ rateLimitPerMinute: 7 });
    answerFirst();
    expect(await first).toMatchObject({ rateLimitPerMinute: null });
    nowMs += SECOND_MS - 1;
    expect(await find(key)).toMatchObject({ rateLimitPerMinute: 7 });
    expect(finds()).toBe(2);
  });

  test('does not answer for another key', async () => {
    const [known, other] = [await newKey(), await newKey()];
    await find(known.key);
    expect(await find(other.key)).toMatchObject({ id: other.id });
    expect(await find(newApiKey('live'))).toBeNull();
    expect(finds()).toBe(3);
  });

  test('is one of at most 10,000 in memory; the oldest are dropped first', async () => {
    const keys = await manyKeys(KEPT_MAX);
    const first = await newKey();
    await find(first.key);
    nowMs += 1;
    await Promise.all(keys.map(find));
    expect(finds()).toBe(2);
    await Promise.all(keys.map(find));
    expect(finds()).toBe(2);
    await find(first.key);
    expect(finds()).toBe(3);
  });
});

test('unknown and revoked keys are read every time', async () => {
  const { key } = await newKey();
  await markRevoked(key);
  for (const text of [newApiKey('live'), key]) {
    for (let n = 0; n < 3; n += 1) expect(await find(text)).toBeNull();
  }
  expect(finds()).toBe(6);
});

test('an expired key is not found, also when it was found before it expired', async () => {
  const { key } = await newKey();
  const expire = (when: string) =>
    store.outside.query(`update api_keys set expires_at = ${when} where digest = $1`, [apiKeyDigest(key)]);
  await expire(`now() + interval '1 hour'`);
  expect(await find(key)).not.toBeNull();
  expect(finds()).toBe(1);
  nowMs += SECOND_MS;
  const foundBeforeItExpired = async () => {
    await expire(`now() + interval '200 ms'`);
    return find(key);
  };
  await waitFor(foundBeforeItExpired, { what: 'a look-up that takes less than 200 ms' });
  const before = finds();
  nowMs += SECOND_MS - 1;
  const isExpired = () =>
    store.outside.query('select from api_keys where digest = $1 and expires_at < now()', [apiKeyDigest(key)]);
  await waitFor(async () => (await isExpired()).length === 1, { what: 'the key to expire' });
  expect(await find(key)).toBeNull();
  expect(finds()).toBe(before + 1);
});

describe('the last use of a key', () => {
  const usedAt = async (key: string) =>
    (
      await store.outside.query<{ at: Date | null; isThisHour: boolean | null }>(
        `select last_used_at as at, last_used_at = date_trunc('hour', now(), 'utc') as "isThisHour"
         from api_keys where digest = $1`,
        [apiKeyDigest(key)],
      )
    )[0];
  const isMarked = (key: string) =>
    waitFor(async () => (await usedAt(key))?.isThisHour === true, { what: 'the use to be stored' });
  const setUsed = (key: string, when: string) =>
    store.outside.query(`update api_keys set last_used_at = ${when} where digest = $1`, [apiKeyDigest(key)]);

  test('is stored to the hour, once an hour, and for no other key', async () => {
    await awayFromNewHour();
    const [used, other] = [await newKey(), await newKey()];
    await find(used.key);
    await isMarked(used.key);
    nowMs += SECOND_MS;
    await find(used.key);
    expect(sent).toEqual(['find-api-keys', 'mark-keys-used', 'find-api-keys']);
    await setUsed(used.key, `date_trunc('hour', now()) - interval '1 hour'`);
    nowMs += SECOND_MS;
    await find(used.key);
    await isMarked(used.key);
    expect(await usedAt(other.key)).toMatchObject({ at: null });
  });

  test('holds up no request while the row is locked, and is stored by a later look-up', async () => {
    await awayFromNewHour();
    const { key } = await newKey();
    await inUndoneTransaction(store.db.pool, async (session) => {
      await session.query('select from api_keys where digest = $1 for update', [apiKeyDigest(key)]);
      expect(await find(key)).not.toBeNull();
      await waitFor(async () => watched.ended.includes('mark-keys-used'), { what: 'the try to store it' });
    });
    nowMs += SECOND_MS;
    await find(key);
    await isMarked(key);
  });

  test('is not stored for a key that is refused', async () => {
    const { key } = await newKey();
    await markRevoked(key);
    expect(await find(key)).toBeNull();
    expect(sent).toEqual(['find-api-keys']);
  });
});

test('look-ups of one turn of the event loop are one statement, and each gets its own answer', async () => {
  const [one, two] = [await newKey(), await newKey()];
  const asked = [one.key, newApiKey('live'), two.key, one.key];
  const found = await Promise.all(asked.map(find));
  expect(found.map((row) => row?.id)).toEqual([one.id, undefined, two.id, one.id]);
  expect(finds()).toBe(1);
});

test('a look-up joins no statement that was already sent, so it sees later revocations', async () => {
  const { key } = await newKey();
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query('lock table api_keys in access exclusive mode');
    const first = find(key);
    await untilWaitingForLock(store.outside);
    const second = find(key);
    await untilWaitingForLock(store.outside, 2);
    await session.query('update api_keys set revoked_at = now() where digest = $1', [apiKeyDigest(key)]);
    await session.query('commit');
    await first;
    expect(await second).toBeNull();
  });
  expect(finds()).toBe(2);
});

test('a look-up fails when Postgres does not answer, and the next one runs a new statement', async () => {
  const { id, key } = await newKey();
  await store.outside.query('alter table api_keys rename to away');
  const failed = await Promise.allSettled([find(key), find(key)]);
  await store.outside.query('alter table away rename to api_keys');
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await find(key)).toMatchObject({ id });
});

test('once a revocation has returned, no process finds the key, even under load', async () => {
  const processes = Array.from({ length: 4 }, () => createApiKeyStore(store.db, store.clock));
  const { id, key } = await newKey();
  for (const one of processes) expect(await one.findActive(apiKeyDigest(key))).toMatchObject({ id });
  let returned = false;
  let before = 0;
  const foundAfter: string[] = [];
  const requests = processes.map(async (one) => {
    for (let last = false; !last;) {
      last = returned; // one more that begins after it
      const found = await one.findActive(apiKeyDigest(key));
      await setImmediate();
      if (found !== null && last) foundAfter.push(found.id);
      if (found !== null && !last) before += 1;
    }
  });
  await operator.revoke(id, ACTOR);
  returned = true;
  await Promise.all(requests);
  expect(before).toBeGreaterThan(processes.length);
  expect(foundAfter).toEqual([]);
});

/** Adds `count` keys with one statement. */
async function manyKeys(count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => newApiKey('live'));
  await store.outside.query(
    `insert into api_keys (id, account_id, digest, kind, scopes)
     select k.id, $1, k.digest, 'live', '{}' from unnest($2::text[], $3::bytea[]) k (id, digest)`,
    [accountId, keys.map(() => newId('apiKey', store.clock)), keys.map(apiKeyDigest)],
  );
  return keys;
}
