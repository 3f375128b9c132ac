import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { openQueueIdentity, Producer } from '@postrider/queue';
import { HttpVisitor, textOf } from '../test/http-visitor.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';
import { showOverview } from './routes/overview.ts';

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  // No relay made today's partition, so each attempt of today would show as a fault.
  await opened.database.query('truncate attempts');
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const show = (path: string) => ada.show(path);

/** A reader's visit, without HTTP. */
const VISIT = {
  visitor: { name: 'kim', role: 'reader', csrf: '' },
  mayAct: false,
  params: {},
  query: {},
  url: '/',
  isConnected: () => true,
  done: null,
} as const;

/** The words of the overview while an active relay and a worker of this queue run. */
async function wordsOfRunning({ relay = true, queueId = 'postgres' } = {}): Promise<string> {
  const { database } = opened;
  await database.query(
    `insert into workers (id, number, slots, queue_kind, queue_prefix, queue_id, heard_at)
     values ('1', 1, 512, 'redis', 'postrider', $1, now() + interval '1 hour')`,
    [queueId],
  );
  if (relay) await database.query('select pg_advisory_lock(72707373, 0)');
  const words = textOf(await show('/'));
  if (relay) await database.query('select pg_advisory_unlock(72707373, 0)');
  await database.query('delete from workers');
  return words;
}

/** Attempts of a webhook in the last minute that was added up. */
async function minuteWithAttempts(webhookId: WebhookId, age = '0 s'): Promise<void> {
  await opened.database.query(
    `insert into attempt_sums select true, t, t from date_trunc('minute', now() - $1::interval) t
     on conflict (single) do update set settled_until = excluded.settled_until, summed_until = excluded.summed_until`,
    [age],
  );
  await opened.database.query(
    `insert into attempts_by_minute (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
     select $1, summed_until - interval '1 minute', 5, 0, array_fill(0, array[8]) || 5 || array_fill(0, array[16]), 118
     from attempt_sums`,
    [webhookId],
  );
}

describe('the overview', () => {
  test('says whether Postrider or an endpoint has a fault', async () => {
    const words = textOf(await show('/'));
    expect(words).toContain(
      'Postrider has a fault No relay is active: nothing is claimed. No worker is running.',
    );
    expect(words).toContain('1 endpoint is failing Its failed deliveries are retried, or are dead letters.');
    expect(words).toContain('Meadow Shop');
    await opened.database.query('update webhooks set failing_since = null');
    const well = await wordsOfRunning();
    expect(well).toContain('Postrider is healthy');
    expect(well).toContain('A relay is active. 1 worker runs.');
    expect(well).toContain('No endpoint is failing');
    expect(well).toContain('Workers 1 with 512 slots, seen in the last 3 s');
  });

  test.each([
    [{ relay: false }, 'Postrider has a fault No relay is active: nothing is claimed.'],
    [
      { queueId: 'other' },
      'Postrider has a fault No worker takes jobs from the queue in Postgres: the workers use Redis (prefix postrider, id other).',
    ],
  ])('with %j names the fault that `postrider status` names', async (missing, words) => {
    expect(await wordsOfRunning(missing)).toContain(words);
  });

  test('keeps the depths of the queue when its id cannot be read, and names each fault of Redis', async () => {
    const location = { kind: 'redis', redisUrl: 'redis://127.0.0.1:1', prefix: 'p' } as const;
    const identity = openQueueIdentity(location, () => undefined);
    const producer = new Producer({ kind: 'postgres', databaseUrl: opened.database.url }, () => undefined);
    const queue = {
      depth: () => producer.depth(),
      identity: () => identity.read(),
      evictionPolicy: async () => 'allkeys-lru',
    };
    const page = await showOverview(opened.db, queue)({ ...VISIT, now: new Date() });
    identity.close();
    await producer.close();
    const words = 'main' in page ? textOf(String(page.main)) : '';
    expect(words).toContain('Lanes of the job queue');
    expect(words).toContain('Postrider has a fault The queue takes no writes, or its id is not known: ');
    expect(words).toContain('Redis may evict jobs (maxmemory-policy allkeys-lru): set it to noeviction.');
  });

  test('names a fault when no relay makes the days of the attempt log', async () => {
    await opened.database.query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
       values (now(), 1, 1, $1, $2, 'email.bounced', 5, 200)`,
      [outage.eventId, outage.healthy],
    );
    expect(await wordsOfRunning()).toContain(
      'Postrider has a fault No relay makes the days of the attempt log.',
    );
  });

  test('has a row for each worker of the last minute, and counts those that run', async () => {
    await opened.database.query(
      `insert into workers (id, number, slots, queue_kind, queue_prefix, heard_at)
       values ('41', 41, 512, 'postgres', '', now()), ('42', 42, 256, 'postgres', '', now() - interval '20 s'),
              ('43', 43, 128, 'postgres', '', now() - interval '61 s')`,
    );
    await opened.database.query('select pg_advisory_lock_shared(72707372, 42)');
    const words = textOf(await show('/'));
    await opened.database.query('select pg_advisory_unlock_shared(72707372, 42)');
    expect(words).toContain('Workers 1 with 512 slots');
    expect(words).toMatch(/ 41 512 \d\.\d s ago running /);
    expect(words).toMatch(/ 42 256 \d+ s ago silent /);
    expect(words).not.toContain(' 43 128');
    expect(textOf(await show('/'))).toMatch(/ 42 256 \d+ s ago died /);
    await opened.database.query(`update workers set heard_at = now() - interval '20 s'`);
    expect(textOf(await show('/'))).toContain('No worker is running');
    await opened.database.query('delete from workers');
  });

  test('marks the dead letters of 24 hours as cut only where more of them may exist', async () => {
    await opened.database.query(
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error)
       select 'dl_01jd' || lpad(n::text, 22, '0'), account_id, webhook_id, 'evt_01jd' || lpad(n::text, 22, '0'), type,
              now(), data, 8, 'rejected', last_error
       from dead_letters, generate_series(1, 9998) n`,
    );
    expect(textOf(await show('/'))).toMatch(/Dead letters, 24 h 9,999 .* 9,999 in 24 h/);
    await opened.database.query(
      `insert into dead_letters select (json_populate_record(l, json_build_object('id', 'dl_' || n, 'event_id', 'evt_' || n))).*
       from dead_letters l, generate_series(1, 2) n where event_id = $1`,
      [outage.eventId],
    );
    expect(textOf(await show('/'))).toMatch(/Dead letters, 24 h 10,000\+ .* 10,000\+ in 24 h/);
    await opened.database.query('update webhooks set removed_at = now() where id = $1', [outage.failing]);
    expect(textOf(await show('/'))).toMatch(/Dead letters, 24 h 0\+ .* 0\+ in 24 h/);
  });

  test('counts what waits', async () => {
    await opened.rows.email();
    const words = textOf(await show('/'));
    for (const figure of [
      'Outstanding deliveries 3',
      'Dead letters, 24 h 1',
      'Mail not sent yet 1',
      'Held mail 1',
    ])
      expect(words).toContain(figure);
  });

  test('names the one webhook whose events wait too long for their first attempt', async () => {
    await opened.rows.deliveries(outage.failing, { dueInMs: -900_000 });
    expect(await wordsOfRunning()).toContain('Postrider is healthy');
    await opened.rows.deliveries(outage.healthy, { dueInMs: -301_000 });
    await minuteWithAttempts(outage.failing);
    const words = await wordsOfRunning();
    expect(words).toContain(
      'One webhook waits An event for crm.shop.example.com has waited 5 min 1 s for its first attempt. Other webhooks had recent attempts, so the endpoint may be slow.',
    );
    expect(words).not.toContain('Postrider has a fault');
  });

  test.each([
    ['nothing was attempted', async () => undefined],
    ['only its own events were attempted', async () => minuteWithAttempts(outage.healthy)],
    ['the last attempts are old', async () => minuteWithAttempts(outage.failing, '10 minutes')],
  ])('calls it our fault that the events of one webhook wait when %s', async (_, attempt) => {
    await opened.rows.deliveries(outage.healthy, { dueInMs: -301_000 });
    await attempt();
    expect(await wordsOfRunning()).toContain(
      'Postrider has a fault An event for crm.shop.example.com has waited 5 min 1 s for its first attempt, and no recent attempt of another webhook is counted.',
    );
  });

  test('calls it our fault when events of several webhooks wait too long for their first attempt', async () => {
    await opened.rows.deliveries(outage.healthy, { dueInMs: -301_000 });
    await opened.rows.deliveries(await opened.rows.webhook(), { dueInMs: -420_000 });
    expect(await wordsOfRunning()).toContain(
      'Postrider has a fault Events of several webhooks have waited for their first attempt, for up to 7 min.',
    );
  });

  test('loads itself again only when asked', async () => {
    expect((await ada.get('/')).headers).not.toHaveProperty('refresh');
    expect((await ada.get('/?live=30')).headers['refresh']).toBe('30');
    expect((await ada.get('/?live=1')).status).toBe(400);
  });
});
