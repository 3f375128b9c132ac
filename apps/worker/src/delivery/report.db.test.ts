import { beforeEach, describe, expect, test } from '@jest/globals';
import type { DeliveryOutcome, EventId, WebhookId } from '@postrider/domain';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import { createDeliveryWork } from '@postrider/store';
import { createRows, waitFor, setupDatabase } from '@postrider/testing';
import { openTestDatabase, setupWorkerConnection } from '../../test/delivery-fixture.ts';
import { keepLog } from '../../test/kept-log.ts';
import type { Attempt } from './attempt.ts';
import type { LoadedDelivery } from './load.ts';
import { createReporter } from './report.ts';

const DONE: DeliveryOutcome = { kind: 'done' };
const RETRY: DeliveryOutcome = { kind: 'retry', delayMs: 30_000, lastError: 'HTTP 503' };
const DEAD: DeliveryOutcome = { kind: 'dead', reason: 'attempts_exhausted', lastError: 'HTTP 503' };

const log = keepLog();

const database = setupDatabase();
const rows = createRows(database);
const db = setupWorkerConnection(database);
let metrics: Metrics<'worker'>;
let report: ReturnType<typeof createReporter>;
let webhookId: WebhookId;

beforeEach(async () => {
  log.clear();
  webhookId = await rows.webhook();
  metrics = createMetrics('worker', { processMetrics: false });
  report = createReporter({ logger: log.logger, metrics, store: createDeliveryWork(db.pool, db.pool) });
});

function delivery(more: Partial<LoadedDelivery> = {}): LoadedDelivery {
  return {
    deliveryId: '7',
    claim: 1,
    attemptsMade: 2,
    eventId: 'evt_1' as EventId,
    eventType: 'email.sent',
    eventCreatedAt: new Date(0),
    eventData: '{"text":"the-body"}',
    webhookId,
    subject: 'acct_1',
    endpoint: 'https://user:the-password@hooks.example/in?token=the-token',
    secret: { keyId: 'the-key', sealed: Buffer.from('the-secret') },
    headers: { keyId: 'the-key', sealed: Buffer.from('the-headers') },
    failing: false,
    dueInMs: 0,
    lateMs: 250,
    takenAtMs: 900,
    leaseEndsAtMs: 30_900,
    ...more,
  };
}

function attempt(statusCode: number | null = 200): Attempt {
  const result =
    statusCode === null
      ? ({ kind: 'failed', error: 'timeout after 10000 ms', cause: 'timeout' } as const)
      : ({ kind: 'answered', statusCode, excerpt: Buffer.from('the-answer') } as const);
  return { result, startedAtMs: 1_000, endedAtMs: 1_150.4 };
}

const attempted = () => log.lines('delivery.attempted');

const LINE = {
  time: expect.any(String),
  level: 'info',
  msg: 'delivery.attempted',
  service: 'worker',
  event_id: 'evt_1',
  event_type: 'email.sent',
  delivery_id: '7',
  attempt: 3,
  duration_ms: 150,
};

describe('the line of an attempt', () => {
  test.each<[string, Attempt, DeliveryOutcome, object]>([
    ['done', attempt(204), DONE, { outcome: 'done', status: 204 }],
    ['answered otherwise', attempt(503), RETRY, { outcome: 'retry', status: 503, retry_in_ms: 30_000 }],
    [
      'without an answer',
      attempt(null),
      RETRY,
      { outcome: 'retry', error: 'timeout after 10000 ms', retry_in_ms: 30_000 },
    ],
    ['given up', attempt(503), DEAD, { outcome: 'dead', status: 503, reason: 'attempts_exhausted' }],
  ])('%s: it is one, with every id and what came of it, and nothing else', (_, made, outcome, rest) => {
    report(delivery(), made, outcome, true);
    expect(attempted()).toEqual([{ ...LINE, webhook_id: webhookId, ...rest }]);
  });

  test('says when the attempt is not recorded', () => {
    report(delivery(), attempt(), DONE, false);
    expect(attempted()).toEqual([
      { ...LINE, webhook_id: webhookId, outcome: 'done', status: 200, unrecorded: true },
    ]);
  });

  test.each([
    ['about a message that was sent', '{"email_id":"em_1","error":null}', { email_id: 'em_1' }],
    ['of someone who unsubscribed', '{"email_id":null,"to":"b@b.example"}', {}],
    ['about a received message', '{"object":"message","text":"{\\"email_id\\":\\"em_2\\""}', {}],
  ])('names the message of an event %s', (_, eventData, named) => {
    report(delivery({ eventData }), attempt(), DONE, true);
    expect(attempted()).toEqual([{ ...LINE, webhook_id: webhookId, outcome: 'done', status: 200, ...named }]);
  });

  test('contains no secret, no body and no endpoint address', () => {
    for (const outcome of [DONE, RETRY, DEAD]) report(delivery(), attempt(), outcome, true);
    expect(attempted()).toHaveLength(3);
    expect(log.text()).not.toMatch(/the-|hooks\.example/);
  });
});

test('attempts are counted by result and dead letters by reason, with duration and lateness', async () => {
  report(delivery(), attempt(), DONE, true);
  report(delivery(), attempt(), DONE, true);
  report(delivery(), attempt(503), RETRY, true);
  report(delivery(), attempt(503), DEAD, true);
  const text = await metrics.registry.metrics();
  for (const line of [
    'postrider_delivery_attempts_total{result="done",service="worker"} 2',
    'postrider_delivery_attempts_total{result="retry",service="worker"} 1',
    'postrider_delivery_attempts_total{result="dead",service="worker"} 1',
    'postrider_dead_letters_total{reason="attempts_exhausted",service="worker"} 1',
    'postrider_delivery_attempt_duration_seconds_count{service="worker"} 4',
    // Each attempt was 0.25 s late when it was taken, and began 0.1 s later.
    'postrider_delivery_lateness_seconds_sum{service="worker"} 1.4',
    'postrider_delivery_lateness_seconds_count{service="worker"} 4',
  ]) {
    expect(text).toContain(line);
  }
});

test('a dead letter that was not recorded is not counted: another worker has the delivery', async () => {
  report(delivery(), attempt(503), DEAD, false);
  const text = await metrics.registry.metrics();
  expect(text).toContain('postrider_delivery_attempts_total{result="dead",service="worker"} 1');
  expect(text).toContain('postrider_dead_letters_total{reason="attempts_exhausted",service="worker"} 0');
});

test('the wait of an early job is not lateness', async () => {
  report(delivery({ dueInMs: 100, lateMs: 0 }), attempt(), DONE, true);
  expect(await metrics.registry.metrics()).toContain(
    'postrider_delivery_lateness_seconds_sum{service="worker"} 0\n',
  );
});

describe('the endpoint’s health', () => {
  const timedOut: Attempt = { ...attempt(null), endedAtMs: 11_000 };
  const failingSince = async () => {
    const [row] = await database.query<{ since: string | null }>(
      'select failing_since::text as since from webhooks where id = $1',
      [webhookId],
    );
    return row?.since ?? null;
  };

  test('is stored once when it starts to fail, and once when it recovers', async () => {
    for (let n = 0; n < 4; n += 1) report(delivery(), timedOut, RETRY, true);
    const since = await waitFor(failingSince, { what: 'the webhook to be failing' });
    await waitFor(() => log.lines('endpoint.failing').length > 0, { what: 'the line' });
    report(delivery(), timedOut, RETRY, true); // taken before the change was stored: the same change again
    for (let n = 0; n < 3; n += 1) report(delivery({ failing: true }), attempt(), DONE, true);
    await waitFor(() => log.lines('endpoint.recovered').length > 0, { what: 'the other line' });
    expect(await failingSince()).toBe(null);
    expect(since).not.toBe(null);
    const named = {
      level: 'warn',
      webhook_id: webhookId,
      account_id: expect.stringMatching(/^acct_/) as unknown,
      host: 'hooks.example',
    };
    expect(log.lines('endpoint.failing')).toMatchObject([named]);
    expect(log.lines('endpoint.recovered')).toMatchObject([named]);
    expect(log.text()).not.toContain('/in'); // a path may hold a token
  });

  test('is one line of the whole fleet', async () => {
    const work = createDeliveryWork(db.pool, db.pool);
    let answered = 0;
    const store = {
      async markHealth(changes: Parameters<typeof work.markHealth>[0]) {
        const changed = await work.markHealth(changes);
        answered += 1;
        return changed;
      },
    };
    const fleet = Array.from({ length: 4 }, () => createReporter({ logger: log.logger, metrics, store }));
    for (let n = 0; n < 4; n += 1) for (const each of fleet) each(delivery(), timedOut, RETRY, true);
    await waitFor(() => answered === fleet.length, { what: 'every worker to have marked the webhook' });
    await waitFor(() => log.lines('endpoint.failing').length > 0, { what: 'the line' });
    expect(log.lines('endpoint.failing')).toHaveLength(1);
  });

  test('that cannot be stored is a warning, and the next outcome repeats it', async () => {
    const away = openTestDatabase('postgres://nobody@127.0.0.1:1/nothing');
    try {
      let { pool } = away;
      report = createReporter({
        logger: log.logger,
        metrics,
        store: { markHealth: async (changes) => createDeliveryWork(pool, pool).markHealth(changes) },
      });
      for (let n = 0; n < 4; n += 1) report(delivery(), timedOut, RETRY, true);
      await waitFor(() => log.lines('health not written down').length > 0, { what: 'the warning' });
      pool = db.pool;
      report(delivery(), timedOut, RETRY, true);
      await waitFor(failingSince, { what: 'the webhook to be failing' });
      await waitFor(() => log.lines('endpoint.failing').length > 0, { what: 'the line' });
    } finally {
      await away.close();
    }
  });
});
