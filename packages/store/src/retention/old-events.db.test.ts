import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { awayFromNewHour, createRows, setupDatabase, untilWaitingForLock } from '@postrider/testing';
import type { Pool } from 'pg';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { createPool } from '../db/pool.ts';
import { replayDeadLetter } from '../deliveries/sql/replay-dead-letters.ts';
import { dropOldEvents } from './old-events.ts';

const database = setupDatabase();
const rows = createRows(database);
let pool: Pool;

function openPool(url: string): Pool {
  const settings = { size: 4, applicationName: 'old-events-test', durableCommits: false };
  return createPool({ databaseUrl: url, ...settings, onError: () => undefined });
}

beforeEach(() => void (pool = openPool(database.url)));
afterEach(() => pool.end());

describe('old events', () => {
  const eventIds = async () =>
    (await database.query<{ id: string }>('select id from events order by id')).map(({ id }) => id);

  test('are dropped past their days, in as many batches as it takes', async () => {
    const young = [await rows.event({ ageDays: 29 }), await rows.event()];
    await database.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, 'acct_1', 'email.sent', now() - interval '31 days', '{}' from generate_series(1, 2500) n`,
    );
    expect(await dropOldEvents(pool, 30)).toBe(2500);
    expect(await eventIds()).toEqual([...young].sort());
    expect(await dropOldEvents(pool, 30)).toBe(0);
  });

  test('are dropped with the keys of their recipients', async () => {
    const key = `insert into event_recipients (key, type, position, event_id) select 2, type, position, id from events where id = $1`;
    for (const ageDays of [29, 31]) {
      const id = await rows.event({ ageDays });
      await database.query(`update events set recipients = '{1,2}' where id = $1`, [id]);
      await database.query(key, [id]);
    }
    expect(await dropOldEvents(pool, 30)).toBe(1);
    expect(await database.query('select event_id as id from event_recipients')).toEqual(
      await database.query('select id from events'),
    );
  });

  test('that a delivery is still outstanding for are kept, also in front of a batch', async () => {
    const webhookId = await rows.webhook();
    const outstanding = [await rows.event({ ageDays: 31 }), await rows.event({ ageDays: 90 })];
    for (const eventId of outstanding) await rows.deliveries(webhookId, { eventId, dueInMs: 1_000_000 });
    await rows.event({ ageDays: 31 });
    expect(await dropOldEvents(pool, 30)).toBe(1);
    expect(await eventIds()).toEqual([...outstanding].sort());
  });

  test('are kept while attempts of theirs are logged, so that an erasure finds these by them', async () => {
    const replayed = await rows.event({ ageDays: 90 });
    await rows.event({ ageDays: 90 });
    await database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
       values (now() - interval '1 day', 1, $1, 'wh_1', 1, 5)`,
      [replayed],
    );
    expect(await dropOldEvents(pool, 30)).toBe(1);
    expect(await eventIds()).toEqual([replayed]);
    await database.query('truncate attempts');
    expect(await dropOldEvents(pool, 30)).toBe(1);
  });

  test('are not read before their day is past in UTC, which is when the day of their attempts is dropped', async () => {
    await awayFromNewHour();
    // Halfway between the start of that day and the time 30 days ago.
    await database.query(
      `with day as (select date_trunc('day', now(), 'utc') - interval '720 hours' as start),
       made as (
         insert into events (id, account_id, type, created_at, data)
         select 'evt_' || n, 'acct_1', 'email.sent', start + (now() - interval '720 hours' - start) / 2, '{}'
         from day, generate_series(1, 2000) n returning id, created_at)
       insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
       select created_at, 1, id, 'wh_1', 1, 5 from made`,
    );
    const seen: ExplainedStatement[] = [];
    expect(await dropOldEvents(explainedPool(pool, seen), 30)).toBe(0);
    expect(seen.map(({ rowsMax }) => rowsMax)).toEqual([1]); // the result
    await database.query(`update events set created_at = created_at - interval '24 hours'`);
    await database.query('truncate attempts');
    expect(await dropOldEvents(pool, 30)).toBe(2000);
  });

  test('of dead letters are dropped, and a replay brings them back byte for byte', async () => {
    const accountId = await rows.account();
    const webhookId = await rows.webhook({ accountId });
    const eventId = await rows.event({ accountId, ageDays: 31 });
    const sent = () => database.query('select id, account_id, type, created_at, data from events');
    const before = await sent();
    const letter = await rows.deadLetter(webhookId, eventId);
    expect(await dropOldEvents(pool, 30)).toBe(1);
    await pool.query(replayDeadLetter.text, [accountId, letter]);
    expect(await sent()).toEqual(before);
    // As a new entry with an old time, it would break the lists of events.
    expect(await database.query('select from events where position is not null')).toEqual([]);
    expect(await dropOldEvents(pool, 30)).toBe(0);
  });

  test('that somebody holds are left for the next time', async () => {
    const held = await rows.event({ ageDays: 31 });
    await inUndoneTransaction(pool, async (holder) => {
      await holder.query('select from events where id = $1 for update', [held]);
      await rows.event({ ageDays: 31 });
      expect(await dropOldEvents(pool, 30)).toBe(1);
    });
    expect(await dropOldEvents(pool, 30)).toBe(1);
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
      expect(await dropOldEvents(pool, 30)).toBe(0);
      await replay.query('commit');
    });
    expect(await dropOldEvents(pool, 30)).toBe(0);
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

  /** The pool, with something that happens once, between a look at the events and their drop. */
  function poolWith(inBetween: () => Promise<unknown>): Pool {
    let happened = false;
    const connect = async () => {
      const client = await pool.connect();
      const query = async (text: string, given?: unknown[]) => {
        const found = await client.query(text, given);
        if (text.includes('with page') && !happened) {
          happened = true;
          await inBetween();
        }
        return found;
      };
      return { query, release: (error?: Error) => client.release(error) };
    };
    return { connect } as unknown as Pool;
  }

  test('that comes between the look at the deliveries and the drop keeps its event', async () => {
    const values = await oldLetter();
    const beside = poolWith(() => pool.query(replayDeadLetter.text, values));
    expect(await dropOldEvents(beside, 30)).toBe(0);
    expect(await outstandingWithEvent()).toBe(1);
  });

  test('that comes there, and is attempted there, keeps its event, too', async () => {
    const values = await oldLetter();
    const beside = poolWith(async () => {
      await pool.query(replayDeadLetter.text, values);
      await pool.query(
        `with ended as (delete from deliveries returning *)
         insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
         select now(), id, event_id, webhook_id, 1, 5 from ended`,
      );
    });
    expect(await dropOldEvents(beside, 30)).toBe(0);
    expect(await database.query('select from events')).toHaveLength(1);
  });

  test('in any order, many times over: a delivery never stands without its event', async () => {
    for (let round = 0; round < 40; round += 1) {
      const values = await oldLetter();
      await Promise.all([pool.query(replayDeadLetter.text, values), dropOldEvents(pool, 30)]);
    }
    expect(await outstandingWithEvent()).toBe(40);
  });
});

test('a Postgres that is away is said to be', async () => {
  const away = openPool('postgres://nobody@127.0.0.1:9/none');
  await expect(dropOldEvents(away, 30)).rejects.toThrow(StoreUnavailableError);
  await away.end();
});
