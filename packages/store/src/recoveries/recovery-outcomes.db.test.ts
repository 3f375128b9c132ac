import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, EventId, RecoveryId } from '@postrider/domain';
import { ACTOR, createRows, waitFor } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createOutage } from '../../test/outage.ts';
import type { Outage } from '../../test/outage.ts';
import { died, finished, retried } from '../../test/outcomes.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { findRecovery, startRecovery } from '../../test/start-recovery.ts';
import { createDeliveryWork } from '../deliveries/delivery-work.ts';
import type { DeliveryClaim } from '../deliveries/delivery-work.ts';
import { createWebhookEventStore } from '../events/webhook-events.ts';
import type { NewRecovery } from './recoveries.ts';
import { createRecoveryWork } from './recovery-work.ts';

const store = setupStore();
let outage: Outage;

beforeEach(async () => {
  await createRows(store.outside).clear();
  outage = await createOutage(store);
});

const started = async (change: Partial<NewRecovery> = {}) => startRecovery(store, outage, change);
const read = async (id: RecoveryId) => findRecovery(store, outage, id);

test('the outcomes of what it queued are counted, and those of a later replay are not', async () => {
  const [delivered, dead, waiting] = await outage.events(3);
  const id = await started();
  await outage.step(id);
  const work = createDeliveryWork(store.db.pool, store.db.pool);
  const take = async (eventId: EventId | undefined) => {
    const [row] = await store.outside.query<{ id: string; claim: number }>(
      'select id, claim from deliveries where event_id = $1',
      [eventId],
    );
    const [taken] = await work.take([{ deliveryId: row?.id ?? '', claim: row?.claim ?? -1 }], 30);
    if (taken === undefined) throw new Error('nothing was taken');
    return taken;
  };
  await work.done([finished(await take(delivered))]);
  await work.dead([died(await take(dead))]);
  await work.retry([retried(await take(waiting))]);
  expect(await read(id)).toMatchObject({ queued: 3, delivered: 1, failed: 1, inProgress: 1 });
  await createWebhookEventStore(store.db).replay(outage.accountId, outage.webhookId, dead as EventId, ACTOR);
  await work.done([finished(await take(dead))]);
  await work.dead([died(await take(waiting))]);
  expect(await read(id)).toMatchObject({ queued: 3, delivered: 1, failed: 2, inProgress: 0 });
});

test('a delivery that ends because its event is gone counts as failed', async () => {
  const [gone] = await outage.events(1);
  const id = await started();
  await outage.step(id);
  const jobs = await store.outside.query<DeliveryClaim>('select id as "deliveryId", claim from deliveries');
  await store.outside.query('delete from events where id = $1', [gone]);
  expect(await createDeliveryWork(store.db.pool, store.db.pool).take(jobs, 30)).toEqual([]);
  const deliveries = () => store.outside.query('select from deliveries');
  await waitFor(async () => (await deliveries()).length === 0, { what: 'the delivery to end' });
  expect(await read(id)).toMatchObject({ queued: 1, delivered: 0, failed: 1, inProgress: 0 });
});

test('each step adds up the outcomes', async () => {
  await outage.events(8);
  const id = await started({ rate: 16 });
  const outcomes = (values: string) =>
    store.outside.query(`insert into recovery_outcomes values ${values}`, [id]);
  await outcomes(`($1, 2, 0), ($1, 1, 1), ('rec_other', 9, 9)`);
  expect(await read(id)).toMatchObject({ delivered: 3, failed: 1 });
  await outage.step(id);
  expect(await read(id)).toMatchObject({ delivered: 3, failed: 1 });
  await outcomes('($1, 1, 1)');
  await store.outside.query('update deliveries set taken_at = now()');
  expect(await outage.step(id)).toMatchObject({ queued: 4 });
  expect(await read(id)).toMatchObject({ delivered: 4, failed: 2, queued: 8 });
  expect(await store.outside.query('select recovery_id from recovery_outcomes')).toEqual([
    { recovery_id: 'rec_other' },
  ]);
});

test('a step does not wait for an outcome that housekeeping deletes', async () => {
  await outage.event();
  const id = await started();
  await store.outside.query('insert into recovery_outcomes values ($1, 1, 0)', [id]);
  await inUndoneTransaction(store.db.pool, async (housekeeping) => {
    await housekeeping.query('select from recovery_outcomes for update');
    expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
  });
  expect(await read(id)).toMatchObject({ delivered: 1 });
});

describe('the next recoveries', () => {
  const next = (max: number) => createRecoveryWork(store.db.pool).next(max);

  test('are one of each account, its longest waiting one, and accounts that wait longest come first', async () => {
    const [many, few, idle] = [1, 2, 3].map(() => newId('account', store.clock)) as [
      AccountId,
      AccountId,
      AccountId,
    ];
    const insert = (accountId: AccountId, id: string, dueSeconds: number, ended = false) =>
      store.outside.query(
        `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters,
                                 has_more, position, last_position, created_at, next_step_at, ended_at)
         values ($1, $2, $1, now(), now(), '{}', true, 1, 0, 0, false, 0, 0, now(), now() + $3::int * interval '1 s',
                 case when $4 then now() end)`,
        [id, accountId, dueSeconds, ended],
      );
    await insert(many, 'm1', -9);
    await insert(many, 'm2', -8);
    await insert(many, 'm3', -7);
    await insert(few, 'f1', -1);
    await insert(few, 'f2', 60);
    await insert(few, 'f3', -60, true);
    await insert(idle, 'i1', 60);
    const found = await next(9);
    expect(found.map(({ id }) => id)).toEqual(['m1', 'f1', 'i1']);
    expect(found.map(({ dueInMs }) => dueInMs > 0)).toEqual([false, false, true]);
    expect((await next(2)).map(({ id }) => id)).toEqual(['m1', 'f1']);
  });
});
