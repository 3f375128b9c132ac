import { beforeEach, describe, expect, test } from '@jest/globals';
import { inboundSubject, newId, notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, EventId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
import { endDeliveries, sendMail } from '../../test/ended-mail.ts';
import { setupStore } from '../../test/open-store.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import type { Actor } from '../audit/audit.ts';
import { createRecoveryStore } from '../recoveries/recoveries.ts';
import type { NewRecovery } from '../recoveries/recoveries.ts';
import { createDeadLetterStore } from '../deliveries/dead-letters.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { readEventStory } from './event-story.ts';
import type { EventStory, StoryWebhook } from './event-story.ts';
import { createWebhookEventStore } from './webhook-events.ts';

const store = setupStore();
const rows = () => createRows(store.outside);
let accountId: AccountId;

beforeEach(async () => {
  await rows().clear();
  accountId = await store.newAccount();
});

/** A webhook that is older than every event. */
async function webhook(wish: { accountId?: AccountId; subject?: string; events?: string[] } = {}) {
  const id = await rows().webhook({ accountId, ...wish });
  await store.outside.query(`update webhooks set created_at = '2001-01-01' where id = $1`, [id]);
  return id;
}

/** An `email.unsubscribed` of the account, with its deliveries. */
async function recorded(address = 'bob@b.example'): Promise<EventId> {
  await createSuppressionStore(store.db, store.clock).add(accountId, [address]);
  const [row] = await store.outside.query<{ id: EventId }>('select id from events order by position desc');
  if (row === undefined) throw new Error('no event');
  return row.id;
}

/** Records that the message bounced at the address, which is suppressed then. */
async function bounced(emailId: EmailId, address: string): Promise<void> {
  await createProviderNotificationStore(store.db, store.clock).record({
    ...{ emailId, providerMessageId: null, writtenEmailId: null },
    notificationId: newId('event', store.clock),
    suppress: [{ address, reason: 'bounce' }],
    event: {
      ...{ type: 'email.bounced', recipients: [address] },
      occurredAt: store.clock.now().toISOString(),
      detail: notificationDetailOf({}),
    },
  });
}

async function storyOf(id: EventId): Promise<EventStory> {
  const story = await readEventStory(store.db, id);
  if (story === null) throw new Error('no story');
  return story;
}

async function partOf(id: EventId, webhookId: WebhookId): Promise<StoryWebhook> {
  const part = (await storyOf(id)).webhooks.find((each) => each.webhookId === webhookId);
  if (part === undefined) throw new Error('the webhook is not in the story');
  return part;
}

/** An attempt of a delivery that began so long after the event. */
async function log(
  eventId: EventId,
  webhookId: WebhookId,
  { delivery = 1, attempt = 1, seconds = 0, status = 503 as number | null, answer = 'Bad' },
) {
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error, answer, type)
     select created_at + make_interval(secs => $5), $3, id, $2, $4, 41, $6::smallint, case when $6 = 200 then null else 'HTTP ' || $6 end, $7, type
     from events where id = $1`,
    [eventId, webhookId, delivery, attempt, seconds, status, Buffer.from(answer)],
  );
}

describe('an event at a webhook', () => {
  test('waits, is retried, and becomes a dead letter, each with the attempts so far', async () => {
    const webhookId = await webhook();
    const id = await recorded();
    expect(await partOf(id, webhookId)).toMatchObject({
      fate: 'waiting',
      status: 'pending',
      attempts: 0,
      endpoint: 'https://hooks.example/in',
      attemptsByDelivery: [],
      deadLetter: null,
    });
    await store.outside.query(`update deliveries set attempts = 1, due_at = '2026-03-01T13:00:00Z'`);
    await log(id, webhookId, { seconds: 1 });
    expect(await partOf(id, webhookId)).toMatchObject({
      fate: 'retrying',
      status: 'attempting',
      attempts: 1,
      nextAttemptAt: new Date('2026-03-01T13:00:00Z'),
      attemptsByDelivery: [[{ attempt: 1, durationMs: 41, statusCode: 503, error: 'HTTP 503' }]],
    });
    await endDeliveries(store, webhookId, 'dead');
    const dead = await partOf(id, webhookId);
    expect(dead).toMatchObject({ fate: 'dead_letter', status: 'failed' });
    expect(dead.deadLetter).toMatchObject({
      id: dead.deadLetterId,
      reason: 'rejected',
      lastError: 'HTTP 410',
    });
  });

  test('has the attempts of each delivery apart, in their order, with the answers', async () => {
    const [webhookId, other] = [await webhook(), await webhook()];
    const id = await recorded();
    await store.outside.query('delete from deliveries');
    for (const attempt of [2, 1]) await log(id, webhookId, { delivery: 7, attempt, seconds: attempt });
    await log(id, webhookId, { delivery: 9, seconds: 60, status: 200, answer: '{"ok":true}' });
    await log(id, other, { delivery: 8, seconds: 3, status: null });
    const part = await partOf(id, webhookId);
    expect(part).toMatchObject({ fate: 'delivered', status: 'success', attempts: 3 });
    expect(
      part.attemptsByDelivery.map((series) => series.map(({ attempt, statusCode }) => [attempt, statusCode])),
    ).toEqual([[[1, 503], [2, 503]], [[1, 200]]]); // oxfmt-ignore
    expect(part.attemptsByDelivery[1]?.[0]?.answer?.toString()).toBe('{"ok":true}');
    expect(await partOf(id, other)).toMatchObject({
      fate: 'dropped',
      attemptsByDelivery: [[{ attempt: 1 }]],
    });
  });

  test('is told of a deleted webhook as long as an attempt is logged, without an endpoint', async () => {
    const webhookId = await webhook();
    const id = await recorded();
    await log(id, webhookId, {});
    await store.outside.query('delete from webhooks');
    await store.outside.query('delete from deliveries');
    expect(await partOf(id, webhookId)).toMatchObject({
      fate: 'dropped',
      endpoint: null,
      failingSince: null,
    });
  });

  test('is dropped without a row, and unknown when it is older than the log of attempts', async () => {
    const webhookId = await webhook();
    const id = await recorded();
    await store.outside.query('delete from deliveries');
    expect(await partOf(id, webhookId)).toMatchObject({ fate: 'dropped', status: 'failed' });
    await store.outside.query(
      `create table attempts_29990302 partition of attempts for values from ('2999-03-02Z') to ('2999-03-03Z')`,
    );
    expect(await partOf(id, webhookId)).toMatchObject({ fate: 'attempts_expired', status: 'success' });
    await store.outside.query('drop table attempts_29990302');
  });
});

describe('the webhooks of a story', () => {
  test('are those that match: by account, type, time and routing rule', async () => {
    const matching = [await webhook(), await webhook({ events: ['email.unsubscribed'] })];
    await webhook({ accountId: await store.newAccount() });
    await webhook({ events: ['email.sent'] });
    await webhook({ subject: inboundSubject(accountId, 'rt_1') });
    const id = await recorded();
    await store.outside.query('delete from deliveries');
    await rows().webhook({ accountId }); // made after the event
    const removed = await webhook();
    await store.outside.query('update webhooks set removed_at = now() where id = $1', [removed]);
    expect((await storyOf(id)).webhooks.map(({ webhookId }) => webhookId).sort()).toEqual(matching.sort());
  });

  test('are none when none matched', async () => {
    expect((await storyOf(await recorded())).webhooks).toEqual([]);
  });

  test('stand with what is outstanding first, then what a person must look at', async () => {
    const [delivered, dropped, dead, waiting, late, early] = [
      await webhook(),
      await webhook(),
      await webhook(),
      await webhook(),
      await webhook(),
      await webhook(),
    ];
    const id = await recorded();
    await store.outside.query(`update deliveries set attempts = 1 where webhook_id = any ($1)`, [
      [late, early],
    ]);
    await log(id, late, { delivery: 1, seconds: 9 });
    await log(id, early, { delivery: 2, seconds: 3 });
    await endDeliveries(store, dead, 'dead');
    await store.outside.query(`delete from deliveries where webhook_id = any ($1)`, [[delivered, dropped]]);
    await log(id, delivered, { delivery: 3, status: 200 });
    const { webhooks } = await storyOf(id);
    expect(webhooks.map(({ webhookId }) => webhookId)).toEqual([
      early,
      late,
      waiting,
      dead,
      dropped,
      delivered,
    ]);
  });
});

describe('the cause in a story', () => {
  test('is the message, with who sent it, and what was suppressed because of it', async () => {
    const emailId = await sendMail(store, accountId, { to: ['Bob <bob@b.example>', 'eve@b.example'] });
    await store.outside.query(`update emails set api_key_id = 'key_1', request_id = 'req-1'`);
    await bounced(emailId, 'bob@b.example');
    await createSuppressionStore(store.db, store.clock).add(accountId, ['eve@b.example']);
    const [event] = await store.outside.query<{ id: EventId }>(
      `select id from events where type = 'email.bounced'`,
    );
    const story = await storyOf(event?.id as EventId);
    expect(story).toMatchObject({
      event: { type: 'email.bounced', accountId, isCopy: false },
      email: {
        id: emailId,
        accountId,
        apiKeyId: 'key_1',
        requestId: 'req-1',
        kind: 'live',
        lastEvent: 'bounced',
      },
      message: null,
      suppressions: [{ address: 'bob@b.example', origin: 'bounce' }],
      lacksAttempts: false,
    });
    expect(story.suppressions).toHaveLength(1);
  });

  test('is the received message, and nothing once it is deleted', async () => {
    const message = await rows().message({ accountId });
    const id = await rows().event({ accountId });
    await store.outside.query(
      `update events set type = 'message.received', data = json_build_object('object', 'message', 'id', $2::text)::text where id = $1`,
      [id, message],
    );
    expect(await storyOf(id)).toMatchObject({
      email: null,
      message: { id: message, accountId },
      suppressions: [],
    });
    await store.outside.query('delete from messages');
    expect(await storyOf(id)).toMatchObject({ email: null, message: null });
  });
});

test('an event that retention dropped is told by the copy in its dead letter', async () => {
  const webhookId = await webhook();
  const id = await recorded();
  const before = (await storyOf(id)).event;
  await endDeliveries(store, webhookId, 'dead');
  await store.outside.query('delete from events');
  const story = await storyOf(id);
  expect(story.event).toEqual({ ...before, isCopy: true });
  expect(story.webhooks).toMatchObject([{ webhookId, fate: 'dead_letter' }]);
});

test('an unknown event has no story', async () => {
  expect(await readEventStory(store.db, newId('event', store.clock))).toBeNull();
});

test('a story has the newest 1,000 attempts, and says that it lacks some', async () => {
  const webhookId = await webhook();
  const id = await recorded();
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     select created_at + n * interval '1 s', n, id, $1, 1, 1, 503 from events, generate_series(1, 1001) n`,
    [webhookId],
  );
  const story = await storyOf(id);
  expect(story.lacksAttempts).toBe(true);
  const deliveries = story.webhooks[0]?.attemptsByDelivery ?? [];
  expect(deliveries).toHaveLength(1_000);
  expect(deliveries[0]?.[0]?.startedAt.getTime()).toBe(story.event.createdAt.getTime() + 2_000);
});

test('a replay begins a new delivery in the story of its event', async () => {
  const webhookId = await webhook();
  const id = await recorded();
  await endDeliveries(store, webhookId, 'dead');
  await createWebhookEventStore(store.db).replay(accountId, webhookId, id, ACTOR);
  await endDeliveries(store, webhookId, 'dead');
  expect((await partOf(id, webhookId)).attemptsByDelivery).toHaveLength(2);
});

describe('the replays in a story', () => {
  const ADA = { kind: 'console', name: 'ada', note: 'ticket 7' } as const;
  const BEN = { kind: 'cli', name: 'ben' } as const;

  test('name who replayed this event at this webhook, and the dead letter that went', async () => {
    const [webhookId, other] = [await webhook(), await webhook()];
    const [id, another] = [await recorded('a@b.example'), await recorded('b@b.example')];
    for (const each of [webhookId, other]) await endDeliveries(store, each, 'dead');
    const letter = (await partOf(id, webhookId)).deadLetterId;
    const events = createWebhookEventStore(store.db);
    await events.replay(accountId, webhookId, id, ADA);
    await events.replay(accountId, webhookId, another, BEN);
    await events.replay(accountId, other, another, BEN);
    const { replays } = await partOf(id, webhookId);
    expect(replays).toMatchObject([
      {
        by: { kind: 'console', name: 'ada' },
        note: 'ticket 7',
        isOfMany: false,
        target: id,
        deadLetter: { id: letter, reason: 'rejected', lastError: 'HTTP 410' },
      },
    ]);
    expect((await partOf(id, other)).replays).toEqual([]);
  });

  test('name who replayed many, between the deliveries that it lies between', async () => {
    const [webhookId, other] = [await webhook(), await webhook()];
    const id = await recorded();
    await store.outside.query('update events set created_at = now()');
    for (const each of [webhookId, other]) await endDeliveries(store, each, 'dead');
    await store.outside.query(
      `insert into audit (actor_kind, actor, action, target, webhook_id, count, created_at)
       values ('cli', 'eve', 'key.revoke', $1, $1, 9, now()), ('cli', 'eve', 'dead-letters.replay', $2, $2, 9, now())`,
      [webhookId, other],
    );
    expect((await partOf(id, webhookId)).replays).toEqual([]);
    await createDeadLetterStore(store.db).replayMatching(accountId, { webhookId }, BEN);
    expect(await partOf(id, webhookId)).toMatchObject({
      fate: 'waiting',
      replays: [
        { by: { kind: 'cli', name: 'ben' }, note: null, target: webhookId, isOfMany: true, deadLetter: null },
      ],
    });
    await endDeliveries(store, webhookId, 'dead');
    expect((await partOf(id, webhookId)).replays).toHaveLength(1);
    expect((await partOf(id, other)).replays).toEqual([]);
  });

  test('name who started a recovery, also of one event, and not one of other events', async () => {
    const webhookId = await webhook();
    const id = await recorded();
    await store.outside.query('update events set created_at = now()');
    await endDeliveries(store, webhookId, 'dead');
    const recoveries = createRecoveryStore(store.db, store.clock);
    const recover = async (change: Partial<NewRecovery>, by: Actor) => {
      const asked = { since: new Date(0), types: [], only: 'undelivered', rate: 200, ...change } as const;
      const outcome = await recoveries.start(accountId, webhookId, asked, by);
      if (outcome.kind !== 'started') throw new Error(outcome.kind);
      await store.outside.query('update recoveries set ended_at = now(), queued = 1 where id = $1', [
        outcome.id,
      ]);
      return outcome.id;
    };
    const stopped = await recover({}, BEN);
    await store.outside.query('update recoveries set queued = 0 where id = $1', [stopped]);
    const recovery = await recover({}, ADA);
    await recover({ types: ['email.opened'] }, BEN);
    await recover({ until: new Date(1) }, BEN);
    await recover({ since: new Date() }, BEN);
    await log(id, webhookId, { delivery: 9, seconds: 9_000, status: 200 });
    expect((await partOf(id, webhookId)).replays).toEqual([
      {
        ...{ at: expect.any(Date), by: expect.objectContaining({ kind: 'console', name: 'ada' }) },
        ...{ note: 'ticket 7', target: recovery, isOfMany: false, deadLetter: null },
      },
    ]);
  });
});

test('each pause between deliveries has the replay in it: that of the event, else that of many', async () => {
  const [webhookId, other] = [await webhook(), await webhook()];
  const id = await recorded();
  await store.outside.query('delete from deliveries');
  const starts = [[7, 1, 0], [7, 2, 30], [8, 1, 600], [9, 1, 1200]] as const; // oxfmt-ignore
  for (const [delivery, attempt, seconds] of starts) {
    for (const each of [webhookId, other]) await log(id, each, { delivery, attempt, seconds });
  }
  /** @param letters of a replay: which dead letters it took */
  const act = (
    actor: string,
    action: string,
    target: string,
    seconds: number,
    of = webhookId,
    letters = {},
  ) =>
    store.outside.query(
      `insert into audit (actor_kind, actor, action, target, webhook_id, count, created_at, before)
       select 'cli', $1, $2, $3, $4, case $2 when 'event.replay' then 1 else 9 end, created_at + make_interval(secs => $5),
              case $2 when 'dead-letters.replay' then $7::json end
       from events where id = $6`,
      [actor, action, target, of, seconds, id, { dead_letters: letters }],
    );
  await act('before the event', 'event.replay', id, -10);
  await act('during a delivery', 'dead-letters.replay', webhookId, 10);
  await act('replays another type', 'dead-letters.replay', webhookId, 290, webhookId, { type: 'email.sent' });
  await act('replays older', 'dead-letters.replay', webhookId, 295, webhookId, { newest: '2020-01-01' });
  await act('replays many', 'dead-letters.replay', webhookId, 300, webhookId, { type: 'email.unsubscribed' });
  await act('replays many later', 'dead-letters.replay', webhookId, 310);
  await act('stops', 'recovery.stop', webhookId, 400);
  await act('does something else', 'message.release', id, 700);
  await act('replays it', 'event.replay', id, 900);
  await act('replays others', 'dead-letters.replay', webhookId, 950);
  await act('after all', 'dead-letters.replay', webhookId, 5_000);
  await act('replays many of the other', 'dead-letters.replay', other, 300, other);
  const replays = async (of: WebhookId) =>
    (await partOf(id, of)).replays.map(({ by: { name }, isOfMany }) => [name, isOfMany]);
  expect(await replays(webhookId)).toEqual([['replays many', true], ['replays it', false]]); // oxfmt-ignore
  expect(await replays(other)).toEqual([['replays many of the other', true]]);
});

test('a story has the suppressions and the dead letters of its own event only', async () => {
  const [webhookId, stranger] = [await webhook(), await store.newAccount()];
  const to = ['bob@b.example', 'ann@b.example'];
  const emailId = await sendMail(store, accountId, { to });
  for (const address of to) await bounced(emailId, address);
  await createSuppressionStore(store.db, store.clock).add(stranger, ['bob@b.example']);
  await store.outside.query('update suppressions set email_id = $1 where account_id = $2', [
    emailId,
    stranger,
  ]);
  await endDeliveries(store, webhookId, 'dead');
  const events = await store.outside.query<{ id: EventId }>(
    `select id from events where type = 'email.bounced' order by position`,
  );
  expect(events).toHaveLength(2);
  for (const [n, { id }] of events.entries()) {
    const story = await storyOf(id);
    expect(story.suppressions.map(({ address }) => address)).toEqual([to[n]]);
    const [letter] = await store.outside.query('select id from dead_letters where event_id = $1', [id]);
    expect(story.webhooks[0]?.deadLetter?.id).toBe(letter?.['id']);
    expect(story.webhooks[0]?.attemptsByDelivery.flat()).toHaveLength(1);
  }
});
