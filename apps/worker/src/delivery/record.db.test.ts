import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { StoreUnavailableError } from '@postrider/store';
import type { Database, DeliveryClaim } from '@postrider/store';
import { after, answer, startFaultProxy, waitFor } from '@postrider/testing';
import type { FaultProxy } from '@postrider/testing';
import { setupDeliveries, openTestDatabase } from '../../test/delivery-fixture.ts';

const ANSWERS = [200, 503, 410];

const fixture = setupDeliveries(() => 'nxdomain');
let line: FaultProxy;
/** Connects through `line`. */
let database: Database;
let gate: PromiseWithResolvers<void>;
let webhookId: WebhookId;

beforeEach(async () => {
  line = await startFaultProxy(fixture.database.url);
  database = openTestDatabase(line.url(fixture.database.url));
  gate = Promise.withResolvers<void>();
  ({ webhookId } = await fixture.endpoint('/hook'));
});
afterEach(async () => {
  await database.close();
  await line.close();
});

/** Starts an attempt. Its answer comes when the gate opens. */
async function attempting(status: number, leaseSeconds = 30): Promise<{ recorded: Promise<void> }> {
  fixture.receiver.script('/hook', [after(gate.promise, answer(status))]);
  const before = fixture.receiver.requests.length;
  const job: DeliveryClaim = await fixture.job(webhookId);
  const recorded = fixture.worker({ database, leaseSeconds })(job);
  await fixture.receiver.waitForRequests(before + 1);
  return { recorded };
}

const attempts = () => fixture.database.query('select attempt, status from attempts');
const deliveries = () => fixture.database.query('select attempts, last_status, leased_until from deliveries');
const letters = () => fixture.database.query('select attempts, reason, status_code from dead_letters');

/** The rows when the answer is recorded. */
const ROWS = {
  200: { outstanding: [], dead: [] },
  503: { outstanding: [{ attempts: 1, last_status: 503, leased_until: null }], dead: [] },
  410: { outstanding: [], dead: [{ attempts: 1, reason: 'rejected', status_code: 410 }] },
};

async function expectRecordedOnce(status: number): Promise<void> {
  expect(await attempts()).toEqual([{ attempt: 1, status }]);
  expect({ outstanding: await deliveries(), dead: await letters() }).toEqual(
    ROWS[status as keyof typeof ROWS],
  );
}

test.each(ANSWERS)('%i, answered while Postgres is away, is recorded when it is back', async (status) => {
  const { recorded } = await attempting(status);
  line.takeAway();
  gate.resolve();
  await waitFor(() => line.refused >= 2, { what: 'two failed tries to record it' });
  expect(await attempts()).toEqual([]);
  line.restore();
  await recorded;
  await expectRecordedOnce(status);
  expect(fixture.log.lines('delivery.attempted')).toHaveLength(1);
});

test('a retry that could not be recorded at once is due its delay after the attempt’s end, not later', async () => {
  const { recorded } = await attempting(503);
  line.takeAway();
  gate.resolve();
  await waitFor(() => line.refused >= 2, { what: 'two failed tries to record it' });
  line.restore();
  await recorded;
  const [row] = await fixture.database.query<{ ms: number }>(
    `select abs(extract(epoch from d.due_at - a.started_at) * 1000 - a.duration_ms - 30000)::float8 as ms
     from deliveries d join attempts a on a.delivery_id = d.id`,
  );
  expect(row?.ms).toBeLessThan(1);
});

test.each(ANSWERS)('%i, whose record was written but not confirmed, is recorded once', async (status) => {
  const { recorded } = await attempting(status);
  line.drop('toClient');
  gate.resolve();
  await waitFor(async () => (await attempts()).length > 0, { what: 'the record to be written' });
  line.takeAway();
  line.restore();
  await recorded;
  await expectRecordedOnce(status);
});

test('200 is recorded before the lease ends, also when three idle connections died silently', async () => {
  await database.close();
  const url = new URL(line.url(fixture.database.url));
  url.searchParams.set('query_timeout', '2000'); // three time limits are longer than the lease
  database = openTestDatabase(url.href);
  const clients = await Promise.all([1, 2, 3].map(async () => database.pool.connect()));
  for (const client of clients) client.release();
  const { recorded } = await attempting(200, 5);
  line.strand();
  gate.resolve();
  await recorded;
  await expectRecordedOnce(200);
});

test('while Postgres is away until the lease ends, nothing is recorded, and the next attempt is the first', async () => {
  const { recorded } = await attempting(503, 1);
  const rejected = expect(recorded).rejects.toMatchObject({
    stage: 'record',
    cause: expect.any(StoreUnavailableError),
  });
  line.takeAway();
  gate.resolve();
  await rejected;
  expect(await attempts()).toEqual([]);
  expect(await letters()).toEqual([]);
  expect(await deliveries()).toMatchObject([{ attempts: 0, leased_until: expect.any(Date) }]);
  expect(fixture.log.lines('delivery.attempted')).toEqual([]);
  await fixture.worker()(await fixture.nextJob(webhookId));
  await expectRecordedOnce(200);
});

test.each(ANSWERS)(
  '%i twice at once, under an expired lease and under the next one, is recorded once',
  async (status) => {
    const answers = [after(gate.promise, answer(status)), after(gate.promise, answer(status))];
    fixture.receiver.script('/hook', answers);
    const before = fixture.receiver.requests.length;
    const deliver = fixture.worker(); // one worker handles both, so they are in one batch
    const late = deliver(await fixture.job(webhookId));
    await fixture.receiver.waitForRequests(before + 1);
    const held = deliver(await fixture.nextJob(webhookId));
    await fixture.receiver.waitForRequests(before + 2);
    gate.resolve();
    await Promise.all([late, held]);
    await expectRecordedOnce(status);
    const unrecorded = fixture.log.lines('delivery.attempted').map((line) => line['unrecorded'] === true);
    expect(unrecorded.sort()).toEqual([false, true]);
  },
);
