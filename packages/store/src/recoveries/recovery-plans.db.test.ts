import { beforeAll, expect, test } from '@jest/globals';
import type { RecoveryId } from '@postrider/domain';
import { ACTOR, systemClock } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { setupPlanStore } from '../../test/plan-store.ts';
import { createOutage } from '../../test/outage.ts';
import type { Outage } from '../../test/outage.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { startRecovery } from '../../test/start-recovery.ts';
import type { Database } from '../db/database.ts';
import { createRecoveryStore } from './recoveries.ts';
import type { NewRecovery } from './recoveries.ts';
import { createRecoveryWork } from './recovery-work.ts';

/* Each statement keeps the plan that it made on small tables (decision 0012). */

/** More rows than any of the statements has business with. */
const GROWN_BY = 20_000;
const READ_MAX = 1_000;

let database: TestDatabase;
let db: Database;
let outage: Outage;

const plans = setupPlanStore();
beforeAll(async () => {
  ({ db, database } = plans);
  outage = await createOutage({ db, outside: database });
});

/**
 * The outage of another account's webhook, and rows of the same webhook that the recovery does not want: events
 * and dead letters of another time, and recoveries that have ended.
 */
async function grow(): Promise<void> {
  const other = await createOutage({ db, outside: database });
  const owners = [
    { ...other, hours: 2 },
    { ...outage, hours: 200 },
  ];
  for (const [n, { accountId, webhookId, hours }] of owners.entries()) {
    const values = [n, accountId, webhookId, hours, GROWN_BY];
    await database.query(
      `with made as (
         insert into events (id, account_id, type, created_at, data)
         select 'evt_' || $1::int || '_' || i, $2, 'email.sent', now() - make_interval(hours => $4), '{}'
         from generate_series(1, $5::int) i returning *
       ), logged as (
         insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
         select created_at, 1, id, $3, 1, 1, 503 from made
       )
       insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
                                 last_error, created_at)
       select 'dl_' || id, account_id, $3, id, type, created_at, data, 8, 'attempts_exhausted', 'HTTP 503', created_at
       from made`,
      values,
    );
    await database.query(
      `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters,
                               has_more, position, last_position, created_at, ended_at)
       select 'rec_' || $1::int || '_' || i, $2, $3, now(), now(), '{}', true, 1, 0, 0, false, 0, 0,
              now() - make_interval(hours => $4), now()
       from generate_series(1, $5::int) i`,
      values,
    );
  }
  await database.query(
    `insert into recovery_outcomes (recovery_id, delivered, failed)
     select 'rec_0_' || i, 1, 0 from generate_series(1, $1::int) i`,
    [GROWN_BY],
  );
  await database.query(
    `insert into deliveries (event_id, webhook_id) select 'evt_0_' || i, $2 from generate_series(1, $1::int) i`,
    [GROWN_BY, other.webhookId],
  );
  // A session counts for itself for up to a second.
  await database.query('select pg_stat_force_next_flush()');
}

type Acts = Readonly<Record<string, () => Promise<unknown>>>;

/** Everything that is done about a recovery, in this order. */
function actsOf(request: NewRecovery): Acts {
  const recoveries = createRecoveryStore(db, systemClock);
  const { accountId, webhookId } = outage;
  let id = '' as RecoveryId;
  return {
    count: () => recoveries.count(accountId, webhookId, request),
    async start() {
      const started = await recoveries.start(accountId, webhookId, request, ACTOR);
      if (started.kind !== 'started') throw new Error(started.kind);
      id = started.id;
    },
    next: () => createRecoveryWork(db.pool).next(50),
    find: () => recoveries.find(accountId, webhookId, id),
    list: () => recoveries.list(accountId, webhookId, { limit: 2, after: id }),
    async step() {
      const step = await createRecoveryWork(db.pool).step(id, 500);
      expect(step).toMatchObject({ queued: 1, ended: null });
    },
    stop: () => recoveries.stop(accountId, webhookId, id, ACTOR),
  };
}

const REQUESTS: NewRecovery[] = [
  { since: new Date(0), types: [], only: 'undelivered', rate: 1 },
  { since: new Date(0), types: ['email.sent', 'email.bounced'], only: 'all', rate: 1 },
  { since: new Date(0), types: [], only: 'dead_letters', rate: 1 },
  { since: new Date(0), types: ['email.sent'], only: 'dead_letters', reason: 'attempts_exhausted', rate: 1 },
];

/** New events for the next request. Nothing is queued any more. */
async function nextOutage(): Promise<void> {
  await outage.events(3);
  await database.query('delete from deliveries where webhook_id = $1', [outage.webhookId]);
}

test('each request reads few rows, however large the tables grow', async () => {
  const since = new Date(Date.now() - 24 * 3_600_000);
  const requests = REQUESTS.map((request) => ({ ...request, since }));
  for (const request of requests) {
    await nextOutage();
    await database.query('vacuum analyze'); // Postgres knows how small the tables are
    for (const act of Object.values(actsOf(request))) await act();
  }
  await grow();
  for (const request of requests) {
    await nextOutage();
    await database.query('select pg_stat_force_next_flush()');
    const read: Record<string, number> = {};
    for (const [name, act] of Object.entries(actsOf(request))) {
      const before = await rowsRead(db.pool);
      await act();
      read[name] = (await rowsRead(db.pool)) - before;
    }
    expect({ request, many: Object.entries(read).filter(([, rows]) => rows > READ_MAX) }).toEqual({
      request,
      many: [],
    });
  }
});

test('a step reads few of the events that were recorded after the count', async () => {
  await nextOutage();
  const id = await startRecovery({ db, clock: systemClock }, outage, { rate: 1 });
  await database.query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_later_' || i, $1, 'email.sent', now(), '{}' from generate_series(1, $2::int) i`,
    [outage.accountId, GROWN_BY],
  );
  await database.query('select pg_stat_force_next_flush()');
  const before = await rowsRead(db.pool);
  expect(await createRecoveryWork(db.pool).step(id, 500)).toMatchObject({ queued: 1 });
  expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
});
