import { expect, test } from '@jest/globals';
import { createRows, setupDatabase } from '@postrider/testing';
import type { Receipt } from '../checker/history.ts';
import { receipt } from '../checker/sample-history.ts';
import { nowMs } from '../times.ts';
import { createFaults } from './faults.ts';

const MINUTE_MS = 60_000;

const database = setupDatabase();
const rows = createRows(database);
const store = {
  query: async (sql: string, params: readonly unknown[] = []) => database.query(sql, [...params]) as never,
};

/** @param minutesAgo when a worker took it; negative: later. @returns the key of the delivery */
async function taken(minutesAgo: number): Promise<string> {
  const [id] = await rows.deliveries(await rows.webhook());
  const [row] = await database.query<{ event: string }>(
    `update deliveries set taken_at = now() - $2 * interval '1 min', leased_until = now() + interval '1 day'
     where id = $1 returning event_id || ' ' || webhook_id as event`,
    [id, minutesAgo],
  );
  return row?.event ?? '';
}

async function mailTaken(minutesAgo: number): Promise<string> {
  const id = await rows.email();
  await database.query(
    `update email_sends set taken_at = now() - $2 * interval '1 min', leased_until = now() + interval '1 day'
     where email_id = $1`,
    [id, minutesAgo],
  );
  return id;
}

/** A request of a delivery that no worker has. */
async function arrived(atMs: number): Promise<Receipt> {
  const webhookId = await rows.webhook();
  const eventId = await rows.event();
  await rows.deliveries(webhookId, { eventId });
  return { ...receipt(webhookId, 0, null), eventId, arrivedAtMs: atMs };
}

test('in flight at a fault is what began before or during it, not what began after it', async () => {
  const receipts = [await arrived(nowMs()), await arrived(nowMs() + MINUTE_MS)];
  const before = [await taken(1), `${receipts[0]?.eventId} ${receipts[0]?.webhookId}`];
  const mailBefore = await mailTaken(1);
  const faults = createFaults({ store, receipts, recovery: { healed: () => undefined } });
  let during = '';
  await faults.strike('kill -9 worker', { mayRepeat: true }, async () => {
    during = await taken(0);
    await taken(-1);
    await mailTaken(-1);
  });
  const [fault] = faults.log;
  expect(fault?.inFlight.toSorted()).toEqual([...before, during].sort());
  expect(fault?.mailInFlight).toEqual([mailBefore]);
});

test('healed() moves the end of the last fault only', async () => {
  const healed: string[] = [];
  const recovery = { healed: () => void healed.push('healed') };
  const faults = createFaults({ store, receipts: [], recovery });
  await faults.strike('FLUSHALL', { mayRepeat: false }, () => undefined);
  await faults.strike('hold postgres', { mayRepeat: true }, () => undefined);
  const [first, second] = [...faults.log];
  await database.query('select 1');
  faults.healed();
  expect(faults.log).toEqual([first, { ...second, endedAtMs: expect.any(Number) }]);
  expect(faults.log[1]?.endedAtMs).toBeGreaterThan(second?.endedAtMs ?? NaN);
  expect(healed).toHaveLength(3);
});
