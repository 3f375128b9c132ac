import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Consumer, Producer } from '@postrider/queue';
import type { DeliveryJob, MailJob, QueueLocation } from '@postrider/queue';
import { createDeliveryOutbox, createDeliveryWork, createMailOutbox } from '@postrider/store';
import { describeWithRedis, waitFor } from '@postrider/testing';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import { DeliveryPass } from './delivery-pass.ts';
import { MAIL_DELAYED_MAX, mailPass } from './mail-pass.ts';
import { QueueDepths } from './queue-depths.ts';

const HOUR_MS = 3_600_000;
const LEASE_SECONDS = 30;

const store = setupRelayStore();

/** A job sits in the queue and does not run: clocks of relay and worker differ, or BullMQ has lost it. */
function stuckJobs(locationOf: () => QueueLocation): void {
  const quiet = () => undefined;
  let queue: Producer;
  let consumers: Consumer[];
  let deliveries: DeliveryJob[];
  let mails: MailJob[];

  beforeEach(async () => {
    queue = new Producer(locationOf(), quiet);
    await waitFor(() => queue.depth(), { what: 'the queue to be connected' });
    [deliveries, mails] = [[], []];
    const note = async (job: DeliveryJob) => void deliveries.push(job);
    const noteMail = async (job: MailJob) => void mails.push(job);
    consumers = [
      new Consumer(locationOf(), 'fast', { concurrency: 1, handle: note, onError: quiet }),
      new Consumer(locationOf(), 'slow', { concurrency: 1, handle: note, onError: quiet }),
      new Consumer(locationOf(), 'mail', { concurrency: 1, handle: noteMail, onError: quiet }),
    ];
    for (const consumer of consumers) consumer.start();
  });
  afterEach(async () => {
    await Promise.all(consumers.map(async (consumer) => consumer.stop(1_000)));
    await queue.close();
  });

  test('does not block the next job of its delivery after the lease expires', async () => {
    const webhookId = await store.rows.webhook();
    const [deliveryId = ''] = await store.rows.deliveries(webhookId);
    const stuck = { deliveryId, claim: 0, delayMs: HOUR_MS };
    for (const lane of ['fast', 'slow'] as const) await queue.addDeliveries(lane, [stuck]);
    await store.database.query(`update deliveries set leased_until = now() - interval '1 ms'`);
    const pass = new DeliveryPass({
      store: createDeliveryOutbox(store.claims),
      queue,
      leaseSeconds: LEASE_SECONDS,
      fleetSlots: () => 768,
      deadWorkers: () => [],
      onClaim: quiet,
    });
    pass.wake([webhookId]);
    await pass.run();
    await waitFor(() => deliveries.length > 0, { what: 'the next job' });
    const work = createDeliveryWork(store.pool, store.pool);
    expect(await work.take(deliveries, LEASE_SECONDS)).toMatchObject([{ deliveryId }]);
    expect(await work.take([stuck], LEASE_SECONDS)).toEqual([]);
  });

  test('does not block the next job of its message', async () => {
    const emailId = await store.rows.email();
    await queue.addMail([{ emailId, claim: 0, delayMs: HOUR_MS }]);
    await store.database.query(`update email_sends set leased_until = now() - interval '1 ms'`);
    await mailPass({
      store: createMailOutbox(store.pool),
      queue,
      depths: new QueueDepths(queue, ['mail'], MAIL_DELAYED_MAX),
      leaseSeconds: LEASE_SECONDS,
      onClaim: quiet,
    });
    await waitFor(() => mails.length > 0, { what: 'the next job' });
    const now = await store.database.query(
      'select email_id as "emailId", claim, unrecorded as faults from email_sends',
    );
    expect(mails).toEqual(now);
  });
}

describe('a stuck job in the queue on Postgres', () => {
  stuckJobs(() => ({ kind: 'postgres', databaseUrl: store.database.url }));
});

describeWithRedis('a stuck job in the queue on Redis', (redisUrl) => {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  stuckJobs(() => ({ kind: 'redis', redisUrl, prefix }));
});
