import { beforeEach, describe, expect, test } from '@jest/globals';
import type { EventId, RecoveryId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Pool, PoolClient } from 'pg';
import { setupStore } from '../../test/open-store.ts';
import { createOutage } from '../../test/outage.ts';
import type { Outage } from '../../test/outage.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { findRecovery, startRecovery } from '../../test/start-recovery.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { replayDeadLetter } from '../deliveries/sql/replay-dead-letters.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { createRecoveryStore } from './recoveries.ts';
import type { NewRecovery } from './recoveries.ts';
import { createRecoveryWork } from './recovery-work.ts';

const store = setupStore();
let outage: Outage;

beforeEach(async () => {
  await createRows(store.outside).clear();
  outage = await createOutage(store);
});

const started = async (
  change: Partial<NewRecovery> = {},
  of: Pick<Outage, 'accountId' | 'webhookId'> = outage,
) => startRecovery(store, of, change);
const read = async (id: RecoveryId) => findRecovery(store, outage, id);
const rowsOf = async (table: string) => (await store.outside.query(`select from ${table}`)).length;

describe('a step', () => {
  test('queues undelivered events, the oldest first, and removes their dead letters and no others', async () => {
    const [first] = await outage.events(1, { fate: 'dropped' });
    await outage.events(2, { fate: 'delivered' });
    await outage.event({ fate: 'queued' });
    const [second] = await outage.events(1);
    const sibling = await createOutage(store, { accountId: outage.accountId });
    const foreign = await sibling.event({ fate: 'dead_letter' });
    const id = await started();
    expect(await outage.step(id)).toEqual({ webhookId: outage.webhookId, queued: 3, ended: 'finished' });
    expect(await outage.queued()).toEqual([first, second, foreign]);
    expect(await rowsOf('dead_letters')).toBe(1);
    expect(await outage.step(id)).toBeNull();
    expect(await read(id)).toMatchObject({ status: 'finished', queued: 3, inProgress: 3, left: 0 });
  });

  test('queues a quarter of a second of events, due one after the other, and says when the next is due', async () => {
    await outage.events(9);
    const id = await started({ rate: 16 });
    const next = 'select extract(epoch from next_step_at)::float8 as seconds from recoveries';
    const [before] = await store.outside.query<{ seconds: number }>(next);
    const work = createRecoveryWork(store.db.pool);
    expect(await work.step(id, 500)).toMatchObject({ queued: 4, ended: null });
    const [gaps] = await store.outside.query<{ ms: number[] }>(
      `select array_agg(ms order by due_at) as ms
       from (select due_at, round(extract(epoch from due_at - lag(due_at) over (order by due_at)) * 1000)::int as ms
             from deliveries) x`,
    );
    for (const ms of gaps?.ms.slice(1) ?? []) expect([62, 63]).toContain(ms);
    const [after] = await store.outside.query<{ seconds: number }>(next);
    expect((after?.seconds ?? 0) - (before?.seconds ?? 0)).toBeGreaterThan(0.249);
    await store.outside.query(`update recoveries set next_step_at = now() + interval '1 minute'`);
    expect(await work.step(id, 500)).toBeNull(); // it is not due
    expect(await read(id)).toMatchObject({ queued: 4, left: 5 });
  });

  test('goes on behind events that need nothing, and looks at 500 of them', async () => {
    await store.outside.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, $1, 'email.sent', now() - interval '2 hours', '{}' from generate_series(1, 600) n`,
      [outage.accountId],
    );
    await store.outside.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       select created_at, 1, id, $1, 1, 1, 200 from events`,
      [outage.webhookId],
    );
    const wanted = await outage.event();
    const id = await started();
    expect(await outage.step(id)).toMatchObject({ queued: 0, ended: null });
    expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
    expect(await outage.queued()).toEqual([wanted]);
  });

  test('sends delivered events too, each once, when all are asked for', async () => {
    const delivered = await outage.event({ fate: 'delivered' });
    const dead = await outage.event();
    await outage.event({ fate: 'queued' });
    const id = await started({ only: 'all' });
    await outage.step(id);
    expect(await outage.queued()).toEqual([delivered, dead]);
  });

  test('sends only the types and the time span that were asked for', async () => {
    await outage.event({ ageHours: 9 });
    const wanted = await outage.event({ ageHours: 6 });
    await outage.event({ ageHours: 5, type: 'email.bounced' });
    await outage.event({ ageHours: 2 });
    const [since, until] = [8, 3].map((hours) => new Date(Date.now() - hours * 3_600_000)) as [Date, Date];
    await outage.step(await started({ since, until, types: ['email.sent'] }));
    expect(await outage.queued()).toEqual([wanted]);
  });

  test('keeps the last status of a dead letter; a dropped event has none', async () => {
    const dropped = await outage.event({ fate: 'dropped' });
    const [answered, silent] = await outage.events(2);
    await store.outside.query('update dead_letters set status_code = case event_id when $1 then 503 end', [
      answered,
    ]);
    await outage.step(await started());
    const queued = await store.outside.query('select event_id, last_status from deliveries order by id');
    expect(queued).toEqual([
      { event_id: dropped, last_status: null },
      { event_id: answered, last_status: 503 },
      { event_id: silent, last_status: null },
    ]);
  });

  test('leaves out what fails after the count', async () => {
    const failing = await outage.event({ fate: 'queued' });
    const retriedNow = await outage.event({ fate: 'dropped' });
    const wanted = await outage.event();
    const id = await started();
    await store.outside.query('delete from deliveries');
    await createRows(store.outside).deadLetter(outage.webhookId, failing);
    await store.outside.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       values (clock_timestamp() + interval '5 ms', 2, $1, $2, 1, 1, 503)`,
      [retriedNow, outage.webhookId],
    );
    await store.outside.query(
      `update dead_letters set created_at = now() + interval '5 ms' where event_id = $1`,
      [failing],
    );
    await outage.step(id);
    expect(await outage.queued()).toEqual([wanted]);
    expect(await read(id)).toMatchObject({ matched: 2, queued: 1, left: 0 });
  });

  test('sends what a count that ended early did not reach', async () => {
    await outage.events(3);
    const { accountId, webhookId } = outage;
    const few = createRecoveryStore(store.db, store.clock, { eventsCountedMax: 2 });
    const request = { since: new Date(0), types: [], only: 'undelivered', rate: 200 } as const;
    const outcome = await few.start(accountId, webhookId, request, ACTOR);
    expect(outcome).toMatchObject({ kind: 'started', count: { matched: 2, hasMore: true } });
    await outage.step((outcome as { id: RecoveryId }).id);
    expect(await outage.queued()).toHaveLength(3);
  });
});

describe('fresh events', () => {
  const wait = (count: number, taken: boolean) =>
    store.outside.query(
      `insert into deliveries (event_id, webhook_id, due_at, taken_at)
       select 'evt_x', $1, now() - interval '1 s', case when $3 then now() end from generate_series(1, $2::int)`,
      [outage.webhookId, count, taken],
    );

  test('that wait are not joined by more than a quarter of a second of a recovery', async () => {
    await outage.events(9);
    const id = await started({ rate: 16 });
    await wait(3, false);
    expect(await outage.step(id)).toMatchObject({ queued: 1 });
    await wait(5, false);
    expect(await outage.step(id)).toMatchObject({ queued: 0, ended: null });
    await store.outside.query('delete from deliveries');
    await wait(50, true); // attempts in flight are no queue
    expect(await outage.step(id)).toMatchObject({ queued: 4 });
  });

  test('that are due later do not slow a recovery', async () => {
    await outage.events(4);
    const id = await started({ rate: 16 });
    await createRows(store.outside).deliveries(outage.webhookId, { count: 9, dueInMs: 3_600_000 });
    expect(await outage.step(id)).toMatchObject({ queued: 4 });
  });

  test('of other webhooks do not slow a recovery', async () => {
    await outage.events(4);
    const id = await started({ rate: 16 });
    const other = await createOutage(store, { accountId: outage.accountId });
    await createRows(store.outside).deliveries(other.webhookId, { count: 9 });
    expect(await outage.step(id)).toMatchObject({ queued: 4 });
  });
});

/** The time of Postgres, as a text. */
async function clock(): Promise<string> {
  const [row] = await store.outside.query<{ at: string }>('select clock_timestamp()::text as at');
  return row?.at ?? '';
}

/** Whether the next step comes no earlier than this time after `before`. */
async function stepsLater(before: string, pause: string): Promise<boolean | undefined> {
  const [row] = await store.outside.query<{ later: boolean }>(
    'select next_step_at >= $1::timestamptz + $2::interval as later from recoveries',
    [before, pause],
  );
  return row?.later;
}

test('a failing endpoint gets one event a second, until it answers', async () => {
  await outage.events(6);
  const id = await started();
  const failing = (since: string) => store.outside.query(`update webhooks set failing_since = ${since}`);
  await failing('now()');
  const before = await clock();
  expect(await outage.step(id)).toMatchObject({ queued: 1 });
  expect(await stepsLater(before, '1 s')).toBe(true);
  await store.outside.query(`update deliveries set due_at = now() - interval '1 s'`);
  expect(await outage.step(id)).toMatchObject({ queued: 0 }); // the first one still waits
  await failing('null');
  expect(await outage.step(id)).toMatchObject({ queued: 5, ended: 'finished' });
});

test('an account that may have no more deliveries gets none', async () => {
  await outage.event();
  const id = await started();
  expect(await outage.step(id, 0)).toMatchObject({ queued: 0, ended: null });
  expect(await outage.step(id, 500)).toMatchObject({ queued: 1, ended: 'finished' });
});

test('a step queues no more than its account may have', async () => {
  const events = await outage.events(3);
  const id = await started();
  expect(await outage.step(id, 2)).toMatchObject({ queued: 2, ended: null });
  expect(await outage.step(id, 2)).toMatchObject({ queued: 1, ended: 'finished' });
  // Two steps without a pause may be due in another order.
  expect(new Set(await outage.queued())).toEqual(new Set(events));
});

test('a recovery of a suspended account waits, and goes on when the account resumes', async () => {
  await outage.event();
  const id = await started();
  const suspend = (at: string) => store.outside.query(`update accounts set suspended_at = ${at}`);
  await suspend('now()');
  const before = await clock();
  expect(await outage.step(id)).toMatchObject({ queued: 0, ended: null });
  expect(await rowsOf('deliveries')).toBe(0);
  expect(await stepsLater(before, '10 s')).toBe(true);
  await suspend('null');
  expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
});

test('another account that is suspended stops nothing', async () => {
  await outage.event();
  const id = await started();
  await createOutage(store);
  await store.outside.query('update accounts set suspended_at = now() where id <> $1', [outage.accountId]);
  expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
});

test('a step counts from the time of the last one, and is not made up for after a second', async () => {
  await outage.events(9);
  const id = await started({ rate: 16 });
  await store.outside.query(`update recoveries set next_step_at = now() - interval '1 hour'`);
  const [before] = await store.outside.query<{ at: Date }>('select clock_timestamp() as at');
  expect(await createRecoveryWork(store.db.pool).step(id, 500)).toMatchObject({ queued: 4 });
  const [next] = await store.outside.query<{ inTime: boolean }>(
    `select next_step_at + interval '0.75 s' between $1 and clock_timestamp() as "inTime" from recoveries`,
    [before?.at],
  );
  expect(next).toEqual({ inTime: true });
});

test('a step that fails queues nothing, and is put off by half a minute', async () => {
  const eventId = await outage.event();
  const id = await started();
  const [before] = await store.outside.query<{ at: Date }>('select clock_timestamp() as at');
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query('select from events where id = $1 for update', [eventId]);
    await expect(outage.step(id)).rejects.toThrow('statement timeout');
  });
  expect(await outage.queued()).toEqual([]);
  await createRecoveryWork(store.db.pool).putOff(id);
  const [next] = await store.outside.query<{ later: boolean }>(
    `select next_step_at > $1::timestamptz + interval '30 s' as later from recoveries`,
    [before?.at],
  );
  expect(next).toEqual({ later: true });
  expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
});

test('a Postgres that is lost while a step is put off is unavailable', async () => {
  const lost = { query: async () => Promise.reject(new Error('Connection terminated')) };
  const { putOff } = createRecoveryWork(lost as unknown as Pool);
  await expect(putOff('rec_1' as RecoveryId)).rejects.toThrow(StoreUnavailableError);
});

test('a step that another relay does is skipped at once, so it is done once', async () => {
  await outage.events(8);
  const id = await started({ rate: 16 });
  const work = createRecoveryWork(store.db.pool);
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query('select from events for update');
    const first = work.step(id, 500);
    first.catch(() => undefined);
    await untilWaitingForLock(store.outside);
    expect([await work.step(id, 500), await work.step(id, 500)]).toEqual([null, null]);
    await other.query('commit');
    expect(await first).toMatchObject({ queued: 4 });
  });
  expect(await outage.queued()).toHaveLength(4);
});

test('a recovery whose webhook is deleted ends, and queues nothing', async () => {
  await outage.event();
  const id = await started();
  await createWebhookStore(store.db, store.secrets, store.clock).delete(
    outage.accountId,
    outage.webhookId,
    ACTOR,
  );
  expect(await outage.step(id)).toMatchObject({ queued: 0, ended: 'stopped' });
  expect(await rowsOf('deliveries')).toBe(0);
  expect(await store.outside.query('select stopped, ended_at is not null as ended from recoveries')).toEqual([
    { stopped: true, ended: true },
  ]);
});

test('a recovery whose webhook is marked as removed ends, and queues nothing', async () => {
  await outage.event();
  const id = await started();
  await store.outside.query('update webhooks set removed_at = now()');
  expect(await read(id)).toBeNull();
  expect(await outage.step(id)).toMatchObject({ queued: 0, ended: 'stopped' });
  expect(await rowsOf('deliveries')).toBe(0);
});

describe('at the same time', () => {
  /** Steps while `first` is open, waits until the step waits, and then goes on. */
  async function stepBehind(
    id: RecoveryId,
    first: (session: PoolClient) => Promise<unknown>,
    then: (session: PoolClient) => Promise<unknown>,
  ) {
    return inUndoneTransaction(store.db.pool, async (session) => {
      await first(session);
      const step = outage.step(id);
      step.catch(() => undefined);
      await untilWaitingForLock(store.outside);
      await then(session);
      await session.query('commit');
      return step;
    });
  }
  let eventId: EventId;
  let id: RecoveryId;
  beforeEach(async () => {
    eventId = await outage.event();
    id = await started();
  });

  test('a replay of the event queues it, and the recovery leaves it', async () => {
    await store.outside.query('delete from dead_letters');
    const step = await stepBehind(
      id,
      (session) => session.query('select from events where id = $1 for no key update', [eventId]),
      (session) =>
        session.query('insert into deliveries (event_id, webhook_id) values ($1, $2)', [
          eventId,
          outage.webhookId,
        ]),
    );
    expect(step).toMatchObject({ queued: 0, ended: 'finished' });
    expect(await rowsOf('deliveries')).toBe(1);
  });

  test('a replay of its dead letter queues it, and the recovery leaves it', async () => {
    const [letter] = await store.outside.query<{ id: string }>('select id from dead_letters');
    const step = await stepBehind(
      id,
      (session) => session.query('select from dead_letters for update'),
      (session) => session.query(replayDeadLetter.text, [outage.accountId, letter?.id]),
    );
    expect(step).toMatchObject({ queued: 0, ended: 'finished' });
    expect(await rowsOf('deliveries')).toBe(1);
  });

  test('retention deletes the event, and the recovery queues nothing', async () => {
    const step = await stepBehind(
      id,
      (session) => session.query('select from events where id = $1 for update', [eventId]),
      (session) => session.query('delete from events where id = $1', [eventId]),
    );
    expect(step).toMatchObject({ queued: 0, ended: 'finished' });
    expect(await rowsOf('deliveries')).toBe(0);
  });

  test('the webhook is deleted, and the recovery queues nothing', async () => {
    const step = await stepBehind(
      id,
      (session) => session.query('delete from webhooks where id = $1', [outage.webhookId]),
      (session) => session.query('delete from dead_letters'),
    );
    expect(step).toMatchObject({ queued: 0, ended: 'stopped' });
    expect(await rowsOf('deliveries')).toBe(0);
  });

  test('a step dies, and the next one does it again: nothing is left out or queued twice', async () => {
    await expect(
      stepBehind(
        id,
        (session) => session.query('select from events where id = $1 for update', [eventId]),
        () =>
          store.outside.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock'`,
          ),
      ),
    ).rejects.toThrow();
    expect(await read(id)).toMatchObject({ status: 'running', queued: 0 });
    expect(await rowsOf('dead_letters')).toBe(1);
    expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
    expect(await outage.queued()).toEqual([eventId]);
  });

  test('a stop waits for a step, and nothing is queued after it', async () => {
    const { accountId, webhookId } = outage;
    const recoveries = createRecoveryStore(store.db, store.clock);
    const stopped = inUndoneTransaction(store.db.pool, async (session) => {
      await session.query('select from events where id = $1 for update', [eventId]);
      const step = outage.step(id);
      await untilWaitingForLock(store.outside);
      const stop = recoveries.stop(accountId, webhookId, id, ACTOR);
      await untilWaitingForLock(store.outside, 2);
      await session.query('commit');
      await step;
      return stop;
    });
    expect(await stopped).toMatchObject({ status: 'finished', queued: 1 });
  });
});
