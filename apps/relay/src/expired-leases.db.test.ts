import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { Consumer, Producer } from '@postrider/queue';
import type { DeliveryJob, MailJob, QueueLocation } from '@postrider/queue';
import { systemClock } from '@postrider/runtime';
import {
  createDeliveryOutbox,
  createDeliveryWork,
  createMailOutbox,
  createMailWork,
  openDatabase,
} from '@postrider/store';
import type { MailClaim } from '@postrider/store';
import { describeWithRedis, waitFor } from '@postrider/testing';
import { setupRelayStore } from '../test/setup-relay-store.ts';
import { DeliveryPass } from './delivery/delivery-pass.ts';
import { MAIL_DELAYED_MAX, mailPass } from './mail-pass.ts';
import { createQueueDepths } from './delivery/queue-depths.ts';
import type { QueueDepths } from './delivery/queue-depths.ts';

const HOUR_MS = 3_600_000;
const LEASE_SECONDS = 30;

const store = setupRelayStore();

/**
 * A lease ends before a worker takes the row. Either the job is stuck: clocks of relay and worker differ, or
 * BullMQ has lost it. Or the queue is slow, and the job comes later.
 */
function expiredLeases(locationOf: () => QueueLocation): void {
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
      new Consumer(locationOf(), 'fast', { concurrency: 1, handle: note, lockSeconds: 30, onError: quiet }),
      new Consumer(locationOf(), 'slow', { concurrency: 1, handle: note, lockSeconds: 30, onError: quiet }),
      new Consumer(locationOf(), 'mail', {
        concurrency: 1,
        handle: noteMail,
        lockSeconds: 30,
        onError: quiet,
      }),
    ];
    for (const consumer of consumers) consumer.start();
  });
  afterEach(async () => {
    await Promise.all(consumers.map(async (consumer) => consumer.stop(1_000)));
    await queue.close();
  });

  /** Runs the pass until the consumers have so many jobs of deliveries. */
  async function untilDeliveries(count: number, pass: DeliveryPass, webhookId: WebhookId): Promise<void> {
    const isDone = async () => {
      pass.addWoken([webhookId]);
      await pass.run();
      return deliveries.length >= count;
    };
    await waitFor(isDone, { what: `${count} jobs of deliveries` });
  }

  async function untilMails(count: number, depths: QueueDepths): Promise<void> {
    const parts = { store: createMailOutbox(store.pool), queue, depths, onJobsAdded: quiet };
    await mailPass({ ...parts, leaseSeconds: LEASE_SECONDS });
    await waitFor(() => mails.length >= count, { what: `${count} jobs of mail` });
  }

  const newDeliveryPass = () =>
    new DeliveryPass({
      store: createDeliveryOutbox(store.leases),
      queue,
      fleet: { slots: () => 768, deadWorkers: () => [] },
      leaseSeconds: LEASE_SECONDS,
      onJobsAdded: quiet,
    });
  const newDepths = () => createQueueDepths(queue, ['mail'], MAIL_DELAYED_MAX);
  const endLeases = (table: 'deliveries' | 'email_sends', onlyId: string | null = null) =>
    store.database.query(
      `update ${table} set leased_until = now() - interval '1 ms'
       where $1::text is null or $1 = ${table === 'deliveries' ? 'id::text' : 'email_id'}`,
      [onlyId],
    );

  test('a stuck job does not block the next job of its delivery', async () => {
    const webhookId = await store.rows.webhook();
    const [deliveryId = ''] = await store.rows.deliveries(webhookId);
    const stuck = { deliveryId, claim: 0, delayMs: HOUR_MS };
    for (const lane of ['fast', 'slow'] as const) await queue.addDeliveries(lane, [stuck]);
    await endLeases('deliveries');
    await untilDeliveries(1, newDeliveryPass(), webhookId);
    const work = createDeliveryWork(store.pool, store.pool);
    expect(await work.take(deliveries, LEASE_SECONDS)).toMatchObject([{ deliveryId }]);
    expect(await work.take([stuck], LEASE_SECONDS)).toEqual([]);
  });

  test('a stuck job does not block the next job of its message', async () => {
    const emailId = await store.rows.email();
    await queue.addMail([{ emailId, claim: 0, delayMs: HOUR_MS }]);
    await endLeases('email_sends');
    await untilMails(1, newDepths());
    const now = await store.database.query(
      'select email_id as "emailId", claim, unrecorded as faults from email_sends',
    );
    expect(mails).toEqual(now);
  });

  test('a delivery keeps its place in a slow queue: the newer one does not overtake it', async () => {
    const webhookId = await store.rows.webhook();
    const pass = newDeliveryPass();
    const [older = ''] = await store.rows.deliveries(webhookId);
    await untilDeliveries(1, pass, webhookId);
    const [newer = ''] = await store.rows.deliveries(webhookId);
    await untilDeliveries(2, pass, webhookId);
    await endLeases('deliveries', older);
    await untilDeliveries(3, pass, webhookId);
    const work = createDeliveryWork(store.pool, store.pool);
    const taken: string[] = [];
    for (const job of deliveries) {
      for (const { deliveryId } of await work.take([job], LEASE_SECONDS)) taken.push(deliveryId);
    }
    expect(taken).toEqual([older, newer]);
  });

  test('a message keeps its place in a slow queue: the newer one does not overtake it', async () => {
    const depths = newDepths();
    const older = await store.rows.email();
    await untilMails(1, depths);
    const newer = await store.rows.email();
    await untilMails(2, depths);
    await endLeases('email_sends', older);
    await untilMails(3, depths);
    const opened = { databaseUrl: store.database.url, size: 1, applicationName: 'worker', onError: quiet };
    const db = openDatabase(opened, { send: quiet, close: async () => undefined });
    const work = createMailWork(db, systemClock, { verifiedDomainsOnly: false });
    const taken: string[] = [];
    for (const job of mails as MailClaim[]) {
      const email = await (await work.take([job], LEASE_SECONDS))[0];
      if (email != null) taken.push(email.emailId);
    }
    await db.close();
    expect(taken).toEqual([older, newer]);
  });
}

describe('in the queue on Postgres,', () => {
  expiredLeases(() => ({ kind: 'postgres', databaseUrl: store.database.url }));
});

describeWithRedis('in the queue on Redis,', (redisUrl) => {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  expiredLeases(() => ({ kind: 'redis', redisUrl, prefix }));
});
