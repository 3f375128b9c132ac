import { describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import {
  CLAIM_LIMIT_VALUES,
  CLAIM_LIMITS,
  leasedBy,
  openLeasePool,
  requestFor,
  setupLeases,
} from '../../test/claim-fixture.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createDeliveryOutbox } from './delivery-outbox.ts';
import type { ClaimLimits, LeasedDelivery, WebhookReport } from './delivery-outbox.ts';
import { claimDeliveries } from './sql/claim-deliveries.ts';

const { database, rows, leases } = setupLeases();

async function claim(
  webhooks: WebhookId | readonly WebhookId[],
  limit = 8,
  limits: Partial<ClaimLimits> = {},
): Promise<LeasedDelivery[]> {
  const asked = typeof webhooks === 'string' ? [webhooks] : webhooks;
  const requests = asked.map((webhookId) => requestFor(webhookId, limit));
  return leasedBy(await leases.outbox.claim(requests, { ...CLAIM_LIMITS, ...limits }));
}

/** What a claim for up to eight deliveries reports of a webhook. */
async function reportOf(webhookId: WebhookId, more: { limit?: number; rowsToRead?: number } = {}) {
  const [claim] = await leases.outbox.claim([requestFor(webhookId, more.limit, more)], CLAIM_LIMITS);
  if (claim === undefined) throw new Error('the claim did not report the webhook');
  return claim satisfies WebhookReport;
}

function idsOf(claimed: readonly LeasedDelivery[]): string[] {
  return claimed.map(({ deliveryId }) => deliveryId).sort((a, b) => Number(a) - Number(b));
}

function countOf(claimed: readonly LeasedDelivery[], webhookId: WebhookId): number {
  return claimed.filter((delivery) => delivery.webhookId === webhookId).length;
}

/** As if the leases of these deliveries had run out. */
async function expireLeases(ids: readonly string[]): Promise<void> {
  await database.query(`update deliveries set leased_until = now() - interval '1 ms' where id = any ($1)`, [
    ids,
  ]);
}

/** As if a worker had taken these deliveries so many seconds ago, with a lease that still runs. */
async function takenAgo(ids: readonly string[], seconds: number): Promise<void> {
  await database.query(
    `update deliveries set claim = claim + 1, taken_at = now() - make_interval(secs => $2),
       leased_until = now() + interval '10 s' where id = any ($1)`,
    [ids, seconds],
  );
}

describe('the concurrency limit of a webhook', () => {
  test('is a cap on what is in anybody’s hands: what is leased already counts against it', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId, { count: 50 });
    expect(idsOf(await claim(webhookId, 8))).toEqual(ids.slice(0, 8));
    expect(await claim(webhookId, 8)).toEqual([]);
    expect(idsOf(await claim(webhookId, 10))).toEqual(ids.slice(8, 10));
    await database.query('delete from deliveries where id = any ($1)', [ids.slice(0, 3)]);
    expect(idsOf(await claim(webhookId, 10))).toEqual(ids.slice(10, 13));
  });

  test('may be none', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId);
    expect(await claim(webhookId, 0)).toEqual([]);
  });

  test('fresh events do not wait behind retries that are leased for later', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 8, dueInMs: 50_000 });
    expect(await claim(webhookId, 8)).toHaveLength(8);
    const fresh = await rows.deliveries(webhookId, { count: 2 });
    expect(idsOf(await claim(webhookId, 8))).toEqual(fresh);
  });
});

describe('fairness', () => {
  test('a flooder with thousands of rows does not keep many quiet webhooks waiting', async () => {
    const flooder = await rows.webhook();
    await rows.deliveries(flooder, { count: 5000, dueInMs: -60_000 });
    const quiet: WebhookId[] = [];
    for (let n = 0; n < 40; n += 1) quiet.push(await rows.webhook());
    for (const id of quiet) await rows.deliveries(id);
    const claimed = await claim([flooder, ...quiet], 128, { fastRowsMax: 60 });
    expect(claimed).toHaveLength(60);
    expect(quiet.map((id) => countOf(claimed, id))).toEqual(quiet.map(() => 1));
    expect(countOf(claimed, flooder)).toBe(20);
  });

  test('where there is not enough for a round, those asked for first are served', async () => {
    const webhooks = [await rows.webhook(), await rows.webhook(), await rows.webhook()];
    for (const id of webhooks) await rows.deliveries(id, { count: 5 });
    const [first, second, third] = webhooks as [WebhookId, WebhookId, WebhookId];
    const one = await claim([third, first, second], 5, { fastRowsMax: 2 });
    expect(one.map(({ webhookId }) => webhookId).sort()).toEqual([first, third].sort());
    await leases.outbox.release(one);
    const two = await claim([second, third, first], 5, { fastRowsMax: 1 });
    expect(two.map(({ webhookId }) => webhookId)).toEqual([second]);
  });
});

describe('the lane', () => {
  async function lanesOf(webhookId: WebhookId, slow: boolean): Promise<boolean[]> {
    const claims = await leases.outbox.claim([requestFor(webhookId, 8, { slow })], CLAIM_LIMITS);
    return leasedBy(claims).map((delivery) => delivery.slow);
  }

  test.each([false, true])('is the one that the caller names (slow: %s)', async (slow) => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 2 });
    expect(await lanesOf(webhookId, slow)).toEqual([slow, slow]);
  });

  test('of a failing webhook is the slow one', async () => {
    const webhookId = await rows.webhook({ failing: true });
    await rows.deliveries(webhookId, { count: 2 });
    expect(await lanesOf(webhookId, false)).toEqual([true, true]);
  });

  test('has its own limit: rows for one lane use up nothing of the other’s', async () => {
    const [failing, healthy] = [await rows.webhook({ failing: true }), await rows.webhook()];
    for (const id of [failing, healthy]) await rows.deliveries(id, { count: 20 });
    const claimed = await claim([failing, healthy], 8, { fastRowsMax: 3, slowRowsMax: 4 });
    expect([countOf(claimed, failing), countOf(claimed, healthy)]).toEqual([4, 3]);
  });

  test('that is full keeps nobody out of the other, and gives a failing webhook its turn before a second helping', async () => {
    const [healthy, dawdler, failing] = [
      await rows.webhook(),
      await rows.webhook(),
      await rows.webhook({ failing: true }),
    ];
    const all = [dawdler, healthy, failing];
    for (const id of all) await rows.deliveries(id, { count: 20 });
    const claimAll = async (limit: number, limits: Partial<ClaimLimits>) => {
      const requests = all.map((id) => requestFor(id, limit, { slow: id === dawdler }));
      return leasedBy(await leases.outbox.claim(requests, { ...CLAIM_LIMITS, ...limits }));
    };
    const noneSlow = await claimAll(10, { slowRowsMax: 0 });
    expect(all.map((id) => countOf(noneSlow, id))).toEqual([0, 10, 0]);
    const noneFast = await claimAll(20, { fastRowsMax: 0, slowRowsMax: 2 });
    expect(all.map((id) => countOf(noneFast, id))).toEqual([1, 0, 1]);
  });
});

describe('what is claimed', () => {
  test('is due within the look-ahead, with the time that is left', async () => {
    const webhookId = await rows.webhook();
    const [due = ''] = await rows.deliveries(webhookId);
    const [soon = ''] = await rows.deliveries(webhookId, { dueInMs: 50_000, attempts: 3 });
    await rows.deliveries(webhookId, { dueInMs: 70_000 });
    const claimed = await claim(webhookId);
    expect(idsOf(claimed)).toEqual([due, soon]);
    const delays = new Map(claimed.map((row) => [row.deliveryId, row.dueInMs]));
    expect(delays.get(due)).toBe(0);
    // The test's own time is taken off the 50 s; the lease tells how much: it ends 30 s after the due time.
    expect(delays.get(soon)).toBeGreaterThan(0);
    expect(delays.get(soon)).toBeLessThanOrEqual(50_000);
    const leases = await database.query(
      `select id, leased_until = due_at + interval '30 s' as from_due from deliveries where leased_until is not null
       order by id`,
    );
    expect(leases).toEqual([
      { id: due, from_due: false },
      { id: soon, from_due: true },
    ]);
  });

  test('with no look-ahead is only what is due now', async () => {
    const webhookId = await rows.webhook();
    const due = await rows.deliveries(webhookId);
    await rows.deliveries(webhookId, { dueInMs: 30_000 });
    expect(idsOf(await claim(webhookId, 8, { lookAheadSeconds: 0 }))).toEqual(due);
  });

  test('before its time uses up nothing of what may wait, nor the other way round', async () => {
    const webhooks = [await rows.webhook(), await rows.webhook({ failing: true })];
    for (const id of webhooks) {
      await rows.deliveries(id, { count: 3 });
      await rows.deliveries(id, { count: 5, dueInMs: 50_000 });
    }
    const limits = { fastRowsMax: 2, slowRowsMax: 1, delayedRowsMax: 4 };
    const claimed = await claim(webhooks, 8, limits);
    const counts = webhooks.map((id) => {
      const mine = claimed.filter(({ webhookId }) => webhookId === id);
      return { due: mine.filter(({ dueInMs }) => dueInMs === 0).length, all: mine.length };
    });
    expect(counts).toEqual([
      { due: 2, all: 6 },
      { due: 1, all: 5 },
    ]);
  });

  test('is never of a webhook that is gone', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId);
    await database.query('delete from webhooks');
    expect(await claim(webhookId)).toEqual([]);
  });

  test('is no more than asked for in all', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 20 });
    expect(await claim(webhookId, 20, { fastRowsMax: 7 })).toHaveLength(7);
  });
});

describe('a lease', () => {
  test('that ran out untaken is given again under the same claim, and its expired lease is reported', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId);
    const [first] = await claim(webhookId);
    expect(first).toMatchObject({ claim: 0, leaseExpired: false });
    expect(await claim(webhookId)).toEqual([]);
    await expireLeases([first?.deliveryId ?? '']);
    expect(await claim(webhookId)).toEqual([{ ...first, leaseExpired: true }]);
  });

  test('of a worker that died is given again under the claim the worker left', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId);
    await takenAgo(ids, 60);
    await expireLeases(ids);
    expect(await claim(webhookId)).toMatchObject([{ claim: 1, leaseExpired: true }]);
    const [row] = await database.query('select taken_at from deliveries');
    expect(row).toEqual({ taken_at: null });
  });

  test('is never had by two: claims at the same time share no row', async () => {
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < 10; n += 1) webhooks.push(await rows.webhook());
    for (const id of webhooks) await rows.deliveries(id, { count: 40 });
    const others = [openLeasePool(database.url), openLeasePool(database.url)];
    const relays = [leases.outbox, ...others.map(createDeliveryOutbox)];
    const requests = webhooks.map((webhookId) => requestFor(webhookId, 40));
    const seen: string[] = [];
    while (seen.length < 400) {
      const limits = { ...CLAIM_LIMITS, fastRowsMax: 30 };
      const claims = await Promise.all(relays.map(async (relay) => relay.claim(requests, limits)));
      const leased = leasedBy(claims.flat());
      expect(leased.length).toBeGreaterThan(0);
      seen.push(...leased.map(({ deliveryId }) => deliveryId));
    }
    expect(new Set(seen).size).toBe(400);
    await Promise.all(others.map(async (other) => other.end()));
  });

  test('keeps the cap also when two relays claim at once', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 100 });
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 4 }, async () => claim(webhookId, 8)));
      const [row] = await database.query<{ leased: number }>(
        'select count(*)::int as leased from deliveries where leased_until > now()',
      );
      expect(row?.leased).toBe(8);
      await database.query('delete from deliveries where leased_until is not null');
    }
  });

  test('is written without touching an index, so that the update stays heap-only', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 200 });
    const fresh = openLeasePool(database.url); // a session counts its own updates until it hands them in
    await inUndoneTransaction(fresh, async (session) => {
      const values = [[webhookId], [10], [10], [false], [null], [null], [0], ...CLAIM_LIMIT_VALUES];
      expect((await session.query(claimDeliveries.text, values)).rowCount).toBe(10);
      const counted = await session.query(
        `select n_tup_upd::int as updated, n_tup_hot_upd::int as heap_only
         from pg_stat_xact_user_tables where relname = 'deliveries'`,
      );
      expect(counted.rows).toEqual([{ updated: 10, heap_only: 10 }]);
    });
    await fresh.end();
  });
});

describe('the report of a webhook', () => {
  test('comes also when nothing was leased, with its account and health', async () => {
    const accountId = await rows.account();
    const webhookId = await rows.webhook({ accountId, failing: true });
    const report = { webhookId, accountId, failing: true, due: 0, inFlight: 0, stuck: 0, expired: 0 };
    expect(await reportOf(webhookId)).toMatchObject({
      ...report,
      nextDueInMs: null,
      leased: [],
    });
    expect(await reportOf(await rows.webhook())).toMatchObject({ failing: false });
  });

  test('counts what was due and in flight before the claim, in the rows that it read', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 9 });
    expect(await reportOf(webhookId, { limit: 3 })).toMatchObject({ due: 3, inFlight: 0 });
    expect(await reportOf(webhookId, { limit: 5 })).toMatchObject({ due: 5, inFlight: 3 });
    const beyond = await reportOf(webhookId, { limit: 2, rowsToRead: 7 });
    expect(beyond).toMatchObject({ due: 7, inFlight: 5, leased: [] });
  });

  test('does not count delayed jobs as in flight', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 2, dueInMs: 30_000 });
    expect((await reportOf(webhookId)).leased).toHaveLength(2);
    expect(await reportOf(webhookId)).toMatchObject({ due: 0, inFlight: 0 });
  });

  test('names the time until the next delivery is due, with or without a lease', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId);
    await rows.deliveries(webhookId, { dueInMs: 70_000 });
    const { nextDueInMs } = await reportOf(webhookId);
    expect(nextDueInMs).toBeGreaterThan(60_000);
    expect(nextDueInMs).toBeLessThanOrEqual(70_000);
    await rows.deliveries(webhookId, { dueInMs: 50_000 });
    await reportOf(webhookId); // leases it
    expect((await reportOf(webhookId)).nextDueInMs).toBeLessThanOrEqual(50_000);
  });

  test('counts leases that expired', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId, { count: 3 });
    await claim(webhookId);
    await expireLeases(ids.slice(0, 2));
    expect(await reportOf(webhookId)).toMatchObject({ due: 3, inFlight: 1, expired: 2 });
  });

  test('counts attempts that a worker began too long ago, and no others', async () => {
    const webhookId = await rows.webhook();
    const ids = await rows.deliveries(webhookId, { count: 5 });
    await claim(webhookId, 4);
    await takenAgo(ids.slice(0, 2), 3);
    await takenAgo(ids.slice(2, 3), -60); // the fourth waits in the queue
    expect(await reportOf(webhookId)).toMatchObject({ stuck: 2, inFlight: 4 });
    await expireLeases(ids.slice(0, 1));
    expect(await reportOf(webhookId)).toMatchObject({ stuck: 1, expired: 1 });
  });

  test('is missing for a webhook that is gone or being removed', async () => {
    const [gone, removed] = [await rows.webhook(), await rows.webhook()];
    for (const id of [gone, removed]) await rows.deliveries(id);
    await database.query('delete from webhooks where id = $1', [gone]);
    await database.query('update webhooks set removed_at = now()');
    expect(await leases.outbox.claim([requestFor(gone), requestFor(removed)], CLAIM_LIMITS)).toEqual([]);
  });
});

describe('release', () => {
  test('makes the rows free at once, and theirs only', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 4 });
    const claimed = await claim(webhookId, 4);
    await leases.outbox.release(claimed.slice(0, 3));
    const again = await claim(webhookId, 4);
    expect(idsOf(again)).toEqual(idsOf(claimed.slice(0, 3)));
    expect(again.every((row) => row.claim === 0 && !row.leaseExpired)).toBe(true);
  });

  test('does not touch a row that a worker has taken since', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId);
    const claimed = await claim(webhookId);
    await takenAgo(idsOf(claimed), 0);
    await leases.outbox.release(claimed);
    expect(await claim(webhookId)).toEqual([]);
  });

  test('waits for nobody: a row that is just being deleted is left alone', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { count: 2 });
    const claimed = await claim(webhookId);
    await inUndoneTransaction(leases.pool, async (deletion) => {
      await deletion.query('delete from deliveries where id = $1', [idsOf(claimed)[0]]);
      await leases.outbox.release(claimed);
    });
    expect(idsOf(await claim(webhookId))).toEqual([idsOf(claimed)[1]]);
  });

  test('of nothing does nothing', async () => {
    await leases.outbox.release([]);
    expect(await leases.outbox.claim([], CLAIM_LIMITS)).toEqual([]);
  });
});
