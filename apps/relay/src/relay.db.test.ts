import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTimetable, queueLocation } from '@postrider/queue';
import type { Timetable } from '@postrider/queue';
import { createLifecycle, createMetrics, loadConfig } from '@postrider/runtime';
import type { Metrics, StopSignal } from '@postrider/runtime';
import { createWakeUps } from '@postrider/store';
import type { WakeUps } from '@postrider/store';
import { waitFor } from '@postrider/testing';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { openRelayStore } from '../test/open-relay-store.ts';
import type { RelayStore } from '../test/open-relay-store.ts';
import { addRelay } from './relay.ts';

let store: RelayStore;
let wakeUps: WakeUps;
let timetable: Timetable;
let lines: LoggedLine[];
let metrics: Metrics<'relay'>;
let stop: () => Promise<number>;

beforeAll(async () => {
  store = await openRelayStore();
  timetable = createTimetable(queueLocation(relayConfigOf(store)), () => undefined);
  wakeUps = createWakeUps({
    databaseUrl: store.database.url,
    applicationName: 'test',
    onError: () => undefined,
  });
});
afterAll(async () => {
  await timetable.close();
  await wakeUps.close();
  await store.close();
});
beforeEach(async () => {
  await store.rows.clear();
  lines = [];
  metrics = createMetrics('relay', { processMetrics: false });
  stop = await startRelay();
});
afterEach(() => stop());

function relayConfigOf({ database }: RelayStore) {
  return loadConfig('relay', { DATABASE_URL: database.url });
}

/** The relay's parts on the queue in Postgres, in this process. @returns what stops it as SIGTERM does. */
async function startRelay(): Promise<() => Promise<number>> {
  const config = relayConfigOf(store);
  const logger = keepingLogger(lines);
  let signalled: (signal: StopSignal) => void = () => undefined;
  let exited: (code: number) => void = () => undefined;
  const exit = new Promise<number>((resolve) => (exited = resolve));
  const lifecycle = createLifecycle({
    logger,
    deadlineMs: 10_000,
    control: {
      onSignal: (listener) => void (signalled = listener),
      onFatal: () => undefined,
      exit: (code) => exited(code),
      complain: () => undefined,
    },
  });
  const location = queueLocation(config);
  const onError = () => undefined;
  addRelay(lifecycle, {
    ...{ config, location, claims: store.claims, pool: store.pool, logger, metrics },
    onQueueError: onError,
    onStoreError: onError,
  });
  await lifecycle.run();
  let stopped = false;
  return async () => {
    if (!stopped) signalled('SIGTERM');
    stopped = true;
    return exit;
  };
}

async function value(name: string): Promise<number> {
  const metric = await metrics.registry.getSingleMetric(name)?.get();
  return metric?.values[0]?.value ?? 0;
}

describe('the relay', () => {
  test('puts deliveries and mail on the timetable, woken or not, and counts what it claimed', async () => {
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
    await store.rows.deliveries(webhookId); // nobody is told of this one
    await waitFor(async () => (await all()) === 0, { what: 'the walk to find it' });
    expect(await value('postrider_relay_reconciled_rows_total')).toBe(0);
    const queued = async () => {
      const { fast, slow, mail } = await timetable.depth();
      return fast.waiting === 1 && slow.waiting === 1 && mail.waiting === 1; // of a new webhook one is in the fast lane
    };
    await waitFor(queued, { what: 'their jobs' }); // a lease is committed before its job is added
  });

  test('counts what it puts back after a loss', async () => {
    await store.rows.deliveries(await store.rows.webhook(), { count: 3 });
    const leased = async () =>
      (await store.database.query('select from deliveries where leased_until > now()')).length;
    await waitFor(async () => (await leased()) === 3, { what: 'three leases' });
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    await waitFor(async () => (await value('postrider_relay_reconciled_rows_total')) === 3, {
      what: 'three rows to be put back',
    });
    expect(await leased()).toBe(3);
  });

  test('stops in order, exit code 0, and claims nothing any more', async () => {
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
