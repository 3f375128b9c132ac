import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, EventId, EventType, MessageId, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { endDeliveries, sendMail } from '../../test/ended-mail.ts';
import { setupStore } from '../../test/open-store.ts';
import { recipientKey, textKey } from '../db/sql/event-ctes.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { searchEvents } from './find-events.ts';
import type { EventSearch, FoundEventFilter } from './find-events.ts';

const store = setupStore();
const rows = () => createRows(store.outside);
let acme: AccountId;
let other: AccountId;

beforeEach(async () => {
  await rows().clear();
  acme = await store.newAccount();
  other = await store.newAccount();
});

async function send(to: string[], of = acme): Promise<EmailId> {
  store.clock.advance(1_000);
  return sendMail(store, of, { to });
}

async function report(emailId: EmailId, type: 'email.delivered' | 'email.opened', recipients: string[]) {
  store.clock.advance(1_000);
  const occurredAt = store.clock.now().toISOString();
  const ids = {
    notificationId: newId('event', store.clock),
    emailId,
    providerMessageId: null,
    writtenEmailId: null,
  };
  const event = { type, recipients, occurredAt, detail: notificationDetailOf({}) } as const;
  await createProviderNotificationStore(store.db, store.clock).record({ ...ids, suppress: [], event });
}

/** Moves `email.delivered` a second back, so that no other event has its time. */
async function dateDelivered(): Promise<void> {
  await store.outside.query(
    `update events set created_at = created_at - interval '1 s' where type = 'email.delivered'`,
  );
}

const search = async (by: EventSearch, filter: FoundEventFilter = {}, limit = 100) =>
  (await searchEvents(store.db, by, filter, limit)).events;

/** The types of the found events, each with the message that it is about. */
async function found(by: EventSearch, filter: FoundEventFilter = {}, limit = 100) {
  return (await search(by, filter, limit)).map(({ type, emailId }) => [type, emailId]);
}

async function positionOf(event: { readonly id: EventId } | undefined): Promise<bigint> {
  const sql = 'select position::text as position from events where id = $1';
  const [row] = await store.outside.query<{ position: string }>(sql, [event?.id]);
  return BigInt(row?.position ?? -1);
}

/** Adds a `message.received` of this message, for this recipient. */
async function receivedEvent(
  of: AccountId,
  message: MessageId,
  recipient = 'a@in.example',
): Promise<EventId> {
  const id = await rows().event({ accountId: of });
  await store.outside.query(
    `update events set type = 'message.received', data = '{"object":"message","id":"' || $2 || '"}', created_at = $3,
            recipients = array[${recipientKey('account_id', '$4::text')}]
     where id = $1`,
    [id, message, store.clock.now(), recipient],
  );
  return id;
}

describe('events', () => {
  test('of a message are those about it, the newest first', async () => {
    const [mine, another] = [await send(['bob@b.example']), await send(['bob@b.example'])];
    await report(mine, 'email.delivered', ['bob@b.example']);
    await report(another, 'email.delivered', ['bob@b.example']);
    await report(mine, 'email.opened', ['bob@b.example']);
    const by = { by: 'email', id: mine } as const;
    expect(await found(by)).toEqual([['email.opened', mine], ['email.delivered', mine]]); // oxfmt-ignore
    expect(await found(by, {}, 1)).toEqual([['email.opened', mine]]);
  });

  test('of a recipient are those of every account that wrote to it, or suppresses it', async () => {
    const [mine, theirs] = [
      await send(['ada@a.example', 'bob@b.example']),
      await send(['bob@b.example'], other),
    ];
    await report(mine, 'email.delivered', ['ada@a.example', 'bob@b.example']);
    await report(mine, 'email.opened', ['ada@a.example']);
    await report(theirs, 'email.delivered', ['bob@b.example']);
    const third = await store.newAccount();
    await createSuppressionStore(store.db, store.clock).add(third, ['bob@b.example', 'eve@b.example']);
    const by = { by: 'address', address: 'bob@b.example' } as const;
    const all = await search(by);
    expect(all.map(({ type, accountId }) => [type, accountId])).toEqual([
      ['email.unsubscribed', third],
      ['email.delivered', other],
      ['email.delivered', acme],
    ]);
    expect(await found(by, { accountId: acme })).toEqual([['email.delivered', mine]]);
    expect(await found({ by: 'address', address: 'nobody@b.example' })).toEqual([]);
  });

  test('of a Message-ID are those of the sent and of the received message', async () => {
    const mine = await send(['bob@b.example']);
    await report(mine, 'email.delivered', ['bob@b.example']);
    const received = await rows().message({ accountId: acme });
    await rows().message({ accountId: acme });
    await receivedEvent(acme, received);
    expect(await found({ by: 'messageId', messageId: `${mine}@a.example` })).toEqual([
      ['email.delivered', mine],
    ]);
    expect(await found({ by: 'messageId', messageId: `${received}@mail.example` })).toEqual([
      ['message.received', null],
    ]);
    expect(await found({ by: 'messageId', messageId: 'x@mail.example' })).toEqual([]);
  });

  test('of a request are those of all of its mail', async () => {
    const [one, two, another] = [
      await send(['a@b.example']),
      await send(['b@b.example']),
      await send(['c@b.example']),
    ];
    await store.outside.query(`update emails set request_id = 'req-1' where id = any ($1)`, [[one, two]]);
    for (const id of [one, two, another]) await report(id, 'email.delivered', ['a@b.example']);
    const by = { by: 'request', requestId: 'req-1' } as const;
    expect(await found(by)).toEqual([['email.delivered', two], ['email.delivered', one]]); // oxfmt-ignore
    expect(await found({ by: 'request', requestId: 'req-2' })).toEqual([]);
  });

  test('are narrowed by account, type and time, whatever they are found by', async () => {
    const mine = await send(['bob@b.example', 'eve@b.example']);
    await report(mine, 'email.delivered', ['bob@b.example', 'eve@b.example']);
    await report(mine, 'email.opened', ['bob@b.example', 'eve@b.example']);
    await store.outside.query(`update emails set request_id = 'req-1'`);
    await dateDelivered();
    const [opened] = await search({ by: 'email', id: mine });
    if (opened === undefined) throw new Error('no event');
    const searches: EventSearch[] = [
      { by: 'email', id: mine },
      { by: 'address', address: 'bob@b.example' },
      { by: 'address', address: 'eve@b.example' },
      { by: 'messageId', messageId: `${mine}@a.example` },
      { by: 'request', requestId: 'req-1' },
    ];
    const types = async (by: EventSearch, filter: FoundEventFilter) =>
      (await search(by, filter)).map(({ type }): EventType => type);
    const later = opened.createdAt;
    for (const by of searches) {
      expect(await types(by, {})).toEqual(['email.opened', 'email.delivered']);
      expect(await types(by, { accountId: acme, type: 'email.opened' })).toEqual(['email.opened']);
      expect(await types(by, { accountId: other })).toEqual([]);
      expect(await types(by, { since: later })).toEqual(['email.opened']);
      expect(await types(by, { until: later })).toEqual(['email.delivered']);
      expect((await search(by, {}, 1)).map(({ type }) => type)).toEqual(['email.opened']);
    }
    const byId = { by: 'event', id: opened.id } as const;
    expect(await search(byId)).toEqual([opened]);
    const { createdAt } = opened;
    const after = new Date(createdAt.getTime() + 1);
    for (const filter of [
      { accountId: other },
      { type: 'email.sent' },
      { until: createdAt },
      { since: after },
    ] as const) {
      expect(await search(byId, filter)).toEqual([]);
    }
    expect(await search(byId, { since: createdAt, until: after })).toEqual([opened]);
    expect(await types(byId, { since: later, accountId: acme, type: 'email.opened' })).toEqual([
      'email.opened',
    ]);
    expect(await search({ by: 'event', id: newId('event', store.clock) })).toEqual([]);
  });
});

test('events of a webhook come with what became of them, and a status narrows them to that webhook', async () => {
  const [webhookId, second] = [
    await rows().webhook({ accountId: acme }),
    await rows().webhook({ accountId: acme }),
  ];
  await store.outside.query(`update webhooks set created_at = '2001-01-01'`);
  const mine = await send(['bob@b.example']);
  await report(mine, 'email.delivered', ['bob@b.example']);
  await endDeliveries(store, second, 'dead');
  await report(mine, 'email.opened', ['bob@b.example']);
  await dateDelivered();
  const by = { by: 'webhook', id: second, accountId: acme } as const;
  const types = async (filter: FoundEventFilter, of: EventSearch = by) =>
    (await search(of, filter)).map(({ type }) => type);
  const [, delivered] = await search(by);
  expect(delivered?.fates.map((each) => [each.webhookId, each.fate]).sort()).toEqual(
    [[webhookId, 'waiting'], [second, 'dead_letter']].sort(), // oxfmt-ignore
  );
  expect(await types({ status: 'failed' })).toEqual(['email.delivered']);
  expect(await types({ status: 'pending' })).toEqual(['email.opened']);
  expect(await types({ status: 'pending' }, { by: 'email', id: mine })).toEqual([
    'email.opened',
    'email.delivered',
  ]);
  if (delivered === undefined) throw new Error('no event');
  const byId = { by: 'event', id: delivered.id } as const;
  expect(await types({ status: 'failed' }, byId)).toEqual(['email.delivered']);
  expect(await types({ status: 'success' }, byId)).toEqual([]);
  expect(await types({ status: 'success' })).toEqual([]);
  expect(await types({ accountId: other })).toEqual([]);
  expect(await types({ type: 'email.opened' })).toEqual(['email.opened']);
  const [{ createdAt: opened } = {}] = await search(by);
  expect(await types({ since: opened })).toEqual(['email.opened']);
  expect(await types({ until: opened })).toEqual(['email.delivered']);
});

describe('received mail', () => {
  test('is found by its Message-ID, narrowed by account, type and time, the newest event first', async () => {
    const message = await rows().message({ accountId: acme });
    store.clock.advance(1_000);
    const first = await receivedEvent(acme, message);
    store.clock.advance(1_000);
    const second = await receivedEvent(acme, message);
    const by = { by: 'messageId', messageId: `${message}@mail.example` } as const;
    const ids = async (filter: FoundEventFilter = {}, limit = 9) =>
      (await search(by, filter, limit)).map(({ id }) => id);
    const now = store.clock.now();
    expect(await ids()).toEqual([second, first]);
    expect(await ids({}, 1)).toEqual([second]);
    expect(await ids({ accountId: acme, type: 'message.received' })).toEqual([second, first]);
    expect(await ids({ accountId: other })).toEqual([]);
    expect(await ids({ type: 'message.held' })).toEqual([]);
    expect(await ids({ since: now })).toEqual([second]);
    expect(await ids({ until: now })).toEqual([first]);
  });

  const addInbox = (address: string, isPostmaster = false, accountId = acme) =>
    rows().inbox({ accountId, address, isPostmaster });
  const addRule = (match: string) => rows().routingRule(acme, match);

  test.each<[string, string, () => Promise<unknown>]>([
    ['an inbox, also with a tag', 'agent+x@in.example', () => addInbox('agent@in.example')],
    ["the postmaster's inbox", 'postmaster@in.example', () => addInbox('box@in.example', true)],
    ['a rule, also with a tag', 'sales+x@in.example', () => addRule('sales@in.example')],
    ['a rule for the domain', 'any@in.example', () => addRule('*@in.example')],
    ['its domain', 'any@in.example', () => rows().domain(acme, 'in.example')],
  ])('is found in the account that gets it by %s, and in no other', async (_, address, own) => {
    await own();
    // The other account has an event for this address, too. It owns only another address.
    await addInbox('other@in.example', address !== 'postmaster@in.example', other);
    await createSuppressionStore(store.db, store.clock).add(other, ['other@in.example']);
    const mine = await receivedEvent(acme, await rows().message({ accountId: acme }), address);
    await receivedEvent(other, await rows().message({ accountId: other }), address);
    await receivedEvent(acme, await rows().message({ accountId: acme }), 'other@in.example');
    expect((await search({ by: 'address', address })).map(({ id }) => id)).toEqual([mine]);
  });
});

test('an address leads to the accounts that sent the newest messages to it', async () => {
  // As many older messages as one search looks at. They are deleted by now.
  await store.outside.query(
    `insert into email_recipients
     select 'em_00' || n, ${textKey("'bob@b.example'")}, ${textKey("'b.example'")} from generate_series(100, 299) n`,
  );
  const mine = await send(['bob@b.example']);
  await report(mine, 'email.delivered', ['bob@b.example']);
  expect(await found({ by: 'address', address: 'bob@b.example' })).toEqual([['email.delivered', mine]]);
});

describe('a status', () => {
  let webhookId: WebhookId;
  let mine: EmailId;

  beforeEach(async () => {
    webhookId = await rows().webhook({ accountId: acme });
    await store.outside.query(`update webhooks set created_at = '2001-01-01'`);
    mine = await send(['bob@b.example']);
    await report(mine, 'email.delivered', ['bob@b.example']);
    await endDeliveries(store, webhookId, 'dead');
    await report(mine, 'email.opened', ['bob@b.example']);
  });

  /** Adds events of the message that are dropped at the webhook, each newer than the one before. */
  async function addDropped(count: number): Promise<void> {
    await store.outside.query(
      `insert into events (id, account_id, type, created_at, data, recipients)
       select 'evt_02jd' || lpad(n::text, 22, '0'), account_id, type, created_at + n * interval '1 ms', data, recipients
       from (select * from events order by position desc limit 1) e, generate_series(1, $1) n order by n`,
      [count],
    );
  }

  test('narrows the events of a message, and the limit counts those that fit', async () => {
    const by = { by: 'email', id: mine } as const;
    expect(await found(by, { status: 'failed' })).toEqual([['email.delivered', mine]]);
    expect(await found(by, { status: 'pending' })).toEqual([['email.opened', mine]]);
    expect(await found(by, { status: 'success' })).toEqual([]);
    await addDropped(3);
    expect(await found(by, { status: 'failed' }, 2)).toEqual([['email.opened', mine], ['email.opened', mine]]); // oxfmt-ignore
    expect(await found(by, { status: 'pending' }, 1)).toEqual([['email.opened', mine]]);
  });

  test('of a webhook is looked for behind 500 events that do not fit', async () => {
    await addDropped(600);
    const by = { by: 'webhook', id: webhookId, accountId: acme } as const;
    expect(await found(by, { status: 'pending' })).toEqual([['email.opened', mine]]);
  });

  test('of a message is looked for among the newest 500, and olderFrom names the last of them', async () => {
    const by = { by: 'email', id: mine } as const;
    const pending = () => searchEvents(store.db, by, { status: 'pending' }, 9);
    expect((await pending()).olderFrom).toBeNull();
    await addDropped(500);
    const last = (await search(by, {}, 500)).at(-1);
    expect(await pending()).toEqual({ events: [], olderFrom: await positionOf(last) });
  });

  test('of a Message-ID skips no event when it merges sent and received mail', async () => {
    const received = await rows().message({ accountId: acme });
    await store.outside.query('update messages set message_id = $1', [`${mine}@a.example`]);
    // The oldest event is about the received message.
    await store.outside.query(
      'update events set position = (select min(position) - 1 from events) where id = $1',
      [await receivedEvent(acme, received)],
    );
    await addDropped(500);
    const by = { by: 'messageId', messageId: `${mine}@a.example` } as const;
    const { events, olderFrom } = await searchEvents(store.db, by, { status: 'pending' }, 9);
    expect(events).toEqual([]);
    expect(await found(by, { status: 'pending', after: olderFrom ?? undefined })).toEqual([
      ['email.opened', mine],
    ]);
  });
});

test('a full page says where the older events begin', async () => {
  const webhookId = await rows().webhook({ accountId: acme });
  await store.outside.query(`update webhooks set created_at = '2001-01-01'`);
  const mine = await send(['bob@b.example']);
  await report(mine, 'email.delivered', ['bob@b.example']);
  await report(mine, 'email.opened', ['bob@b.example']);
  for (const by of [
    { by: 'email', id: mine },
    { by: 'webhook', id: webhookId, accountId: acme },
  ] as const) {
    const { events, olderFrom } = await searchEvents(store.db, by, {}, 1);
    expect([events.map(({ type }) => type), olderFrom]).toEqual([
      ['email.opened'],
      await positionOf(events[0]),
    ]);
    expect(await found(by, { after: olderFrom ?? undefined })).toEqual([['email.delivered', mine]]);
    expect((await searchEvents(store.db, by, {}, 2)).olderFrom).toBeNull();
  }
});
