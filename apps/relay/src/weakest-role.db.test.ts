import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Semaphore } from '@postrider/limits';
import { createMetrics } from '@postrider/runtime';
import {
  createAttemptLog,
  createAttemptSums,
  createErasureStore,
  finishRemovals,
  makeRoles,
  removeInboxes,
} from '@postrider/store';
import { createRows, createTestDatabase, createTestRoles } from '@postrider/testing';
import type { TestDatabase, TestRoles } from '@postrider/testing';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import {
  erasuresPass,
  housekeepingPass,
  housekeepingSteps,
  sumsPass,
  inboxRemovalsPass,
  removalsPass,
} from './housekeeping.ts';
import { openRelayPools } from './open-pools.ts';
import type { RelayPools } from './open-pools.ts';
import { retentionPass, retentionSteps } from './retention.ts';

/** The log keeps today and yesterday at the least, so a week of days that are over begins nine days ago. */
const FIRST_DAY = -9;
const RETENTION = {
  eventRetentionDays: 30,
  mailContentRetentionDays: 20,
  mailRetentionDays: 365,
  inboundRetentionDays: 10,
  deadLetterRetentionDays: 90,
  deadLettersPerWebhookMax: 2,
  auditRetentionDays: 300,
};

let roles: TestRoles;
let database: TestDatabase;
let pools: RelayPools;
let lines: LoggedLine[];

beforeEach(async () => {
  lines = [];
  roles = createTestRoles();
  database = await createTestDatabase();
  const { readWrite } = await makeRoles(database.url, {
    prefix: roles.prefix,
    schemas: ['public', 'bullmq'],
  });
  const databaseUrl = roles.url(database.url, await roles.login(`in role ${readWrite}`));
  pools = openRelayPools({ databaseUrl, databasePoolSize: 4 }, () => undefined);
});
afterEach(async () => {
  await Promise.all([pools.leases.end(), pools.pool.end()]);
  await database.drop();
  await roles.drop();
});

/** A day as the owner's function names it, counted from today in UTC. */
async function day(fromToday: number): Promise<string> {
  const [row] = await database.query<{ day: string }>(
    `select to_char((now() at time zone 'utc')::date + $1::int, 'YYYYMMDD') as day`,
    [fromToday],
  );
  return row?.day ?? '';
}

async function makeOldDay(fromToday: number): Promise<void> {
  const [from, to] = [await day(fromToday), await day(fromToday + 1)];
  await database.query(`set role ${roles.prefix}_owner`);
  await database.query(
    `create table attempts_${from} partition of attempts for values from ('${from} 00:00+00') to ('${to} 00:00+00')`,
  );
  await database.query('reset role');
}

/** Rows that each retention step deletes, and an interrupted DELETE. */
async function insertOldRows(): Promise<void> {
  const rows = createRows(database);
  await rows.event({ ageDays: 31 });
  await rows.email();
  await rows.message();
  const webhookId = await rows.webhook();
  for (let letters = 0; letters < 3; letters += 1) await rows.deadLetter(webhookId, await rows.event());
  const removed = await rows.webhook();
  await rows.deliveries(removed, { count: 2 });
  await database.query(`
    delete from email_sends;
    update emails set created_at = now() - interval '400 days';
    update messages set created_at = now() - interval '11 days';
    update webhooks set removed_at = now() - interval '2 minutes' where id = '${removed}';
    insert into provider_notifications values ('sns-' || '${removed}', now() - interval '8 days');
    insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
    values (now() - interval '60 days', 1, 'evt_1', 'wh_1', 1, 5)`);
}

test('housekeeping needs no more than the rights of the processes', async () => {
  const { pool } = pools;
  const metrics = createMetrics('relay', { processMetrics: false });
  const attemptLogMutex = new Semaphore(1);
  const oldDays = [FIRST_DAY, FIRST_DAY + 1];
  for (const fromToday of oldDays) await makeOldDay(fromToday);

  for (const fromToday of oldDays) {
    lines = [];
    await insertOldRows();
    const config = { ...RETENTION, attemptRetentionDays: -fromToday - 1 }; // another day is over
    const attemptLog = createAttemptLog(pool);
    const keeping = keepingLogger(lines);
    for (const step of housekeepingSteps({ attemptLog, attemptLogMutex, pool, config })) {
      await housekeepingPass(step, keeping);
    }
    await retentionPass(retentionSteps({ pool, config, attemptLogMutex, metrics, logger: keeping }), keeping);
    await removalsPass(() => finishRemovals(pool), keeping);
    await inboxRemovalsPass(() => removeInboxes(pool), keeping);
    await erasuresPass(createErasureStore(pool), keeping);
    await sumsPass(createAttemptSums(pool, { leaseSeconds: 30 }));

    const made = lines.flatMap(({ fields }) => (fields['days_made'] as string[] | undefined) ?? []);
    const dropped = lines.flatMap(({ fields }) => (fields['days_dropped'] as string[] | undefined) ?? []);
    expect(dropped).toEqual([await day(fromToday)]);
    expect(made.at(-1)).toBe(await day(7));
    expect(lines.filter(({ msg }) => msg.includes('failed'))).toEqual([]);
    const deleted = lines.flatMap(({ fields }) => (fields['what'] as string | undefined) ?? []);
    expect(deleted).toEqual(
      expect.arrayContaining([
        'stray_attempts',
        'events',
        'mail',
        'received_messages',
        'surplus_dead_letters',
      ]),
    );
    expect(lines.map(({ fields }) => fields)).toContainEqual({ webhooks: 1 });
    await database.query(`drop table attempts_${await day(7)}`); // tomorrow this day is ahead again
  }
});
