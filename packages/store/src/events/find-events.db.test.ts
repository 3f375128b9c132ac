import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, EventType } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { endDeliveries, sendMail } from '../../test/ended-mail.ts';
import { setupStore } from '../../test/open-store.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { searchEvents } from './find-events.ts';
import type { EventSearch, EventWithFates, FoundEventFilter } from './find-events.ts';

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
  store.clock.set(new Date(store.clock.now().getTime() + 1_000));
  return sendMail(store, of, { to });
}

async function report(emailId: EmailId, type: 'email.delivered' | 'email.opened', recipients: string[]) {
  store.clock.set(new Date(store.clock.now().getTime() + 1_000));
  const occurredAt = store.clock.now().toISOString();
  const ids = {
    messageId: newId('event', store.clock),
    emailId,
    providerMessageId: null,
    writtenEmailId: null,
  };
  const event = { type, recipients, occurredAt, detail: notificationDetailOf({}) } as const;
  await createProviderNotificationStore(store.db, store.clock).record({ ...ids, suppress: [], event });
}

const search = (by: EventSearch, filter: FoundEventFilter = {}, limit = 100): Promise<EventWithFates[]> =>
  searchEvents(store.db, by, filter, limit);

/** The types of the found events, each with the message that it is about. */
async function found(by: EventSearch, filter: FoundEventFilter = {}, limit = 100) {
  return (await search(by, filter, limit)).map(({ type, emailId }) => [type, emailId]);
}

describe('events', () => {
  test('of a message are those about it, the newest first', async () => {
    const [mine, another] = [await send(['bob@b.example']), await send(['bob@b.example'])];
    await report(mine, 'email.delivered', ['bob@b.example']);
    await report(another, 'email.delivered', ['bob@b.example']);
    await report(mine, 'email.opened', ['bob@b.example']);
    const by = { by: 'email', id: mine } as const;
    expect(await found(by)).toEqual([['email.opened', mine], ['email.delivered', mine]]); // prettier-ignore
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
    const id = await rows().event({ accountId: acme });
    await store.outside.query(
      `update events set type = 'message.received', data = '{"object":"message","id":"' || $2 || '"}' where id = $1`,
      [id, received],
    );
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
    expect(await found(by)).toEqual([['email.delivered', two], ['email.delivered', one]]); // prettier-ignore
    expect(await found({ by: 'request', requestId: 'req-2' })).toEqual([]);
  });

  test('are narrowed by account, type and time, whatever they are found by', async () => {
    const mine = await send(['bob@b.example']);
    await report(mine, 'email.delivered', ['bob@b.example']);
    const between = store.clock.now();
    await report(mine, 'email.opened', ['bob@b.example']);
    await store.outside.query(`update emails set request_id = 'req-1'`);
    const [opened] = await search({ by: 'email', id: mine });
    if (opened === undefined) throw new Error('no event');
    const searches: EventSearch[] = [
      { by: 'email', id: mine },
      { by: 'address', address: 'bob@b.example' },
      { by: 'messageId', messageId: `${mine}@a.example` },
      { by: 'request', requestId: 'req-1' },
    ];
    const types = async (by: EventSearch, filter: FoundEventFilter) =>
      (await search(by, filter)).map(({ type }): EventType => type);
    const later = new Date(between.getTime() + 1);
    for (const by of searches) {
      expect(await types(by, {})).toEqual(['email.opened', 'email.delivered']);
      expect(await types(by, { accountId: acme, type: 'email.opened' })).toEqual(['email.opened']);
      expect(await types(by, { accountId: other })).toEqual([]);
      expect(await types(by, { since: later })).toEqual(['email.opened']);
      expect(await types(by, { until: later })).toEqual(['email.delivered']);
    }
    const byId = { by: 'event', id: opened.id } as const;
    expect(await search(byId)).toEqual([opened]);
    for (const filter of [{ accountId: other }, { type: 'email.sent' }, { until: later }] as const) {
      expect(await search(byId, filter)).toEqual([]);
    }
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
  const by = { by: 'webhook', id: second, accountId: acme } as const;
  const types = async (filter: FoundEventFilter, of: EventSearch = by) =>
    (await search(of, filter)).map(({ type }) => type);
  const [, delivered] = await search(by);
  expect(delivered?.fates.map((each) => [each.webhookId, each.fate]).sort()).toEqual(
    [[webhookId, 'waiting'], [second, 'dead_letter']].sort(), // prettier-ignore
  );
  expect(await types({ status: 'failed' })).toEqual(['email.delivered']);
  expect(await types({ status: 'pending' })).toEqual(['email.opened']);
  expect(await types({ status: 'pending' }, { by: 'email', id: mine })).toEqual([
    'email.opened',
    'email.delivered',
  ]);
  expect(await types({ status: 'success' })).toEqual([]);
  expect(await types({ accountId: other })).toEqual([]);
  expect(await types({ type: 'email.opened' })).toEqual(['email.opened']);
});
