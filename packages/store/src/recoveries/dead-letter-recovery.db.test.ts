import { beforeEach, describe, expect, test } from '@jest/globals';
import type { DeadLetterId, EventId, RecoveryId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createOutage } from '../../test/outage.ts';
import type { Outage } from '../../test/outage.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { listAudit } from '../audit/audit.ts';
import { locateDeadLetters } from '../deliveries/find-dead-letters.ts';
import { readEventStory } from '../events/event-story.ts';
import { createRecoveryStore } from './recoveries.ts';
import type { NewRecovery } from './recoveries.ts';
import { createRecoveryWork } from './recovery-work.ts';

/* A recovery of dead letters alone, as `dead-letters replay --rate` starts it. */

const store = setupStore();
let outage: Outage;

beforeEach(async () => {
  await createRows(store.outside).clear();
  outage = await createOutage(store);
});

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const asked = (change: Partial<NewRecovery> = {}): NewRecovery => ({
  since: new Date(0),
  types: [],
  only: 'dead_letters',
  rate: 200,
  ...change,
});

const recoveries = () => createRecoveryStore(store.db, store.clock);

async function count(change: Partial<NewRecovery> = {}, { accountId, webhookId } = outage) {
  return recoveries().count(accountId, webhookId, asked(change));
}

async function started(change: Partial<NewRecovery> = {}): Promise<RecoveryId> {
  const outcome = await recoveries().start(outage.accountId, outage.webhookId, asked(change), ACTOR);
  if (outcome.kind !== 'started') throw new Error(outcome.kind);
  return outcome.id;
}

const read = (id: RecoveryId) => recoveries().find(outage.accountId, outage.webhookId, id);

/** A dead letter that was made so many hours ago. @returns its event */
async function letter(
  ageHours: number,
  { type = 'email.sent', reason = 'attempts_exhausted' } = {},
): Promise<EventId> {
  const eventId = await outage.event();
  await store.outside.query(
    `update dead_letters set created_at = now() - make_interval(secs => $2 * 3600), type = $3, reason = $4::dead_letter_reason
     where event_id = $1`,
    [eventId, ageHours, type, reason],
  );
  return eventId;
}

const lettersLeft = async () =>
  (
    await store.outside.query<{ id: EventId }>('select event_id as id from dead_letters order by created_at')
  ).map(({ id }) => id);

test('a count has the dead letters of the time span, type and reason, and no other webhook’s', async () => {
  await letter(30);
  await letter(20, { type: 'email.bounced' });
  await letter(10, { reason: 'rejected' });
  const sibling = await createOutage(store, { accountId: outage.accountId });
  await sibling.event();
  expect(await count()).toMatchObject({ matched: 3, deadLetters: 3, unknown: 0, hasMore: false });
  expect(await count({ since: hoursAgo(25) })).toMatchObject({ matched: 2 });
  expect(await count({ until: hoursAgo(15) })).toMatchObject({ matched: 2 });
  expect(await count({ types: ['email.bounced'] })).toMatchObject({ matched: 1 });
  expect(await count({ reason: 'rejected' })).toMatchObject({ matched: 1 });
  expect(await count({ types: ['email.bounced'], reason: 'rejected' })).toMatchObject({ matched: 0 });
  const { oldest, newest } = (await count()) ?? {};
  expect([oldest, newest].map((at) => Math.round((Date.now() - Number(at)) / 3_600_000))).toEqual([30, 10]);
});

test('a count ends after a number of dead letters, or when its caller wants no more, and says so', async () => {
  await outage.events(3);
  const counting = (eventsCountedMax: number) =>
    createRecoveryStore(store.db, store.clock, { eventsCountedMax }).count(
      outage.accountId,
      outage.webhookId,
      asked(),
    );
  expect(await counting(2)).toMatchObject({ matched: 2, deadLetters: 2, hasMore: true });
  expect(await counting(3)).toMatchObject({ matched: 3, hasMore: false });
  expect(await count({ mayGoOn: () => false })).toMatchObject({ matched: 0, hasMore: true });
});

test('a count needs a webhook of the account', async () => {
  const other = await createOutage(store);
  expect(await count({}, { ...outage, webhookId: other.webhookId })).toBeNull();
});

test('keeps what was asked for, also in the audit', async () => {
  await letter(1, { reason: 'rejected' });
  const id = await started({ types: ['email.sent'], reason: 'rejected', rate: 7 });
  expect(await read(id)).toMatchObject({
    ...{ only: 'dead_letters', reason: 'rejected', types: ['email.sent'], rate: 7 },
    ...{ since: new Date(0), matched: 1, deadLetters: 1, status: 'running' },
  });
  expect((await listAudit(store.db, {}, { limit: 1 }))?.entries).toMatchObject([
    { action: 'recovery.start', after: { only: 'dead_letters', reason: 'rejected' } },
  ]);
});

describe('a step', () => {
  test('queues a quarter of a second of dead letters, the oldest first, at the rate', async () => {
    const events = [await letter(3), await letter(2), await letter(1)];
    const id = await started({ rate: 8 });
    expect(await outage.step(id)).toEqual({ webhookId: outage.webhookId, queued: 2, ended: null });
    expect(await outage.queued()).toEqual(events.slice(0, 2));
    expect(await lettersLeft()).toEqual(events.slice(2));
    const [gap] = await store.outside.query<{ ms: number }>(
      'select round(extract(epoch from max(due_at) - min(due_at)) * 1000)::int as ms from deliveries',
    );
    expect(gap).toEqual({ ms: 125 });
    await store.outside.query('delete from deliveries');
    expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
    expect(await read(id)).toMatchObject({ status: 'finished', queued: 3, left: 0 });
  });

  test('keeps the last status', async () => {
    await letter(2);
    await letter(1);
    await store.outside.query(
      'update dead_letters set status_code = case when created_at < $1 then 503 end',
      [hoursAgo(1.5)],
    );
    await outage.step(await started());
    const queued = await store.outside.query('select last_status from deliveries order by id');
    expect(queued).toEqual([{ last_status: 503 }, { last_status: null }]);
  });

  test('leaves dead letters of another time, type or reason', async () => {
    const [old, bounced, rejected] = [
      await letter(9),
      await letter(5, { type: 'email.bounced' }),
      await letter(4, { reason: 'rejected' }),
    ];
    const wanted = await letter(3);
    const late = await letter(1);
    const [since, until] = [hoursAgo(8), hoursAgo(2)];
    const id = await started({ since, until, types: ['email.sent'], reason: 'attempts_exhausted' });
    expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
    expect(await outage.queued()).toEqual([wanted]);
    expect(await lettersLeft()).toEqual([old, bounced, rejected, late]);
  });

  test('leaves a dead letter that is made after the count, and another webhook’s', async () => {
    const sibling = await createOutage(store, { accountId: outage.accountId });
    const foreign = await sibling.event();
    const id = await started();
    await letter(-1);
    expect(await outage.step(id)).toMatchObject({ queued: 0, ended: 'finished' });
    expect(await lettersLeft()).toContain(foreign);
    expect(await lettersLeft()).toHaveLength(2);
  });

  test('sends also what is left of an event that retention has deleted', async () => {
    const eventId = await letter(1);
    await store.outside.query('delete from events');
    await outage.step(await started());
    expect(await outage.queued()).toEqual([eventId]);
    expect(await store.outside.query('select id, position from events')).toEqual([
      { id: eventId, position: null },
    ]);
  });

  test('leaves a dead letter that a replay holds, and is not the last step while it does', async () => {
    const [held, free] = [await letter(2), await letter(1)];
    const id = await started();
    await inUndoneTransaction(store.db.pool, async (replay) => {
      await replay.query('select from dead_letters where event_id = $1 for update', [held]);
      expect(await outage.step(id)).toMatchObject({ queued: 1, ended: null });
      expect(await outage.step(id)).toMatchObject({ queued: 0, ended: null });
      expect(await createRecoveryWork(store.db.pool).step(id, 500)).toBeNull(); // it is not due
    });
    expect(await outage.queued()).toEqual([free]);
    expect(await outage.step(id)).toMatchObject({ queued: 1, ended: 'finished' });
    expect(await lettersLeft()).toEqual([]);
  });
});

test('a webhook sends either events or dead letters again', async () => {
  await outage.event();
  const id = await started();
  const { accountId, webhookId } = outage;
  const other = { ...asked(), only: 'all' } as const;
  expect(await recoveries().start(accountId, webhookId, other, ACTOR)).toEqual({ kind: 'running', id });
  expect(await recoveries().running(accountId, webhookId)).toBe(id);
  await recoveries().stop(accountId, webhookId, id, ACTOR);
  expect(await recoveries().running(accountId, webhookId)).toBeNull();
});

test('a dead letter is located by its id, unless its webhook is being removed', async () => {
  const eventId = await outage.event();
  const [row] = await store.outside.query<{ id: DeadLetterId }>('select id from dead_letters');
  const id = row?.id as DeadLetterId;
  const { accountId, webhookId } = outage;
  expect(await locateDeadLetters(store.db, [id, 'dl_none' as DeadLetterId])).toEqual([
    { id, accountId, webhookId },
  ]);
  await store.outside.query('update webhooks set removed_at = now()');
  expect(await locateDeadLetters(store.db, [id])).toEqual([]);
  expect(await lettersLeft()).toEqual([eventId]);
});

test('the story of an event names who sent it again, although it is older than the time span of the letters', async () => {
  const id = await letter(1);
  await store.outside.query(`update events set created_at = now() - interval '3 hours'`);
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, type)
     select created_at, 1, id, $1, 1, 9, 503, type from events`,
    [outage.webhookId],
  );
  const recovery = await started({ since: hoursAgo(2) });
  await outage.step(recovery);
  const story = await readEventStory(store.db, id);
  expect(story?.webhooks).toMatchObject([{ replays: [{ by: { name: ACTOR.name }, target: recovery }] }]);
});
