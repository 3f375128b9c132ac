import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openQueueWatch, Producer, queueLocation } from '@postrider/queue';
import { createMetrics, Lifecycle, loadConfig, RELAY_PASSES } from '@postrider/runtime';
import type { Metrics, RelayPass } from '@postrider/runtime';
import { createWakeUps } from '@postrider/store';
import type { WakeUps } from '@postrider/store';
import { createTestProcess, openClient, untilWaitingForLock, waitFor, withClient } from '@postrider/testing';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import type { RelayStore } from '../test/setup-relay-store.ts';
import { addRelay } from './relay.ts';

const store = setupRelayStore();
let wakeUps: WakeUps;
let producer: Producer;
let lines: LoggedLine[];
let metrics: Metrics<'relay'>;
let stop: () => Promise<number>;

beforeAll(async () => {
  producer = new Producer(queueLocation(relayConfigOf(store)), () => undefined);
  wakeUps = createWakeUps({
    databaseUrl: store.database.url,
    applicationName: 'test',
    onError: () => undefined,
  });
});
afterAll(async () => {
  await producer.close();
  await wakeUps.close();
});
beforeEach(() => {
  lines = [];
  metrics = createMetrics('relay', { processMetrics: false });
});
afterEach(() => stop());

function relayConfigOf({ database }: RelayStore) {
  return loadConfig('relay', {
    DATABASE_URL: database.url,
    // Nothing is posted: no webhook fails for long enough.
    OPERATOR_WEBHOOK_URL: 'https://operator.example/',
    OPERATOR_WEBHOOK_SECRET: 's'.repeat(32),
    NOTICE_MAIL_FROM: 'notices@a.example',
    OUTSTANDING_DELIVERIES_PER_ACCOUNT_MAX: '3',
  });
}

/** Starts a relay in this process, with the queue in Postgres. @returns a function that stops it as SIGTERM does. */
async function startRelay(): Promise<() => Promise<number>> {
  const config = relayConfigOf(store);
  const logger = keepingLogger(lines);
  const { control, stop: stopRelay } = createTestProcess();
  const lifecycle = new Lifecycle({ logger, deadlineMs: 10_000, control });
  addRelay({
    config,
    lifecycle,
    queueWatch: openQueueWatch(queueLocation(config), { client: 'queue', logger, metrics }),
    leases: store.leases,
    pool: store.pool,
    logger,
    metrics,
    stepRetryAfterErrorMs: 200,
    onPostgresError: () => undefined,
  });
  await lifecycle.run();
  return stopRelay;
}

async function value(name: string, of = metrics): Promise<number> {
  const metric = await of.registry.getSingleMetric(name)?.get();
  return metric?.values[0]?.value ?? 0;
}

/** The relay which was started last has the lock of the active one. */
const isActive = async () => (await value('postrider_relay_active')) === 1;

const untilStandby = () =>
  waitFor(() => lines.some(({ msg }) => msg === 'relay stands by: another one is active'), {
    what: 'it to stand by',
  });

/** The passes that the relay which was started last has run. */
async function passesRun(): Promise<Set<unknown>> {
  const metric = await metrics.registry.getSingleMetric('postrider_relay_pass_duration_seconds')?.get();
  return new Set(metric?.values.map(({ labels }) => labels['pass']));
}

async function runsOf(pass: RelayPass): Promise<number> {
  const metric = await metrics.registry.getSingleMetric('postrider_relay_pass_duration_seconds')?.get();
  const counts = metric?.values as { metricName: string; labels: { pass: string }; value: number }[];
  const count = ({ metricName, labels }: (typeof counts)[number]) =>
    metricName.endsWith('_count') && labels.pass === pass;
  return counts.find(count)?.value ?? 0;
}

async function untilRun(pass: RelayPass, times: number): Promise<void> {
  await waitFor(async () => (await runsOf(pass)) >= times, { what: `${times} runs of ${pass}` });
}

describe('the relay', () => {
  beforeEach(async () => {
    stop = await startRelay();
  });

  test('queues deliveries and mail, with or without a wake-up, and counts them', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    await store.rows.email();
    wakeUps.send({ webhooks: [webhookId], mail: true });
    const all = async () =>
      (await store.database.query('select from deliveries where leased_until is null')).length;
    await waitFor(async () => (await all()) === 0, { what: 'the delivery to be claimed' });
    await waitFor(
      async () =>
        (await store.database.query('select from email_sends where leased_until > now()')).length === 1,
      { what: 'the message to be claimed' },
    );
    await store.rows.deliveries(webhookId); // no wake-up names this one
    await waitFor(async () => (await all()) === 0, { what: 'the sweep to find it' });
    expect(await value('postrider_relay_reconciled_rows_total')).toBe(0);
    const queued = async () => {
      const { fast, mail } = await producer.depth();
      return fast.waiting === 2 && mail.waiting === 1;
    };
    await waitFor(queued, { what: 'their jobs' }); // a lease is committed before its job is added
  });

  test('runs every documented pass, and no other', async () => {
    const documented = new Set(Object.keys(RELAY_PASSES));
    await waitFor(async () => (await passesRun()).size >= documented.size, { what: 'each pass to run once' });
    expect(await passesRun()).toEqual(documented);
  });

  test('stands by while another one is active, and takes over when that one stops', async () => {
    await waitFor(isActive, { what: 'the first to be active' });
    const first = metrics;
    metrics = createMetrics('relay', { processMetrics: false });
    const stopSecond = await startRelay();
    try {
      const asked = () =>
        store.database.query(
          `select from pg_stat_activity
           where datname = current_database() and query like '%pg_try_advisory_lock(72707373%' and pid <> pg_backend_pid()`,
        );
      await waitFor(async () => (await asked()).length === 1, {
        what: 'the second relay to ask for the lock',
      });
      expect(await value('postrider_relay_active', first)).toBe(1);
      await waitFor(async () => (await passesRun()).size >= 2, { what: 'the passes of every relay' });
      expect(await passesRun()).toEqual(new Set(['fleet', 'report']));

      await stop();
      await waitFor(isActive, { what: 'the second to be active' });
      await store.rows.deliveries(await store.rows.webhook());
      const waiting = () => store.database.query('select from deliveries where leased_until is null');
      await waitFor(async () => (await waiting()).length === 0, { what: 'the delivery to be claimed' });
    } finally {
      await stopSecond();
    }
  });

  test('stops its passes when another one has the lock, and starts them again later', async () => {
    await waitFor(isActive, { what: 'it to be active' });
    await withClient(store.database.url, async (other) => {
      const locking = other.query('select pg_advisory_lock(72707373, 0)');
      await untilWaitingForLock(store.database);
      await store.database.query(
        `select pg_terminate_backend(pid) from pg_locks
         where locktype = 'advisory' and classid = 72707373 and granted`,
      );
      await locking;
      await untilStandby();
      expect(await isActive()).toBe(false);
      await untilRun('fleet', (await runsOf('fleet')) + 1); // a run that had begun has ended
      const sweeps = await runsOf('sweep');
      await untilRun('fleet', (await runsOf('fleet')) + 3); // a sweep runs every 2 s
      expect(await runsOf('sweep')).toBe(sweeps);
    });
    await waitFor(isActive, { what: 'it to be active again' });
    await untilRun('sweep', (await runsOf('sweep')) + 1);
  });

  test('stops after the passes that ran when it began to stand by', async () => {
    await waitFor(isActive, { what: 'it to be active' });
    await withClient(store.database.url, async (other) => {
      await other.query('begin; lock table recoveries');
      await untilWaitingForLock(store.database);
      await withClient(store.database.url, async (active) => {
        const locking = active.query('select pg_advisory_lock(72707373, 0)');
        await untilWaitingForLock(store.database, 2);
        await store.database.query(
          `select pg_terminate_backend(pid) from pg_locks
           where locktype = 'advisory' and classid = 72707373 and granted`,
        );
        await locking;
        await untilStandby();
        // Without the lock it cannot be active again, so only the passes that it had are running.
        const stopping = stop().then(() => 'stopped');
        expect(await Promise.race([stopping, delay(500, 'waiting')])).toBe('waiting');
        await other.query('commit');
        await stopping;
      });
    });
  });

  test('has the account of the notices, so that their domain can be verified before the first one', async () => {
    const accounts = await store.database.query('select id, name from accounts');
    expect(accounts).toEqual([{ id: 'acct_00000000000000000000000000', name: 'Postrider notices' }]);
  });

  test('counts the rows that it queues again after a loss', async () => {
    await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    const leased = async () =>
      (await store.database.query('select from deliveries where leased_until > now()')).length;
    await waitFor(async () => (await leased()) === 3, { what: 'three leases' });
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await waitFor(async () => (await value('postrider_relay_reconciled_rows_total')) === 3, {
      what: 'three rows to be queued again',
    });
    expect(await leased()).toBe(3);
  });

  test('runs the other steps while the attempt log is locked, and makes its days afterwards', async () => {
    const days = () => store.database.query(`select from pg_class where relname ~ '^attempts_[0-9]{8}$'`);
    await waitFor(async () => (await days()).length === 8, { what: 'the days' });
    await stop();
    const [last] = await store.database.query<{ name: string }>(
      `select max(relname) as name from pg_class where relname ~ '^attempts_[0-9]{8}$'`,
    );
    await store.database.query(`drop table ${last?.name}`);
    await store.database.query(
      `create table attempts_20200101 partition of attempts for values from ('2020-01-01 00:00+00') to ('2020-01-02 00:00+00')`,
    );
    await store.rows.event({ ageDays: 400 });
    const reader = await openClient(store.database.url);
    await reader.query('begin; lock table attempts in access share mode');
    stop = await startRelay();
    const failed = (pass: string) =>
      lines.some(({ msg, fields }) => msg === 'pass failed' && fields['pass'] === pass);
    await waitFor(() => failed('days_made') && failed('days_dropped'), { what: 'both to give up' });
    await waitFor(async () => (await store.database.query('select from events')).length === 0, {
      what: 'the old event to go',
    });
    await reader.end();
    await waitFor(
      async () => {
        const there = await store.database.query<{ kept: boolean }>(
          `select to_regclass($1) is not null and to_regclass('attempts_20200101') is null as kept`,
          [last?.name],
        );
        return there[0]?.kept === true;
      },
      { what: 'the day to be made and the old one dropped', timeoutMs: 60_000 },
    );
  });

  test('stops in order with exit code 0, and claims nothing afterwards', async () => {
    expect(await stop()).toBe(0);
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    await store.rows.deliveries(await store.rows.webhook());
    const listening = await store.database.query(
      `select from pg_stat_activity where datname = current_database() and query ilike 'listen %'`,
    );
    expect(listening).toEqual([]);
    expect(await store.database.query('select from deliveries where leased_until is not null')).toEqual([]);
  });
});

describe('a relay finds at its start what another left:', () => {
  test('it deletes the rows of an inbox that was deleted', async () => {
    const emailId = await store.rows.email();
    await store.database.query(`insert into inbox_sends values ($1, 'ibx_1', 'thr_1', now())`, [emailId]);
    await store.database.query(`insert into removed_inboxes values ('ibx_1')`);
    stop = await startRelay();
    const logged = () => lines.filter(({ msg }) => msg === 'removals finished');
    await waitFor(() => logged().length > 0, { what: 'the removal to be finished' });
    expect(logged().map(({ fields }) => fields)).toEqual([{ inboxes: 1 }]);
    expect(await store.database.query('select from removed_inboxes')).toEqual([]);
    expect(await store.database.query('select from inbox_sends')).toEqual([]);
  });

  test('it deletes the rows of a webhook that was deleted', async () => {
    const webhookId = await store.rows.webhook();
    await store.rows.deliveries(webhookId);
    await store.rows.deadLetter(webhookId, await store.rows.event());
    await store.database.query(`update webhooks set removed_at = now() - interval '61 seconds'`);
    stop = await startRelay();
    const logged = () => lines.filter(({ msg }) => msg === 'removals finished');
    await waitFor(() => logged().length > 0, { what: 'the removal to be finished' });
    expect(logged().map(({ fields }) => fields)).toEqual([{ webhooks: 1 }]);
    for (const table of ['webhooks', 'deliveries', 'dead_letters'])
      expect(await store.database.query(`select from ${table}`)).toEqual([]);
  });

  /* The sums begin with the oldest attempts, a day ago. */
  test('it adds up the attempts', async () => {
    const webhookId = await store.rows.webhook();
    await store.database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       values (now() - interval '23 hours 50 minutes', 1, 'evt_1', $1, 1, 5, 200)`,
      [webhookId],
    );
    stop = await startRelay();
    const sums = () => store.database.query('select webhook_id, attempts, successes from attempts_by_minute');
    await waitFor(async () => (await sums()).length > 0, { what: 'the sum' });
    expect(await sums()).toEqual([{ webhook_id: webhookId, attempts: 1, successes: 1 }]);
  });

  /** Makes an account with a recovery of so many events. @returns its webhook */
  async function recoveryOf(events: number) {
    const accountId = await store.rows.account();
    const webhookId = await store.rows.webhook({ accountId });
    for (let n = 0; n < events; n += 1) await store.rows.event({ accountId });
    await store.database.query(
      `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched,
         dead_letters, has_more, position, last_position, created_at)
       select 'rec_' || $3::int, $1, $2, now() - interval '1 day', now() + interval '1 day', '{}', true, 200, $3, 0,
              false, 0, max(position), now() + interval '1 day' from events`,
      [accountId, webhookId, events],
    );
    return webhookId;
  }

  test('it queues the events of a recovery, until the account has its number of outstanding deliveries', async () => {
    const [small, large] = [await recoveryOf(2), await recoveryOf(4)];
    stop = await startRelay();
    await waitFor(() => lines.some(({ msg }) => msg === 'recovery finished'), {
      what: 'the small one to end',
    });
    const queued = () =>
      store.database.query<{ id: string; n: number }>(
        'select webhook_id as id, count(*)::int as n from deliveries group by 1 order by 2',
      );
    await waitFor(async () => (await queued()).length === 2, { what: 'the other one to begin' });
    await untilRun('recoveries', (await runsOf('recoveries')) + 2);
    expect(await queued()).toEqual([
      { id: small, n: 2 },
      { id: large, n: 3 },
    ]);
  });

  /** Makes an account with an event of Bob, an hour old, and a request to erase him. @returns its id */
  async function erasureOfBob(eventId: string) {
    const accountId = await store.rows.account();
    await store.database.query(
      `insert into events (id, account_id, type, created_at, data)
       values ($2, $1, 'email.unsubscribed', now() - interval '1 hour', '{"to":"bob@b.example"}')`,
      [accountId, eventId],
    );
    await store.database.query(
      `insert into erasures (account_id, address, requested_at, due_at)
       values ($1, 'bob@b.example', now() - interval '10 minutes', now())`,
      [accountId],
    );
    return accountId;
  }

  test('it finishes an erasure that another process left, and logs what another erasure waits for', async () => {
    const [finished, waiting] = [await erasureOfBob('evt_1'), await erasureOfBob('evt_2')];
    await store.database.query(
      `insert into deliveries (event_id, webhook_id, due_at) values ('evt_2', 'wh_1', now() + interval '1 hour')`,
    );
    stop = await startRelay();
    const logged = (words: string) => lines.filter(({ msg }) => msg === words);
    await waitFor(() => logged('person erased').length > 0, { what: 'the request to be finished' });
    await waitFor(() => logged('erasure waits').length > 0, { what: 'the line' });
    const left = (table: string, column: string) =>
      store.database.query(`select ${column} as id from ${table}`);
    expect(await left('erasures', 'account_id')).toEqual([{ id: waiting }]);
    expect(await left('events', 'id')).toEqual([{ id: 'evt_2' }]);
    expect(logged('person erased').map(({ fields }) => fields)).toEqual([
      {
        account_id: finished,
        requested_at: expect.any(Date),
        erased: { emails: 0, messages: 0, events: 1, attempts: 0, deadLetters: 0 },
      },
    ]);
    expect(logged('erasure waits')[0]).toMatchObject({
      level: 'info',
      fields: { account_id: waiting, pending: { events: 1 }, pending_ids: ['evt_2'] },
    });
    expect(JSON.stringify(lines)).not.toContain('bob@');
  });

  test('it makes the days of attempts before retention deletes from the default partition', async () => {
    for (const { name } of await store.database.query<{ name: string }>(
      `select relname as name from pg_class where relname ~ '^attempts_[0-9]{8}$'`,
    ))
      await store.database.query(`drop table ${name}`);
    await store.database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
       select now() - interval '40 days', n, 'evt_1', 'wh_1', 1, 5 from generate_series(1, 5000) n`,
    );
    stop = await startRelay();
    const done = () =>
      lines.filter(({ fields }) => 'days_made' in fields || fields['what'] === 'stray_attempts');
    await waitFor(() => done().length === 2, { what: 'both to be done' });
    expect(done().map(({ msg }) => msg)).toEqual(['housekeeping done', 'retention done']);
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});
