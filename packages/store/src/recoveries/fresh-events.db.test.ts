import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { AccountId, EventId, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { readFreshEvents } from './fresh-events.ts';

const store = setupStore();
let rows: Rows;
let accountId: AccountId;
let webhookId: WebhookId;
/** The start of a recovery. */
const at = new Date();
const MINUTE_MS = 60_000;

beforeAll(() => void (rows = createRows(store.outside)));
beforeEach(async () => {
  await rows.clear();
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
});

interface FreshWish {
  /** Minutes after the start. */
  readonly minutes: number;
  /** Unset: it got no attempt. */
  readonly waitMs?: number;
  readonly to?: WebhookId;
  readonly type?: string;
  readonly of?: AccountId;
}

async function event({ minutes, waitMs, to = webhookId, type = 'email.sent', of = accountId }: FreshWish) {
  const id = await rows.event({ accountId: of });
  const createdAt = new Date(at.getTime() + minutes * MINUTE_MS);
  await store.outside.query('update events set created_at = $2, type = $3 where id = $1', [
    id,
    createdAt,
    type,
  ]);
  if (waitMs !== undefined) await attempt(id, new Date(createdAt.getTime() + waitMs), to);
  return id;
}

async function attempt(id: EventId, startedAt: Date, to = webhookId): Promise<void> {
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     values ($2, 1, $1, $3, 1, 5, 200)`,
    [id, startedAt, to],
  );
}

const read = async (id = webhookId, of = accountId) =>
  readFreshEvents(store.db, { accountId: of, webhookId: id, at });

test('events since the start and before it have a p95 each, of the time to the first attempt', async () => {
  expect(await read()).toEqual({ since: null, before: null });
  for (let n = 1; n <= 20; n += 1) await event({ minutes: -n, waitMs: 10 * n });
  for (let n = 0; n < 20; n += 1) await event({ minutes: n / 100, waitMs: 1_000 + n });
  expect(await read()).toEqual({
    since: { events: 20, waiting: 0, p95Ms: 1_018 },
    before: { events: 20, waiting: 0, p95Ms: 190 },
  });
});

test('the first attempt counts, not a later one', async () => {
  const id = await event({ minutes: 0, waitMs: 30 });
  await attempt(id, new Date(at.getTime() + 90_000));
  expect((await read()).since).toEqual({ events: 1, waiting: 0, p95Ms: 30 });
});

test('an event that waits counts with its wait so far, and one that is not sent does not', async () => {
  await event({ minutes: 0 });
  await rows.deliveries(webhookId, { eventId: await event({ minutes: 0 }) });
  await event({ minutes: 0, waitMs: 20 });
  const { since } = await read();
  expect(since).toMatchObject({ events: 2, waiting: 1 });
  expect(since?.p95Ms).toBeGreaterThan(20);
});

test('what the recovery sends is older than its start, so it neither counts nor waits', async () => {
  const old = await event({ minutes: -5, waitMs: 40 });
  const never = await event({ minutes: -4 });
  for (const eventId of [old, never]) await rows.deliveries(webhookId, { eventId });
  expect(await read()).toEqual({ since: null, before: { events: 1, waiting: 0, p95Ms: 40 } });
});

test('events of other webhooks, types and accounts do not count', async () => {
  const sibling = await rows.webhook({ accountId });
  const picky = await rows.webhook({ accountId, events: ['email.bounced'] });
  const other = await rows.webhook();
  await event({ minutes: 0, waitMs: 10 });
  await event({ minutes: 0, waitMs: 20, to: sibling });
  await event({ minutes: 0, waitMs: 30, to: picky, type: 'email.bounced' });
  await event({ minutes: 0, waitMs: 40, to: picky });
  await event({ minutes: 0, waitMs: 50, to: other, of: await rows.account() });
  expect((await read()).since).toEqual({ events: 1, waiting: 0, p95Ms: 10 });
  expect((await read(sibling)).since?.p95Ms).toBe(20);
  expect((await read(picky)).since).toEqual({ events: 1, waiting: 0, p95Ms: 30 });
  expect(await read(other)).toEqual({ since: null, before: null });
});

test('an event from before the start that was committed after a later one counts as neither', async () => {
  await event({ minutes: 1, waitMs: 10 });
  await event({ minutes: -1, waitMs: 20 });
  expect(await read()).toEqual({ since: { events: 1, waiting: 0, p95Ms: 10 }, before: null });
});

test('only the newest 100 events of a span count', async () => {
  for (let n = 0; n < 10; n += 1) await event({ minutes: -1, waitMs: 5_000 });
  for (let n = 0; n < 100; n += 1) await event({ minutes: -0.5, waitMs: 10 });
  expect((await read()).before).toEqual({ events: 100, waiting: 0, p95Ms: 10 });
});
