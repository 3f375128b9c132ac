import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { EventId, WebhookId } from '@postrider/domain';
import { createRows, createTestDatabase, setup, waitFor } from '@postrider/testing';
import type { Pool } from 'pg';
import { createImpatientPool } from '../../test/impatient-pool.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { LockConflictError, StoreUnavailableError } from '../db/errors.ts';
import { createPool } from '../db/pool.ts';
import { createAttemptLog } from './attempt-log.ts';
import type { AttemptLog } from './attempt-log.ts';
import { createDeliveryWork } from './delivery-work.ts';
import type { FinishedAttempt } from './delivery-work.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const database = setup(createTestDatabase, (opened) => opened.drop());
const rows = createRows(database);
let pool: Pool;
let log: AttemptLog;

const poolOptions = (databaseUrl: string, size = 4) => ({
  databaseUrl,
  size,
  applicationName: 'attempt-log-test',
  durableCommits: false,
  onError: () => undefined,
});

function openPool(url: string, size?: number): Pool {
  return createPool(poolOptions(url, size));
}

beforeEach(async () => {
  pool = openPool(database.url);
  log = createAttemptLog(pool);
  await empty();
});
afterEach(() => pool.end());

async function empty(): Promise<void> {
  await rows.clear();
  for (const day of await partitions()) await database.query(`drop table attempts_${day}`);
}

/** Tends the log as a relay does: again, until it gets its lock. */
const untilDone = (tend: () => Promise<string[]>) => waitFor(tend, { what: 'the log to be tended' });

async function attemptOf(deliveryId: string): Promise<FinishedAttempt> {
  const [held] = await database.query<{ eventId: EventId; webhookId: WebhookId }>(
    'select event_id as "eventId", webhook_id as "webhookId" from deliveries where id = $1',
    [deliveryId],
  );
  if (held === undefined) throw new Error('the delivery is gone');
  return {
    ...held,
    deliveryId,
    claim: 0,
    startedAgoMs: 5,
    durationMs: 5,
    statusCode: 200,
    answer: null,
    eventType: 'email.sent',
  };
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
      expect(await log.makeDays()).toEqual(week);
      expect(await partitions()).toEqual(week);
      expect(await log.makeDays()).toEqual([]);
    },
  );

  testOfDays('writes each attempt to the partition of its day, in UTC', async () => {
    await log.makeDays();
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
    expect(await log.dropDays(30)).toEqual([await day(-32), await day(-31)]);
    expect(await partitions()).toEqual([await day(-30), await day(-1)]);
    expect(await places()).toEqual({ 2: `attempts_${await day(-30)}` });
  });

  testOfDays(
    'keeps rows that came before their partition: they are moved from the default to it',
    async () => {
      for (const [n, fromToday] of [0, 0, 2, 40].entries()) await logged(fromToday, n);
      await log.makeDays();
      const today = `attempts_${await day(0)}`;
      expect(await places()).toEqual({
        0: today,
        1: today,
        2: `attempts_${await day(2)}`,
        3: 'attempts_default',
      });
    },
  );

  testOfDays(
    'leaves a day whose rows in the default are too many to be moved under its lock, and makes the others',
    async () => {
      await database.query(
        `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
         select now(), n, 'evt_1', 'wh_1', 1, 5 from generate_series(1, 2001) n`,
      );
      const [today = '', ...others] = await days(0, 7);
      expect(await log.makeDays()).toEqual(others);
      expect(await partitions()).toEqual(others);
      await database.query('delete from attempts_default where delivery_id = 1');
      expect(await log.makeDays()).toEqual([today]);
    },
  );

  testOfDays('keeps a row, too, whose transaction is still open when its partition is made', async () => {
    await inUndoneTransaction(pool, async (worker) => {
      await worker.query(LOGGED, [0, 1]);
      await expect(log.makeDays()).rejects.toThrow('another session holds a lock');
      await worker.query('commit');
    });
    expect(await log.makeDays()).toHaveLength(8);
    expect(await places()).toEqual({ 1: `attempts_${await day(0)}` });
  });

  test.each([
    ['a table’s lock', 'lock table attempts_default in row exclusive mode'], // as retention does
    ['the lock of another relay', 'select pg_advisory_xact_lock(72707370, 0)'],
  ])('is tended at once when %s is free again', async (_, lock) => {
    await inUndoneTransaction(pool, async (other) => {
      await other.query(lock);
      const failed = once(pool, 'remove');
      const making = log.makeDays();
      await failed;
      await other.query('rollback');
      expect(await making).not.toEqual([]);
    });
  });

  testOfDays('fails nobody who logs an attempt while a partition is made', async () => {
    let logging = true;
    let written = 0;
    const worker = async (): Promise<void> => {
      while (logging) await pool.query(LOGGED, [0, (written += 1)]);
    };
    const workers = [worker(), worker(), worker()];
    await waitFor(() => written > 10, { what: 'attempts in the default partition' });
    await untilDone(() => log.makeDays());
    logging = false;
    await Promise.all(workers);
    const today = `attempts_${await day(0)}`;
    expect(Object.values(await places())).toEqual(Array.from({ length: written }, () => today));
  });

  test('can be published with all tables: rows of every table can be deleted', async () => {
    await log.makeDays();
    await logged(0, 1);
    await logged(60, 2);
    await database.query('create publication everything for all tables');
    try {
      await database.query('delete from attempts');
      const refusing = await database.query(
        `select tablename from pg_publication_tables t join pg_class c on c.oid = (schemaname || '.' || tablename)::regclass
         where c.relreplident = 'd' and not exists (select from pg_index where indrelid = c.oid and indisprimary)`,
      );
      expect(refusing.map(({ tablename }) => tablename as string)).toEqual([]);
    } finally {
      await database.query('drop publication everything');
    }
  });

  test('has its index on every partition', async () => {
    await log.makeDays();
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
        const relays = [log, ...Array.from({ length: 3 }, () => createAttemptLog(pool))];
        const tended = async (relay: AttemptLog) => [await relay.dropDays(30), await relay.makeDays()];
        const results = await Promise.all(relays.map(tended));
        const last = await tended(log); // what one left to another who had it done
        expect([...results, last].flat(2).sort()).toEqual([await day(-40), ...(await days(0, 7))]);
      }
    },
  );

  testOfDays('a relay that looked before another tended does nothing twice', async () => {
    await makeDay(await day(-40));
    const narrow = openPool(database.url, 1);
    const late = createAttemptLog(narrow).makeDays();
    const held = await narrow.connect(); // its one connection, once it has looked
    expect(await log.makeDays()).toEqual(await days(0, 7));
    held.release();
    expect(await late).toEqual([]);
    const lateToDrop = createAttemptLog(narrow).dropDays(30);
    const heldAgain = await narrow.connect();
    expect(await log.dropDays(30)).toEqual([await day(-40)]);
    heldAgain.release();
    expect(await lateToDrop).toEqual([]);
    await narrow.end();
  });

  testOfDays(
    'that is being read keeps no outcome waiting for longer than 300 ms, however often it is tended',
    async () => {
      await makeDay(await day(-40));
      await makeDay(await day(0)); // outcomes in the default partition would prevent it
      const workers = createImpatientPool(poolOptions(database.url), 300);
      const work = createDeliveryWork(workers, workers);
      const webhookId = await rows.webhook();
      let reading = true;
      let ended = 0;
      const worker = async (): Promise<void> => {
        while (reading) {
          const [deliveryId = ''] = await rows.deliveries(webhookId);
          ended += (await work.done([await attemptOf(deliveryId)])).length;
        }
      };
      await inUndoneTransaction(pool, async (reader) => {
        await reader.query('lock table attempts in access share mode'); // as pg_dump does
        const working = [worker(), worker()];
        for (let turn = 1; turn <= 2; turn += 1) {
          await expect(log.makeDays()).rejects.toThrow(LockConflictError);
          await expect(log.dropDays(30)).rejects.toThrow(LockConflictError);
        }
        reading = false;
        await Promise.all(working);
      });
      expect(ended).toBeGreaterThan(0);
      await untilDone(() => log.makeDays()); // a try that fails may have made some of the days
      expect(await partitions()).toEqual([await day(-40), ...(await days(0, 7))]);
      expect(await untilDone(() => log.dropDays(30))).toEqual([await day(-40)]);
      await workers.end();
    },
  );
});

describe('the functions that change partitions', () => {
  testOfDays('refuse every day but those ahead and those that are over', async () => {
    const refused = [
      ...[await day(-2), await day(8)].map((name) => `make_attempts_day(to_date('${name}', 'YYYYMMDD'))`),
      ...['null', `'infinity'`, `'-infinity'`].map((date) => `make_attempts_day(${date})`),
      ...[await day(-1), await day(0)].map((name) => `drop_attempts_day(to_date('${name}', 'YYYYMMDD'))`),
      ...['null', `'infinity'`, `'-infinity'`].map((date) => `drop_attempts_day(${date})`),
    ];
    for (const call of refused) {
      await expect(database.query(`select ${call}`)).rejects.toThrow(
        /^(a day of the attempt log is made|the attempt log keeps today)/,
      );
    }
    expect(await partitions()).toEqual([]);
  });

  testOfDays('drop no day for a date before Christ, whose name is the same', async () => {
    const today = await day(0);
    await makeDay(today);
    const date = `${today.slice(0, 4)}-${today.slice(4, 6)}-${today.slice(6)} BC`;
    await expect(database.query(`select drop_attempts_day('${date}')`)).rejects.toThrow(
      'the attempt log keeps',
    );
    expect(await partitions()).toEqual([today]);
  });

  testOfDays('leave a table that is no partition of the log, whatever its name', async () => {
    const [old, ahead] = [await day(-40), await day(1)];
    await database.query(`create table attempts_${old} (n int); create table attempts_${ahead} (n int)`);
    try {
      await database.query(`select drop_attempts_day(to_date('${old}', 'YYYYMMDD'))`);
      await database.query(`select make_attempts_day(to_date('${ahead}', 'YYYYMMDD'))`);
      expect(await database.query(`select from attempts_${old}, attempts_${ahead}`)).toEqual([]);
      expect(await partitions()).toEqual([]);
    } finally {
      await database.query(`drop table attempts_${old}, attempts_${ahead}`);
    }
  });

  testOfDays('use the log itself, although their caller has tables of the same names', async () => {
    await logged(0, 1);
    await database.query(`create temp table attempts (like public.attempts);
      create temp table attempts_default (like public.attempts)`);
    try {
      await database.query('set search_path = pg_temp, public');
      await database.query(`select make_attempts_day((now() at time zone 'utc')::date)`);
    } finally {
      await database.query('set search_path = public; drop table pg_temp.attempts, pg_temp.attempts_default');
    }
    expect(await places()).toEqual({ 1: `attempts_${await day(0)}` });
  });

  test('are closed to everybody to whom the owner has not opened them', async () => {
    const open = await database.query(
      `select proname from pg_proc where pronamespace = 'public'::regnamespace and prosecdef
         and (has_function_privilege('public', oid, 'execute') or proconfig is null or not proconfig::text like '%search_path=pg_catalog, pg_temp%')`,
    );
    expect(open).toEqual([]);
  });
});

test('a Postgres that is away is said to be', async () => {
  const away = openPool('postgres://nobody@127.0.0.1:9/none');
  const helpless = createAttemptLog(away);
  await expect(helpless.makeDays()).rejects.toThrow(StoreUnavailableError);
  await expect(helpless.dropDays(30)).rejects.toThrow(StoreUnavailableError);
  await away.end();
});
