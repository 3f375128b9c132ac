import { beforeEach, describe, expect, test } from '@jest/globals';
import { inboundSubject, newId } from '@postrider/domain';
import type { RecoveryId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createOutage } from '../../test/outage.ts';
import type { Fate, Outage } from '../../test/outage.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { listAudit } from '../audit/audit.ts';
import { dropExpired } from '../retention/housekeeping.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { createRecoveryStore } from './recoveries.ts';
import type { NewRecovery, RecoveryStore } from './recoveries.ts';

const store = setupStore();
let recoveries: RecoveryStore;
let outage: Outage;

beforeEach(async () => {
  await createRows(store.outside).clear();
  recoveries = createRecoveryStore(store.db, store.clock);
  outage = await createOutage(store);
});

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const asked = (change: Partial<NewRecovery> = {}): NewRecovery => ({
  since: hoursAgo(24),
  types: [],
  only: 'undelivered',
  rate: 200,
  ...change,
});

async function count(change: Partial<NewRecovery> = {}, { accountId, webhookId } = outage) {
  const counted = await recoveries.count(accountId, webhookId, asked(change));
  if (counted === null) throw new Error('no webhook');
  return counted;
}

const start = (change: Partial<NewRecovery> = {}, { accountId, webhookId } = outage) =>
  recoveries.start(accountId, webhookId, asked(change), ACTOR);

async function started(change: Partial<NewRecovery> = {}, of = outage): Promise<RecoveryId> {
  const outcome = await start(change, of);
  if (outcome.kind !== 'started') throw new Error(outcome.kind);
  return outcome.id;
}

const find = (id: RecoveryId) => recoveries.find(outage.accountId, outage.webhookId, id);

describe('a count', () => {
  const FATES: [Fate, undelivered: number, all: number][] = [
    ['queued', 0, 0],
    ['delivered', 0, 1],
    ['dead_letter', 1, 1],
    ['dropped', 1, 1],
    ['never attempted', 1, 1],
  ];
  test.each(FATES)('has of an event that is %s: undelivered %i, all %i', async (fate, undelivered, all) => {
    await outage.event({ fate });
    const letters = fate === 'dead_letter' ? 1 : 0;
    expect(await count()).toMatchObject({ matched: undelivered, deadLetters: letters, unknown: 0 });
    expect(await count({ only: 'all' })).toMatchObject({ matched: all, deadLetters: letters, unknown: 0 });
  });

  test('leaves out undelivered what the log no longer knows, and says how many', async () => {
    await store.outside.query(`select make_attempts_day((now() at time zone 'utc')::date)`);
    await outage.events(2, { fate: 'never attempted', ageHours: 49 });
    await outage.event({ fate: 'dead_letter', ageHours: 49 });
    expect(await count({ since: hoursAgo(72) })).toMatchObject({ matched: 1, unknown: 2 });
    expect(await count({ since: hoursAgo(72), only: 'all' })).toMatchObject({ matched: 3, unknown: 0 });
  });

  test('has the events of the time span, of the types, and none from before the webhook', async () => {
    await outage.event({ ageHours: 24 * 25 });
    await outage.event({ ageHours: 30 });
    await outage.event({ ageHours: 10, type: 'email.bounced' });
    await outage.events(2, { ageHours: 5 });
    expect(await count()).toMatchObject({ matched: 3 });
    expect(await count({ types: ['email.bounced', 'email.opened'] })).toMatchObject({ matched: 1 });
    expect(await count({ until: hoursAgo(8) })).toMatchObject({ matched: 1, until: expect.any(Date) });
    expect(await count({ since: hoursAgo(8) })).toMatchObject({ matched: 2 });
    const all = await count({ since: new Date(0), until: new Date('2999-01-01') });
    expect(all).toMatchObject({ matched: 4 });
    expect(all.since > hoursAgo(24 * 21)).toBe(true);
    expect(all.until).toEqual(all.asOf);
  });

  test('as of an earlier count leaves out what ended since; a moment to come is now', async () => {
    await outage.event({ fate: 'dead_letter', ageHours: 2 });
    const { asOf } = await count();
    await outage.event({ fate: 'dead_letter', ageHours: 2 });
    await store.outside.query(
      `update dead_letters set created_at = clock_timestamp()
       where id = (select max(id) from dead_letters)`,
    );
    expect(await count({ asOf })).toMatchObject({ matched: 1, asOf });
    const later = new Date('2999-01-01');
    expect((await count({ asOf: later })).asOf < later).toBe(true);
    expect(await start({ asOf, expected: 1 })).toMatchObject({ kind: 'started', count: { asOf } });
  });

  test('says when the first and the last of the events were recorded', async () => {
    await outage.event({ ageHours: 9, type: 'email.bounced' });
    await outage.event({ ageHours: 2 });
    await outage.event({ ageHours: 12, fate: 'delivered' });
    const { oldest, newest } = await count();
    expect([oldest, newest].map((at) => Math.round((Date.now() - Number(at)) / 3_600_000))).toEqual([9, 2]);
    expect(await count({ since: hoursAgo(0.1) })).toMatchObject({ matched: 0, oldest: null, newest: null });
  });

  test('has what the webhook takes: neither another account’s events nor what others failed to get', async () => {
    const other = await createOutage(store);
    await other.event();
    const sibling = await createOutage(store, { accountId: outage.accountId });
    const shared = await sibling.event();
    await store.outside.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       values (now(), 1, $1, $2, 1, 1, 200)`,
      [shared, outage.webhookId],
    );
    await store.outside.query(`update webhooks set events = '{email.sent}' where id = $1`, [
      outage.webhookId,
    ]);
    // Today: the attempt log of the test begins today, and nobody knows what became of earlier events.
    await outage.event({ type: 'email.bounced', ageHours: 0.01 });
    expect(await count()).toMatchObject({ matched: 0 });
    expect(await count({}, sibling)).toMatchObject({ matched: 2, deadLetters: 1 });
  });

  test('has for the webhook of a routing rule the messages of that rule', async () => {
    const ofRule = await createOutage(store, { subject: inboundSubject(outage.accountId, 'rt_1') });
    await ofRule.event({ type: 'message.received', data: { id: 'msg_1', rule_id: 'rt_1' } });
    await ofRule.event({ type: 'message.received', data: { id: 'msg_2', rule_id: 'rt_2' } });
    expect(await count({}, ofRule)).toMatchObject({ matched: 1 });
  });

  test('has for a webhook with domains the events of these domains', async () => {
    await store.outside.query(`update webhooks set domains = '{a.example}'`);
    await outage.event({ type: 'message.received', data: { id: 'msg_1', received_for: ['x@A.example'] } });
    await outage.event({ type: 'message.received', data: { id: 'msg_2', received_for: ['x@b.example'] } });
    expect(await count()).toMatchObject({ matched: 1 });
    const id = await started();
    expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
  });

  test('ends after a number of events, and says so', async () => {
    await outage.events(3, { fate: 'delivered' });
    await outage.events(3);
    const few = createRecoveryStore(store.db, store.clock, { eventsCountedMax: 5 });
    const { accountId, webhookId } = outage;
    expect(await few.count(accountId, webhookId, asked())).toMatchObject({ matched: 2, hasMore: true });
    const enough = createRecoveryStore(store.db, store.clock, { eventsCountedMax: 7 });
    expect(await enough.count(accountId, webhookId, asked())).toMatchObject({ matched: 3, hasMore: false });
  });
});

test('events of a process whose clock is twelve minutes ahead are counted and sent', async () => {
  const event = await outage.event({ fate: 'never attempted', ageHours: -0.2 });
  expect(await count({ until: hoursAgo(0.01) })).toMatchObject({ matched: 0 });
  const { asOf } = await count();
  expect(await count({ asOf })).toMatchObject({ matched: 1, until: asOf });
  const id = await started();
  expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
  expect(await outage.queued()).toEqual([event]);
});

test('a count ends before the next page when its caller wants no more, and says so', async () => {
  await outage.events(2);
  await outage.events(2, { type: 'email.bounced' });
  // Each type has a page of its own.
  const counted = async (pages: number) =>
    count({ types: ['email.sent', 'email.bounced'], mayGoOn: () => (pages -= 1) >= 0 });
  expect(await counted(1)).toMatchObject({ matched: 2, hasMore: true });
  expect(await counted(2)).toMatchObject({ matched: 4, hasMore: false });
});

describe('a start', () => {
  test('keeps what was asked for and counted', async () => {
    await outage.events(2);
    const [since, until] = [hoursAgo(24), hoursAgo(0.5)];
    const outcome = await start({ since, until, types: ['email.sent'], rate: 7 });
    expect(outcome).toMatchObject({ kind: 'started', count: { matched: 2, deadLetters: 2 } });
    expect(await find((outcome as { id: RecoveryId }).id)).toEqual({
      id: expect.stringMatching(/^rec_/),
      webhookId: outage.webhookId,
      status: 'running',
      ...{ since, until, types: ['email.sent'], only: 'undelivered', reason: null, rate: 7 },
      ...{ matched: 2, deadLetters: 2, hasMore: false, left: 2 },
      ...{ queued: 0, delivered: 0, failed: 0, inProgress: 0 },
      createdAt: expect.any(Date),
      endedAt: null,
    });
  });

  test('starts nothing when another number of events matches than is expected', async () => {
    await outage.events(2);
    expect(await start({ expected: 3 })).toMatchObject({ kind: 'changed', count: { matched: 2 } });
    expect(await store.outside.query('select from recoveries')).toEqual([]);
    expect(await start({ expected: 2 })).toMatchObject({ kind: 'started' });
  });

  test('of several at once, one starts; the others name it', async () => {
    await outage.event();
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => start()));
    const ids = new Set(outcomes.map((outcome) => (outcome as { id: RecoveryId }).id));
    expect(ids.size).toBe(1);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual([...Array<string>(4).fill('running'), 'started']);
    const other = await createOutage(store, { accountId: outage.accountId });
    expect(await start({}, other)).toMatchObject({ kind: 'started' });
  });

  test('waits for a DELETE of the webhook that is running, and finds no webhook', async () => {
    const outcome = await inUndoneTransaction(store.db.pool, async (removal) => {
      await removal.query('delete from webhooks where id = $1', [outage.webhookId]);
      const starting = start();
      starting.catch(() => undefined);
      await untilWaitingForLock(store.outside);
      await removal.query('commit');
      return starting;
    });
    expect(outcome).toEqual({ kind: 'no webhook' });
    expect(await store.outside.query('select from recoveries')).toEqual([]);
  });

  test('needs a webhook of the account that is not being removed', async () => {
    const { accountId, webhookId } = await createOutage(store);
    expect(await start({}, { ...outage, webhookId })).toEqual({ kind: 'no webhook' });
    expect(await recoveries.count(outage.accountId, webhookId, asked())).toBeNull();
    await store.outside.query('update webhooks set removed_at = now()');
    expect(await recoveries.start(accountId, webhookId, asked(), ACTOR)).toEqual({ kind: 'no webhook' });
    expect(await store.outside.query('select from recoveries')).toEqual([]);
  });
});

describe('a stop', () => {
  test('ends a recovery, once; what is left stays', async () => {
    await outage.events(2);
    const id = await started();
    const { accountId, webhookId } = outage;
    const stopped = await recoveries.stop(accountId, webhookId, id, ACTOR);
    expect(stopped).toMatchObject({ status: 'stopped', left: 2, endedAt: expect.any(Date) });
    expect(await recoveries.stop(accountId, webhookId, id, ACTOR)).toEqual(stopped);
    expect(await outage.step(id)).toBeNull();
    expect(await outage.queued()).toEqual([]);
    expect(await start()).toMatchObject({ kind: 'started' });
  });

  test('leaves a finished recovery finished', async () => {
    await outage.event();
    const id = await started();
    await outage.step(id);
    expect(await recoveries.stop(outage.accountId, outage.webhookId, id, ACTOR)).toMatchObject({
      status: 'finished',
    });
  });
});

test('another account, and another webhook, have not this recovery', async () => {
  const id = await started();
  const [other, sibling] = [
    await createOutage(store),
    await createOutage(store, { accountId: outage.accountId }),
  ];
  for (const [accountId, webhookId] of [
    [other.accountId, outage.webhookId],
    [other.accountId, other.webhookId],
    [sibling.accountId, sibling.webhookId],
  ] as const) {
    expect(await recoveries.find(accountId, webhookId, id)).toBeNull();
    expect(await recoveries.stop(accountId, webhookId, id, ACTOR)).toBeNull();
    expect(await recoveries.running(accountId, webhookId)).toBeNull();
    expect(await recoveries.list(accountId, webhookId, { after: id, limit: 1 })).toMatch(/^no /);
  }
  expect(await recoveries.list(other.accountId, outage.webhookId, { limit: 1 })).toBe('no webhook');
  expect(await recoveries.list(outage.accountId, sibling.webhookId, { limit: 9 })).toMatchObject({
    entries: [],
  });
  expect(await find(id)).toMatchObject({ status: 'running' });
});

test('the list has the newest first, page by page', async () => {
  const ids: RecoveryId[] = [];
  for (let n = 0; n < 3; n += 1) {
    const id = await started();
    await recoveries.stop(outage.accountId, outage.webhookId, id, ACTOR);
    ids.unshift(id);
  }
  const list = (after?: RecoveryId) =>
    recoveries.list(outage.accountId, outage.webhookId, { limit: 2, ...(after && { after }) });
  const page = await list();
  expect(page).toMatchObject({ hasMore: true, entries: ids.slice(0, 2).map((id) => ({ id })) });
  expect(await list(ids[1])).toMatchObject({ hasMore: false, entries: [{ id: ids[2] }] });
  expect(await list(newId('recovery', store.clock))).toBe('no cursor');
});

test('the audit has who started and who stopped it, and nothing of what changed nothing', async () => {
  await outage.events(2);
  await start({ expected: 7 });
  const id = await started({ types: ['email.sent'], rate: 5 });
  await start();
  const { accountId, webhookId } = outage;
  for (let n = 0; n < 2; n += 1)
    await recoveries.stop(accountId, webhookId, id, { kind: 'console', name: 'ada' });
  const shared = { accountId, webhookId, target: id };
  const asked = { types: ['email.sent'], only: 'undelivered', rate: 5, dead_letters: 2 };
  expect((await listAudit(store.db, {}, { limit: 9 }))?.entries).toMatchObject([
    { ...shared, action: 'recovery.stop', actor: 'ada', count: 1, before: { queued: 0 } },
    { ...shared, action: 'recovery.start', actor: 'test', count: 2, after: asked },
  ]);
});

test('a deleted webhook has no recoveries', async () => {
  const id = await started();
  await createWebhookStore(store.db, store.secrets, store.clock).delete(
    outage.accountId,
    outage.webhookId,
    ACTOR,
  );
  expect(await find(id)).toBeNull();
});

test('housekeeping deletes recoveries and outcomes 90 days after they ended, and none that runs', async () => {
  const insert = (id: string, ended: string) =>
    store.outside.query(
      `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters,
                               has_more, position, last_position, created_at, ended_at)
       values ($1, 'a', $1, now(), now(), '{}', true, 1, 0, 0, false, 0, 0, now() - interval '200 days', ${ended})`,
      [id],
    );
  await insert('rec_old', `now() - interval '91 days'`);
  await insert('rec_new', `now() - interval '89 days'`);
  await insert('rec_running', 'null');
  await store.outside.query(
    `insert into recovery_outcomes values ('rec_old', 1, 0, now() - interval '91 days'), ('rec_new', 1, 0, now())`,
  );
  expect(await dropExpired(store.db.pool)).toBe(2);
  const left = await store.outside.query('select id from recoveries order by id');
  expect(left).toEqual([{ id: 'rec_new' }, { id: 'rec_running' }]);
  expect(await store.outside.query('select recovery_id from recovery_outcomes')).toEqual([
    { recovery_id: 'rec_new' },
  ]);
});
