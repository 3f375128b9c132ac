import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, ReportedEvent } from '@postrider/domain';
import { createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { watchedPool } from '../../test/watched-pool.ts';
import { createProviderNotificationStore } from './provider-notifications.ts';
import type { ProviderNotificationStore, ProviderReport } from './provider-notifications.ts';

const store = setupStore();
let rows: Rows;
let notifications: ProviderNotificationStore;
let emailId: EmailId;

beforeAll(async () => {
  rows = createRows(store.outside);
  notifications = createProviderNotificationStore(store.db, store.clock);
});
beforeEach(async () => {
  await rows.clear();
  await store.outside.query('truncate provider_notifications');
  emailId = await rows.email();
  await store.outside.query("update emails set last_event = 'sent', provider_message_id = 'p-1'");
});

type Reported = 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.clicked';

function eventOf(type: Reported, recipients = ['b@b.example']): ReportedEvent {
  return { type, recipients, occurredAt: '2026-03-01T11:59:59.000Z', detail: notificationDetailOf({}) };
}

let made = 0;
function report(type: Reported, more: Partial<ProviderReport> = {}): ProviderReport {
  const notificationId = `n-${(made += 1)}`;
  const whose = { emailId, providerMessageId: null, writtenEmailId: null };
  return { notificationId, ...whose, suppress: [], event: eventOf(type), ...more };
}

async function lastEvent(): Promise<unknown> {
  const [row] = await store.outside.query('select last_event from emails where id = $1', [emailId]);
  return row?.['last_event'];
}

async function eventTypes(): Promise<string[]> {
  const found = await store.outside.query<{ type: string }>('select type from events');
  return found.map(({ type }) => type);
}

const suppressions = () =>
  store.outside.query('select address, topic_id, origin, email_id from suppressions order by address');
const taken = () => store.outside.query('select message_id from provider_notifications');

test('a report makes its event for the account’s webhooks, and becomes the last event', async () => {
  const [row] = await store.outside.query<{ account_id: AccountId }>('select account_id from emails');
  const webhook = await rows.webhook({ accountId: row?.account_id as AccountId });
  const one = report('email.delivered');
  expect(await notifications.record(one)).toBe('recorded');
  expect(await lastEvent()).toBe('delivered');
  const [event] = await store.outside.query('select account_id, type, data from events');
  expect(event).toMatchObject({ account_id: row?.account_id, type: 'email.delivered' });
  expect(JSON.parse(String(event?.['data']))).toMatchObject({ email_id: emailId });
  expect(await store.outside.query('select webhook_id from deliveries')).toEqual([{ webhook_id: webhook }]);
  expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhook], mail: false });
  expect(await taken()).toEqual([{ message_id: one.notificationId }]);
});

test('of twenty copies at once, exactly one is recorded', async () => {
  const same = report('email.bounced', { suppress: [{ address: 'b@b.example', reason: 'bounce' }] });
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => notifications.record(same)));
  expect(outcomes.sort()).toEqual(['recorded', ...Array<string>(19).fill('repeated')]);
  expect(await eventTypes()).toEqual(['email.bounced']);
});

test('many reports about one message at once: each makes its event, and the highest-ranked is the last event', async () => {
  const types: Reported[] = ['email.clicked', 'email.delivered', 'email.complained', 'email.delivered'];
  await Promise.all(types.map((type) => notifications.record(report(type))));
  expect((await eventTypes()).sort()).toEqual([...types].sort());
  expect(await lastEvent()).toBe('complained');
});

test('a report that suppresses no address is one statement', async () => {
  const { pool, sent } = watchedPool(store.db.pool);
  const atOnce = createProviderNotificationStore({ ...store.db, pool }, store.clock);
  const one = report('email.clicked');
  expect([await atOnce.record(one), await atOnce.record(one)]).toEqual(['recorded', 'repeated']);
  expect(sent).toEqual(['take-report', 'take-report']);
  expect([await eventTypes(), await lastEvent()]).toEqual([['email.clicked'], 'clicked']);
});

test('a bounce that names our id is one statement, including the suppression', async () => {
  const { pool, sent } = watchedPool(store.db.pool);
  const atOnce = createProviderNotificationStore({ ...store.db, pool }, store.clock);
  const one = report('email.bounced', { suppress: [{ address: 'b@b.example', reason: 'bounce' }] });
  expect([await atOnce.record(one), await atOnce.record(one)]).toEqual(['recorded', 'repeated']);
  expect(sent).toEqual(['take-report', 'take-report']);
  expect([await eventTypes(), await lastEvent()]).toEqual([['email.bounced'], 'bounced']);
  expect(await suppressions()).toMatchObject([
    { address: 'b@b.example', origin: 'bounce', email_id: emailId },
  ]);
});

test('a report by the provider’s id is two statements in one transaction, then wakes the relay', async () => {
  const [row] = await store.outside.query<{ account_id: AccountId }>('select account_id from emails');
  const webhook = await rows.webhook({ accountId: row?.account_id as AccountId });
  const { pool, sent } = watchedPool(store.db.pool);
  const behindLock = createProviderNotificationStore({ ...store.db, pool }, store.clock);
  const suppress = [{ address: 'b@b.example', reason: 'complaint' as const }];
  const one = report('email.complained', { emailId: null, providerMessageId: 'p-1', suppress });
  expect([await behindLock.record(one), await behindLock.record(one)]).toEqual(['recorded', 'repeated']);
  const statements = ['begin', 'lock-notified-email', 'take-report', 'commit'];
  expect(sent).toEqual([...statements, ...statements]);
  expect([await eventTypes(), await lastEvent()]).toEqual([['email.complained'], 'complained']);
  expect(await suppressions()).toMatchObject([
    { address: 'b@b.example', origin: 'complaint', email_id: emailId },
  ]);
  expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhook], mail: false });
});

test('a report that waits for another sees the last event that the other wrote', async () => {
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query("update emails set last_event = 'delivered' where id = $1", [emailId]);
    await other.query("update emails set last_event = 'bounced' where id = $1", [emailId]);
    const recorded = notifications.record(report('email.clicked'));
    await untilWaitingForLock(store.outside);
    await other.query('commit');
    expect(await recorded).toBe('recorded');
  });
  expect([await eventTypes(), await lastEvent()]).toEqual([['email.clicked'], 'bounced']);
});

test('a report that waits for another reaches a webhook created meanwhile', async () => {
  const [row] = await store.outside.query<{ account_id: AccountId }>('select account_id from emails');
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query("update emails set last_event = 'delivered' where id = $1", [emailId]);
    const recorded = notifications.record(report('email.clicked'));
    await untilWaitingForLock(store.outside);
    await rows.webhook({ accountId: row?.account_id as AccountId });
    await other.query('commit');
    expect(await recorded).toBe('recorded');
  });
  expect(await store.outside.query('select from deliveries')).toHaveLength(1);
});

test('a report that waits for a lower-ranked one becomes the last event', async () => {
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query("update emails set last_event = 'delivered' where id = $1", [emailId]);
    const recorded = notifications.record(report('email.clicked'));
    await untilWaitingForLock(store.outside);
    await other.query('commit');
    expect(await recorded).toBe('recorded');
  });
  expect(await lastEvent()).toBe('clicked');
});

test.each([
  ['commit', 'repeated', []],
  ['rollback', 'recorded', ['email.clicked']],
] as const)('a report waits for the %s of the same report, and is then %s', async (end, outcome, types) => {
  const one = report('email.clicked');
  await inUndoneTransaction(store.db.pool, async (twin) => {
    await twin.query('insert into provider_notifications (message_id) values ($1)', [one.notificationId]);
    const recorded = notifications.record(one);
    await untilWaitingForLock(store.outside);
    await twin.query(end);
    expect(await recorded).toBe(outcome);
  });
  expect(await eventTypes()).toEqual([...types]);
});

test('a late report makes its event, and does not undo a later state', async () => {
  await notifications.record(report('email.clicked'));
  await notifications.record(report('email.delivered'));
  expect(await eventTypes()).toHaveLength(2);
  expect(await lastEvent()).toBe('clicked');
});

describe('the message of a report', () => {
  test.each([
    ['our id', () => ({ emailId, providerMessageId: null }), 'recorded'],
    ['the provider’s id', () => ({ emailId: null, providerMessageId: 'p-1' }), 'recorded'],
    [
      'the provider’s id, when the tag is none of ours',
      () => ({ emailId: 'x', providerMessageId: 'p-1' }),
      'recorded',
    ],
    [
      'our id in the header, when the provider’s names none',
      () => ({ emailId: null, providerMessageId: 'p-2', writtenEmailId: emailId }),
      'recorded',
    ],
    ['neither', () => ({ emailId: 'x', providerMessageId: 'p-2' }), 'unknown-mail'],
  ])('is said by %s', async (_, named, outcome) => {
    expect(await notifications.record(report('email.delivered', named()))).toBe(outcome);
    expect(await eventTypes()).toHaveLength(outcome === 'recorded' ? 1 : 0);
    expect(await taken()).toHaveLength(outcome === 'recorded' ? 1 : 0);
  });

  test('the provider’s id comes before our id in the header', async () => {
    const other = await rows.email();
    const named = { emailId: null, providerMessageId: 'p-1', writtenEmailId: other };
    await notifications.record(report('email.delivered', named));
    expect(await lastEvent()).toBe('delivered');
  });

  test('our id comes before the provider’s id', async () => {
    const other = await rows.email();
    await notifications.record(report('email.delivered', { emailId: other, providerMessageId: 'p-1' }));
    expect(await lastEvent()).toBe('sent');
  });
});

test('mail of a test key gets no event, no suppression and no last event', async () => {
  await store.outside.query("update emails set kind = 'test'");
  const outcome = await notifications.record(
    report('email.bounced', { suppress: [{ address: 'b@b.example', reason: 'bounce' }] }),
  );
  expect(outcome).toBe('test-mail');
  expect([await eventTypes(), await suppressions(), await lastEvent()]).toEqual([[], [], 'sent']);
});

describe('suppression', () => {
  test('writes each address once, in lower case, for all mail, with its message', async () => {
    const suppress = [
      { address: 'Zoe@B.example', reason: 'bounce' as const },
      { address: 'ann@b.example', reason: 'bounce' as const },
    ];
    await notifications.record(report('email.bounced', { suppress }));
    const common = { topic_id: '', origin: 'bounce', email_id: emailId };
    expect(await suppressions()).toEqual([
      { ...common, address: 'ann@b.example' },
      { ...common, address: 'zoe@b.example' },
    ]);
    expect(await eventTypes()).toEqual(['email.bounced']);
  });

  test.each([
    ['bounce', 'complaint', 'complaint'],
    ['manual', 'complaint', 'complaint'],
    ['complaint', 'bounce', 'complaint'],
    ['unsubscribe', 'bounce', 'unsubscribe'],
  ] as const)('of an address that is there as %s, by a %s: it is a %s', async (before, by, after) => {
    await store.outside.query(
      `insert into suppressions (id, account_id, address, origin, created_at)
       select 'sup_1', account_id, 'b@b.example', $1::suppression_origin, now() from emails`,
      [before],
    );
    await notifications.record(
      report('email.bounced', { suppress: [{ address: 'B@b.example', reason: by }] }),
    );
    expect(await suppressions()).toMatchObject([{ address: 'b@b.example', origin: after }]);
  });

  test('two reports with the same addresses in opposite order do not deadlock', async () => {
    const addresses = Array.from({ length: 50 }, (_, n) => `r${n}@b.example`);
    const wishes = (all: string[]) => all.map((address) => ({ address, reason: 'complaint' as const }));
    const reports = Array.from({ length: 10 }, async (_, n) => {
      const id = await rows.email();
      await store.outside.query('update emails set account_id = (select min(account_id) from emails)');
      const suppress = wishes(n % 2 === 0 ? addresses : addresses.toReversed());
      return report('email.complained', { emailId: id, suppress });
    });
    const ready = await Promise.all(reports);
    const outcomes = await Promise.all(ready.map((one) => notifications.record(one)));
    expect(new Set(outcomes)).toEqual(new Set(['recorded']));
    expect(await suppressions()).toHaveLength(50);
  });
});

test('a template that could not be rendered makes the message failed, with the reason', async () => {
  const failed = { type: 'email.failed', error: 'no such attribute' } as const;
  await notifications.record(report('email.delivered', { event: failed }));
  const [row] = await store.outside.query('select status, last_event, error from emails');
  expect(row).toEqual({ status: 'failed', last_event: 'failed', error: 'no such attribute' });
});

test('a template failure marks the message failed, and keeps a higher-ranked last event', async () => {
  await notifications.record(report('email.bounced'));
  const failed = { type: 'email.failed', error: 'no such attribute' } as const;
  await notifications.record(report('email.delivered', { event: failed }));
  const [row] = await store.outside.query('select status, last_event, error from emails');
  expect(row).toEqual({ status: 'failed', last_event: 'bounced', error: 'no such attribute' });
  expect((await eventTypes()).sort()).toEqual(['email.bounced', 'email.failed']);
});

test('when the event cannot be written nothing changes, and a repetition is recorded', async () => {
  const one = report('email.bounced', { suppress: [{ address: 'b@b.example', reason: 'bounce' }] });
  const broken: ProviderReport = { ...one, event: eventOf('email.bounced', []) };
  await expect(notifications.record(broken)).rejects.toThrow();
  expect([await taken(), await suppressions(), await eventTypes(), await lastEvent()]).toEqual([
    [],
    [],
    [],
    'sent',
  ]);
  expect(await notifications.record(one)).toBe('recorded');
});
