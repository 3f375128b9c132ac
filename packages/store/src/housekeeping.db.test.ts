import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRows, createTestDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import type { Pool } from 'pg';
import { inUndoneTransaction, untilWaitingForLock } from '../test/sessions.ts';
import { StoreUnavailableError } from './errors.ts';
import { createHousekeeping } from './housekeeping.ts';
import type { Housekeeping } from './housekeeping.ts';
import { createPool } from './pool.ts';
import { replayDeadLetter } from './sql/replay-dead-letter.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

let database: TestDatabase;
let rows: Rows;
let pool: Pool;
let housekeeping: Housekeeping;

function openPool(url: string, size = 4): Pool {
  return createPool({
    databaseUrl: url,
    size,
    applicationName: 'housekeeping-test',
    durableCommits: false,
    onError: () => undefined,
  });
}

beforeAll(async () => {
  database = await createTestDatabase();
  rows = createRows(database);
});
afterAll(() => database.drop());
beforeEach(async () => {
  pool = openPool(database.url);
  housekeeping = createHousekeeping(pool);
  await empty();
});
afterEach(() => pool.end());

async function empty(): Promise<void> {
  await rows.clear();
  for (const day of await partitions()) await database.query(`drop table attempts_${day}`);
}

/** Days are counted from today: a test into which midnight (UTC) falls is begun again. */
function testOfDays(title: string, body: () => Promise<void>): void {
  test(title, async () => {
    const today = await day(0);
    try {
      await body();
    } catch (error) {
      if ((await day(0)) === today) throw error;
      await empty();
      await body();
    }
  });
}

/** The days that have a partition, by what Postgres knows. */
async function partitions(): Promise<string[]> {
  const found = await database.query<{ day: string }>(
    `select substr(relname, 10) as day from pg_inherits join pg_class on oid = inhrelid
     where inhparent = 'attempts'::regclass and relname <> 'attempts_default' order by 1`,
  );
  return found.map(({ day }) => day);
}

/** The days from `from` to `to`, counted from today by Postgres's clock in UTC, as YYYYMMDD. */
async function days(from: number, to: number): Promise<string[]> {
  const [row] = await database.query<{ today: Date }>('select now() as today');
  const today = row?.today.getTime() ?? 0;
  return Array.from({ length: to - from + 1 }, (_, n) =>
    new Date(today + (from + n) * DAY_MS).toISOString().slice(0, 10).replaceAll('-', ''),
  );
}

async function day(fromToday: number): Promise<string> {
  return (await days(fromToday, fromToday))[0] ?? '';
}

const LOGGED = `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
  values (now() + make_interval(days => $1), $2, 'evt_1', 'wh_1', 1, 5)`;

async function logged(fromToday: number, deliveryId = 1): Promise<void> {
  await database.query(LOGGED, [fromToday, deliveryId]);
}

/** Where each logged attempt lies, by its delivery. */
async function places(): Promise<Record<string, string>> {
  const found = await database.query<{ delivery_id: string; place: string }>(
    'select delivery_id, tableoid::regclass::text as place from attempts',
  );
  return Object.fromEntries(found.map((row) => [row.delivery_id, row.place]));
}

async function makeDay(name: string): Promise<void> {
  const from = `${name.slice(0, 4)}-${name.slice(4, 6)}-${name.slice(6)}`;
  const to = new Date(Date.parse(from) + DAY_MS).toISOString().slice(0, 10);
  await database.query(
    `create table attempts_${name} partition of attempts for values from ('${from} 00:00+00') to ('${to} 00:00+00')`,
  );
}

describe('the attempt log', () => {
  testOfDays(
    'gets today’s partition and those of the seven days after, and nothing more the next time',
    async () => {
      const week = await days(0, 7);
      expect(await housekeeping.tendAttemptLog(30)).toEqual({ made: week, dropped: [] });
      expect(await partitions()).toEqual(week);
      expect(await housekeeping.tendAttemptLog(30)).toEqual({ made: [], dropped: [] });
    },
  );

  testOfDays('writes each attempt to the partition of its day, in UTC', async () => {
    await housekeeping.tendAttemptLog(30);
    await logged(0, 1);
    await logged(3, 2);
    await logged(60, 3);
    expect(await places()).toEqual({
      1: `attempts_${await day(0)}`,
      2: `attempts_${await day(3)}`,
      3: 'attempts_default',
    });
  });

  testOfDays('loses the partitions past their days, and only those', async () => {
    for (const name of [await day(-32), await day(-31), await day(-30), await day(-1)]) await makeDay(name);
    await logged(-31, 1);
    await logged(-30, 2);
    expect((await housekeeping.tendAttemptLog(30)).dropped).toEqual([await day(-32), await day(-31)]);
    expect(await partitions()).toEqual([await day(-30), await day(-1), ...(await days(0, 7))]);
    expect(await places()).toEqual({ 2: `attempts_${await day(-30)}` });
  });

  testOfDays(
    'keeps rows that came before their partition: they are moved from the default to it',
    async () => {
      for (const [n, fromToday] of [0, 0, 2, 40].entries()) await logged(fromToday, n);
      await housekeeping.tendAttemptLog(30);
      const today = `attempts_${await day(0)}`;
      expect(await places()).toEqual({
        0: today,
        1: today,
        2: `attempts_${await day(2)}`,
        3: 'attempts_default',
      });
    },
  );

  testOfDays('keeps a row, too, whose transaction is still open when its partition is made', async () => {
    await inUndoneTransaction(pool, async (worker) => {
      await worker.query(LOGGED, [0, 1]);
      const tended = housekeeping.tendAttemptLog(30);
      await untilWaitingForLock(database);
      await worker.query('commit');
      expect((await tended).made).toHaveLength(8);
    });
    expect(await places()).toEqual({ 1: `attempts_${await day(0)}` });
  });

  testOfDays('fails nobody who logs an attempt while a partition is made', async () => {
    await inUndoneTransaction(pool, async (worker) => {
      await worker.query(LOGGED, [0, 1]);
      const tended = housekeeping.tendAttemptLog(30);
      await untilWaitingForLock(database);
      const another = pool.query(LOGGED, [0, 2]);
      await untilWaitingForLock(database, 2);
      await worker.query('commit');
      await Promise.all([tended, another]);
    });
    const today = `attempts_${await day(0)}`;
    expect(await places()).toEqual({ 1: today, 2: today });
  });

  test('has its index on every partition', async () => {
    await housekeeping.tendAttemptLog(30);
    const without = await database.query(
      `select relname from pg_inherits join pg_class c on c.oid = inhrelid
       where inhparent = 'attempts'::regclass and not exists (select from pg_index where indrelid = c.oid)`,
    );
    expect(without).toEqual([]);
  });

  testOfDays(
    'is tended by several relays at once without a fault, each day made and dropped once',
    async () => {
      for (let round = 0; round < 5; round += 1) {
        for (const name of await partitions()) await database.query(`drop table attempts_${name}`);
        await makeDay(await day(-40));
        const relays = [housekeeping, ...Array.from({ length: 3 }, () => createHousekeeping(pool))];
        const results = await Promise.all(relays.map(async (relay) => relay.tendAttemptLog(30)));
        const last = await housekeeping.tendAttemptLog(30); // what one left to another who had it done
        const all = [...results, last];
        expect(all.flatMap(({ made }) => made).sort()).toEqual(await days(0, 7));
        expect(all.flatMap(({ dropped }) => dropped)).toEqual([await day(-40)]);
      }
    },
  );

  testOfDays('a relay that looked before another tended does nothing twice', async () => {
    await makeDay(await day(-40));
    const narrow = openPool(database.url, 1);
    const late = createHousekeeping(narrow).tendAttemptLog(30);
    const held = await narrow.connect(); // its one connection, once it has looked
    expect(await housekeeping.tendAttemptLog(30)).toEqual({
      made: await days(0, 7),
      dropped: [await day(-40)],
    });
    held.release();
    expect(await late).toEqual({ made: [], dropped: [] });
    await narrow.end();
  });
});

describe('old events', () => {
  const eventIds = async () =>
    (await database.query<{ id: string }>('select id from events order by id')).map(({ id }) => id);

  test('are dropped past their days, in as many batches as it takes', async () => {
    const young = [await rows.event({ ageDays: 29 }), await rows.event()];
    await database.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, 'acct_1', 'email.sent', now() - interval '31 days', '{}' from generate_series(1, 2500) n`,
    );
    expect(await housekeeping.dropOldEvents(30)).toBe(2500);
    expect(await eventIds()).toEqual([...young].sort());
    expect(await housekeeping.dropOldEvents(30)).toBe(0);
  });

  test('that a delivery is still outstanding for are kept, also in front of a batch', async () => {
    const webhookId = await rows.webhook();
    const outstanding = [await rows.event({ ageDays: 31 }), await rows.event({ ageDays: 90 })];
    for (const eventId of outstanding) await rows.deliveries(webhookId, { eventId, dueInMs: 1_000_000 });
    await rows.event({ ageDays: 31 });
    expect(await housekeeping.dropOldEvents(30)).toBe(1);
    expect(await eventIds()).toEqual([...outstanding].sort());
  });

  test('are dropped with one reading of the deliveries, however many batches it takes', async () => {
    await rows.deliveries(await rows.webhook(), { count: 20_000 });
    await database.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, 'acct_1', 'email.sent', now() - interval '31 days', '{}' from generate_series(1, 2500) n`,
    );
    await pool.end();
    pool = openPool(database.url, 1); // one session, which can be asked to hand in what it has counted
    const read = async (): Promise<number> => {
      await pool.query('select pg_stat_force_next_flush()');
      const { rows: counted } = await pool.query<{ read: number }>(
        `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_user_tables
         where relname = 'deliveries'`,
      );
      return counted[0]?.read ?? 0;
    };
    const before = await read();
    expect(await createHousekeeping(pool).dropOldEvents(30)).toBe(2500);
    expect((await read()) - before).toBeLessThan(30_000);
  });

  test('of dead letters are dropped, and a replay brings them back byte for byte', async () => {
    const accountId = await rows.account();
    const webhookId = await rows.webhook({ accountId });
    const eventId = await rows.event({ accountId, ageDays: 31 });
    const before = await database.query('select * from events');
    const letter = await rows.deadLetter(webhookId, eventId);
    expect(await housekeeping.dropOldEvents(30)).toBe(1);
    await pool.query(replayDeadLetter.text, [accountId, letter]);
    expect(await database.query('select * from events')).toEqual(before);
    expect(await housekeeping.dropOldEvents(30)).toBe(0);
  });

  test('that somebody holds are left for the next time', async () => {
    const held = await rows.event({ ageDays: 31 });
    await inUndoneTransaction(pool, async (holder) => {
      await holder.query('select from events where id = $1 for update', [held]);
      await rows.event({ ageDays: 31 });
      expect(await housekeeping.dropOldEvents(30)).toBe(1);
    });
    expect(await housekeeping.dropOldEvents(30)).toBe(1);
  });
});

describe('a replay at the same time as retention', () => {
  async function oldLetter() {
    const accountId = await rows.account();
    const webhookId = await rows.webhook({ accountId });
    const letter = await rows.deadLetter(webhookId, await rows.event({ accountId, ageDays: 31 }));
    return [accountId, letter];
  }

  /** Every outstanding delivery has its event. */
  async function outstandingWithEvent(): Promise<number> {
    const found = await database.query('select from deliveries d join events e on e.id = d.event_id');
    return found.length;
  }

  test('that comes first keeps its event', async () => {
    const values = await oldLetter();
    await inUndoneTransaction(pool, async (replay) => {
      await replay.query(replayDeadLetter.text, values);
      expect(await housekeeping.dropOldEvents(30)).toBe(0);
      await replay.query('commit');
    });
    expect(await housekeeping.dropOldEvents(30)).toBe(0);
    expect(await outstandingWithEvent()).toBe(1);
  });

  test('that comes second waits, and writes the event anew', async () => {
    const values = await oldLetter();
    await inUndoneTransaction(pool, async (retention) => {
      await retention.query('delete from events');
      const replay = pool.query(replayDeadLetter.text, values);
      await untilWaitingForLock(database);
      await retention.query('commit');
      expect((await replay).rowCount).toBe(1);
    });
    expect(await outstandingWithEvent()).toBe(1);
  });

  test('that comes between the look at the deliveries and the drop keeps its event', async () => {
    const values = await oldLetter();
    const query = async (text: string, given: unknown[]) => {
      const found = await pool.query(text, given);
      await pool.query(replayDeadLetter.text, values);
      return found;
    };
    const beside = { query, connect: async () => pool.connect() } as unknown as Pool;
    expect(await createHousekeeping(beside).dropOldEvents(30)).toBe(0);
    expect(await outstandingWithEvent()).toBe(1);
  });

  test('in any order, many times over: a delivery never stands without its event', async () => {
    for (let round = 0; round < 40; round += 1) {
      const values = await oldLetter();
      await Promise.all([pool.query(replayDeadLetter.text, values), housekeeping.dropOldEvents(30)]);
    }
    expect(await outstandingWithEvent()).toBe(40);
  });
});

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
       values ('old', 'p', '{}', now() - interval '1 hour'), ('young', 'p', '{}', now() - interval '59 minutes')`,
    );
    expect(await housekeeping.dropExpired()).toBe(2502);
    expect(await database.query('select key from idempotency_keys')).toEqual([{ key: '2501' }]);
    expect(await database.query('select message_id from provider_notifications')).toEqual([
      { message_id: 'young' },
    ]);
    expect(await database.query('select message_id from unclaimed_notifications')).toEqual([
      { message_id: 'young' },
    ]);
    expect(await housekeeping.dropExpired()).toBe(0);
    await database.query('truncate provider_notifications, unclaimed_notifications');
  });
});

test('a Postgres that is away is said to be', async () => {
  const away = openPool('postgres://nobody@127.0.0.1:9/none');
  const helpless = createHousekeeping(away);
  await expect(helpless.tendAttemptLog(30)).rejects.toThrow(StoreUnavailableError);
  await expect(helpless.dropOldEvents(30)).rejects.toThrow(StoreUnavailableError);
  await expect(helpless.dropExpired()).rejects.toThrow(StoreUnavailableError);
  await away.end();
});
