import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createRows, setupDatabase, withClient } from '@postrider/testing';
import type { Pool } from 'pg';
import { StoreUnavailableError } from '../db/errors.ts';
import { createPool } from '../db/pool.ts';
import { dropExpired } from './housekeeping.ts';

const database = setupDatabase();
const rows = createRows(database);
let pool: Pool;

function openPool(url: string, size = 4): Pool {
  return createPool({
    databaseUrl: url,
    size,
    applicationName: 'housekeeping-test',
    durableCommits: false,
    onError: () => undefined,
  });
}

beforeEach(() => {
  pool = openPool(database.url);
});
afterEach(() => pool.end());

describe('what is kept for a time', () => {
  test('is dropped when its time is over, in as many batches as it takes, and not before', async () => {
    const accountId = await rows.account();
    await database.query(
      `insert into idempotency_keys (account_id, kind, route, key, request_digest, answer, created_at)
       select $1, 'live', 'r', n::text, '', '[]',
              now() - case when n <= 2500 then interval '24 hours' else interval '23 hours 59 minutes' end
       from generate_series(1, 2501) n`,
      [accountId],
    );
    await database.query(
      `insert into provider_notifications
       values ('old', now() - interval '8 days'), ('young', now() - interval '7 days 23 hours')`,
    );
    await database.query(
      `insert into unclaimed_notifications
       values ('old', 'p', '{}', now() - interval '24 hours'),
              ('young', 'p', '{}', now() - interval '23 hours 59 minutes')`,
    );
    await database.query(
      `insert into released_addresses
       values ('old@in.example', $1, now() - interval '30 days'),
              ('young@in.example', $1, now() - interval '29 days 23 hours')`,
      [accountId],
    );
    await database.query(
      `insert into counted_sends values ('old', $1, 'a@a.example', 1, now() - interval '2 hours'),
                                        ('young', $1, 'a@a.example', 1, now() - interval '119 minutes')`,
      [accountId],
    );
    await database.query(
      `insert into console_sessions values ('\\x01', 'ada', '\\x0a', now()),
                                           ('\\x02', 'ada', '\\x0a', now() + interval '1 minute')`,
    );
    await database.query(
      `insert into console_forms values ('old', null, null, now() - interval '24 hours'),
                                        ('young', null, null, now() - interval '23 hours 59 minutes')`,
    );
    expect(await dropExpired(pool)).toBe(2506);
    expect(await database.query(`select token_digest::text as token from console_sessions`)).toEqual([
      { token: '\\x02' },
    ]);
    expect(await database.query('select token from console_forms')).toEqual([{ token: 'young' }]);
    expect(await database.query('select id from counted_sends')).toEqual([{ id: 'young' }]);
    expect(await database.query('select address from released_addresses')).toEqual([
      { address: 'young@in.example' },
    ]);
    expect(await database.query('select key from idempotency_keys')).toEqual([{ key: '2501' }]);
    expect(await database.query('select message_id from provider_notifications')).toEqual([
      { message_id: 'young' },
    ]);
    expect(await database.query('select message_id from unclaimed_notifications')).toEqual([
      { message_id: 'young' },
    ]);
    expect(await dropExpired(pool)).toBe(0);
    await database.query('truncate provider_notifications, unclaimed_notifications');
  });
});

test('what a transaction holds stays, and everything else goes without waiting for it', async () => {
  await database.query(
    `insert into console_forms
     select n::text, null, null, now() - interval '24 hours' from generate_series(1, 3) n`,
  );
  await withClient(database.url, async (holder) => {
    await holder.query(`begin; select from console_forms where token = '2' for update`);
    expect(await dropExpired(pool)).toBe(2);
    expect(await database.query('select token from console_forms')).toEqual([{ token: '2' }]);
  });
});

test('a table that cannot be cleaned keeps no other from being cleaned', async () => {
  await database.query(
    `insert into operator_events (id, type, body, created_at)
     values ('evt_1', 'webhook.failing', '{}', now() - interval '3 days')`,
  );
  await database.query('alter table idempotency_keys rename to elsewhere');
  try {
    await expect(dropExpired(pool)).rejects.toThrow('idempotency_keys');
    expect(await database.query('select id from operator_events')).toEqual([]);
  } finally {
    await database.query('alter table elsewhere rename to idempotency_keys');
  }
});

test('a Postgres that is away is said to be', async () => {
  const away = openPool('postgres://nobody@127.0.0.1:9/none');
  await expect(dropExpired(away)).rejects.toThrow(StoreUnavailableError);
  await away.end();
});
