import { beforeEach, expect, test } from '@jest/globals';
import { Semaphore } from '@postrider/limits';
import { createMetrics } from '@postrider/runtime';
import { StoreUnavailableError } from '@postrider/store';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import { retentionSteps, retentionPass } from './retention.ts';

const HOUR_MS = 3_600_000;
const CONFIG = {
  attemptRetentionDays: 25,
  eventRetentionDays: 30,
  mailContentRetentionDays: 20,
  mailRetentionDays: 365,
  inboundRetentionDays: 10,
  deadLetterRetentionDays: 90,
  deadLettersPerWebhookMax: 2,
  auditRetentionDays: 300,
};

const store = setupRelayStore();
let lines: LoggedLine[];
beforeEach(() => void (lines = []));

test('each kind is deleted by its own setting, logged and counted, every hour', async () => {
  const webhookId = await store.rows.webhook();
  await store.rows.event({ ageDays: 31 });
  const young = await store.rows.event({ ageDays: 29 });
  for (const age of [91, 3, 2, 1]) {
    const letter = await store.rows.deadLetter(webhookId, young);
    await store.database.query(
      'update dead_letters set created_at = now() - make_interval(days => $2) where id = $1',
      [letter, age],
    );
  }
  for (const age of [366, 364, 21, 19]) {
    const id = await store.rows.email();
    await store.database.query('delete from email_sends');
    await store.database.query(
      'update emails set created_at = now() - make_interval(days => $2) where id = $1',
      [id, age],
    );
  }
  for (const age of [11, 9]) {
    const id = await store.rows.message();
    await store.database.query(
      'update messages set created_at = now() - make_interval(days => $2) where id = $1',
      [id, age],
    );
  }
  await store.rows.inbox({ id: 'ibx_1' });
  await store.database.query(
    `insert into inbox_threads select 'thr_' || n, 'ibx_1', 'Hi', now(), now() - make_interval(days => n)
     from generate_series(9, 11, 2) n`,
  );
  await store.database.query(
    `insert into audit (actor_kind, actor, action, target, count, created_at)
     select 'cli', 'ada', 'key.revoke', 'key_1', 1, now() - make_interval(days => n) from generate_series(299, 301, 2) n`,
  );
  await store.database.query(
    `insert into attempts_by_hour select 'wh_1', date_trunc('hour', now()) - make_interval(days => n), 1, 1, '{}', 5
     from generate_series(24, 26, 2) n`,
  );
  const metrics = createMetrics('relay', { processMetrics: false });
  const steps = retentionSteps({
    pool: store.pool,
    config: CONFIG,
    attemptLogMutex: new Semaphore(1),
    metrics,
    logger: keepingLogger(lines),
  });
  const run = async () => retentionPass(steps, keepingLogger(lines));

  expect(await run()).toBe(HOUR_MS);
  expect(lines.map(({ msg, fields }) => [msg, fields])).toEqual([
    ['retention done', { what: 'attempt_sums', dropped: 1 }],
    ['retention done', { what: 'events', dropped: 1 }],
    ['retention done', { what: 'mail_contents', dropped: 3 }],
    ['retention done', { what: 'mail', dropped: 1 }],
    ['retention done', { what: 'received_messages', dropped: 1 }],
    ['retention done', { what: 'threads', dropped: 1 }],
    ['retention done', { what: 'dead_letters', dropped: 1 }],
    ['dead letters over the limit dropped', { webhook_id: webhookId, dropped: 1 }],
    ['retention done', { what: 'surplus_dead_letters', dropped: 1 }],
    ['retention done', { what: 'audit', dropped: 1 }],
  ]);
  const counted = await metrics.registry.getSingleMetric('postrider_dead_letters_dropped_total')?.get();
  expect(counted?.values.map(({ value, labels }) => [labels['reason'], value])).toEqual([
    ['expired', 1],
    ['over_limit', 1],
  ]);
  const messages = await metrics.registry.getSingleMetric('postrider_received_messages_dropped_total')?.get();
  expect(messages?.values.map(({ value }) => value)).toEqual([1]);

  lines = [];
  expect(await run()).toBe(HOUR_MS);
  expect(lines).toEqual([]); // nothing to do, so no line
});

test('an event stays as long as its attempts', async () => {
  const [kept] = [await store.rows.event({ ageDays: 39 }), await store.rows.event({ ageDays: 41 })];
  const steps = retentionSteps({
    pool: store.pool,
    config: { ...CONFIG, attemptRetentionDays: 40 },
    attemptLogMutex: new Semaphore(1),
    metrics: createMetrics('relay', { processMetrics: false }),
    logger: keepingLogger(lines),
  });
  await steps['events']?.();
  expect(await store.database.query('select id from events')).toEqual([{ id: kept }]);
});

test('a failed step is logged, does not stop the others, and fails the run', async () => {
  const error = new Error('not this one');
  const steps = {
    first: async () => {
      throw error;
    },
    second: async () => 3,
  };
  await expect(retentionPass(steps, keepingLogger(lines))).rejects.toBe(error);
  expect(lines).toEqual([
    { level: 'warn', msg: 'retention failed', fields: { what: 'first', error } },
    { level: 'info', msg: 'retention done', fields: { what: 'second', dropped: 3 } },
  ]);
});

test('an outage of Postgres ends the run, and no step logs it', async () => {
  const error = new StoreUnavailableError(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
  let runs = 0;
  const step = async () => {
    runs += 1;
    throw error;
  };
  await expect(retentionPass({ first: step, second: step }, keepingLogger(lines))).rejects.toBe(error);
  expect(runs).toBe(1);
  expect(lines).toEqual([]);
});

test('a step that exceeds the time limit of a statement does not stop the others', async () => {
  const canceled = new StoreUnavailableError(Object.assign(new Error('timeout'), { code: '57014' }));
  const steps = {
    first: async () => Promise.reject(canceled),
    second: async () => 3,
  };
  await expect(retentionPass(steps, keepingLogger(lines))).rejects.toBe(canceled);
  expect(lines.map(({ msg }) => msg)).toEqual(['retention failed', 'retention done']);
});
