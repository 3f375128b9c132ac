import type { System } from '@postrider/testing';
import type { Cost } from './bare-got.ts';
import type { Receiver } from './receiver.ts';

const DRAIN_TIMEOUT_MS = 300_000;

/** Puts fresh events into the outbox in one transaction, and wakes the relay: a burst as a customer makes it. */
async function seedEvents(system: System, webhookId: string, count: number, data: string): Promise<void> {
  await system.db.query(
    `with seeded as (
       insert into events (id, account_id, type, created_at, data)
       select 'evt_bench' || txid_current() || '_' || n, $1, 'email.sent', now(), $2
       from generate_series(1, $3::int) n
       returning id
     )
     insert into deliveries (event_id, webhook_id) select id, $4 from seeded`,
    [system.accountId, data, count, webhookId],
  );
  await system.db.query(`select pg_notify('postrider_wake', $1)`, [webhookId]);
}

export interface DrainOptions {
  readonly webhookId: string;
  readonly count: number;
  readonly data: string;
  /** CPU seconds that the worker has used so far. */
  readonly workerCpuSeconds: () => Promise<number>;
}

/** Drains a burst of fresh events to one endpoint. */
export async function drain(system: System, receiver: Receiver, options: DrainOptions): Promise<Cost> {
  receiver.reset();
  const cpuBefore = await options.workerCpuSeconds();
  const begun = performance.now();
  await seedEvents(system, options.webhookId, options.count, options.data);
  const ended = await receiver.reached(options.count, DRAIN_TIMEOUT_MS);
  await system.drained();
  const cpuSeconds = (await options.workerCpuSeconds()) - cpuBefore;
  return { count: options.count, seconds: (ended - begun) / 1000, cpuSeconds };
}
