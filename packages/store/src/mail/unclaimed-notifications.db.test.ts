import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, ReportedEvent } from '@postrider/domain';
import { createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { accepted } from '../../test/mail-outcomes.ts';
import type { AcceptedAnswer } from '../../test/mail-outcomes.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { takeHeld } from '../../test/taken-email.ts';
import { dropExpired } from '../retention/housekeeping.ts';
import { createMailWork } from './mail-work.ts';
import type { MailWork } from './mail-work.ts';
import { createProviderNotificationStore } from './provider-notifications.ts';
import type { ProviderNotificationStore, ProviderReport } from './provider-notifications.ts';

/**
 * A report may arrive before the provider's own answer is committed. If it names only the provider's id, it
 * looks like a report about mail that is not ours.
 */

const ACCEPTED = { providerMessageId: 'p-1', notifications: [] };

const store = setupStore();
let rows: Rows;
let work: MailWork;
let notifications: ProviderNotificationStore;
let emailId: EmailId;

beforeAll(async () => {
  rows = createRows(store.outside);
  work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
  notifications = createProviderNotificationStore(store.db, store.clock);
});
beforeEach(async () => {
  await rows.clear();
  await store.outside.query('truncate provider_notifications, unclaimed_notifications');
  emailId = await rows.email();
});

const BOUNCED: ReportedEvent = {
  type: 'email.bounced',
  recipients: ['Bob@b.example'],
  occurredAt: '2026-03-01T11:59:59.000Z',
  detail: notificationDetailOf({ bounce_type: 'Permanent' }),
};

function report(more: Partial<ProviderReport> = {}): ProviderReport {
  const suppress = [{ address: 'Bob@b.example', reason: 'bounce' as const }];
  const whose = { emailId: null, providerMessageId: 'p-1', writtenEmailId: null };
  return { notificationId: 'n-1', ...whose, event: BOUNCED, suppress, ...more };
}

const takenEmail = async () => takeHeld(work, { emailId, claim: 0 });

async function sendToProvider(answer: AcceptedAnswer = ACCEPTED): Promise<void> {
  expect(await work.recordAlone(await takenEmail(), accepted(answer))).not.toBeNull();
}

/** Sorted by type, because events of the same moment have no other order. */
async function events(): Promise<{ type: string; data: unknown }[]> {
  const found = await store.outside.query<{ type: string; data: string }>(
    'select type, data from events order by type',
  );
  return found.map(({ type, data }) => ({ type, data: JSON.parse(data) as unknown }));
}

const eventTypes = async () => (await events()).map(({ type }) => type);

const known = async () => (await store.outside.query('select status, last_event, error from emails'))[0];
const taken = () => store.outside.query('select message_id from provider_notifications order by 1');
const kept = () => store.outside.query('select message_id from unclaimed_notifications order by 1');

describe('a report that arrives before the provider’s id is committed', () => {
  test('makes its event with that commit, suppresses the blamed addresses, and reaches the webhooks', async () => {
    const [owner] = await store.outside.query<{ accountId: AccountId }>(
      'select account_id as "accountId" from emails',
    );
    const webhook = await rows.webhook(owner);
    expect(await notifications.record(report())).toBe('unknown-mail');
    expect([await events(), await taken()]).toEqual([[], []]);
    await sendToProvider();
    expect(await events()).toEqual([
      {
        type: 'email.bounced',
        data: {
          email_id: emailId,
          recipients: BOUNCED.recipients,
          occurred_at: BOUNCED.occurredAt,
          detail: BOUNCED.detail,
        },
      },
      { type: 'email.sent', data: { email_id: emailId, from: 'a@a.example', subject: 'Hi', error: null } },
    ]);
    expect(await known()).toEqual({ status: 'sent', last_event: 'bounced', error: null });
    expect(await store.outside.query('select address, origin, email_id from suppressions')).toEqual([
      { address: 'bob@b.example', origin: 'bounce', email_id: emailId },
    ]);
    expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhook], mail: false });
    expect([await taken(), await kept()]).toEqual([[{ message_id: 'n-1' }], []]);
  });

  test('about a template that could not be rendered leaves the message failed, with the reason', async () => {
    await notifications.record(
      report({ event: { type: 'email.failed', error: 'no such key' }, suppress: [] }),
    );
    await sendToProvider();
    expect(await known()).toEqual({ status: 'failed', last_event: 'failed', error: 'no such key' });
    expect(await eventTypes()).toEqual(['email.failed', 'email.sent']);
  });

  test('about a failure and a bounce leaves the message failed, with the bounce as last event', async () => {
    const failed: ReportedEvent = { type: 'email.failed', error: 'no such key' };
    await notifications.record(report({ notificationId: 'n-0' }));
    await notifications.record(report({ event: failed, suppress: [] }));
    await sendToProvider();
    expect(await known()).toEqual({ status: 'failed', last_event: 'bounced', error: 'no such key' });
    expect(await eventTypes()).toEqual(['email.bounced', 'email.failed', 'email.sent']);
  });

  test('is recorded once, however often it arrives before and after', async () => {
    for (let n = 0; n < 3; n += 1) expect(await notifications.record(report())).toBe('unknown-mail');
    await sendToProvider();
    expect(await notifications.record(report())).toBe('repeated');
    expect(await eventTypes()).toEqual(['email.bounced', 'email.sent']);
  });

  test('is recorded once when a repetition names our own id meanwhile', async () => {
    await notifications.record(report());
    expect(await notifications.record(report({ emailId }))).toBe('recorded');
    await sendToProvider();
    expect(await eventTypes()).toEqual(['email.bounced', 'email.sent']);
    expect(await kept()).toEqual([]);
  });

  test('can be one of several, and each makes its event', async () => {
    const notificationIds = ['n-1', 'n-2', 'n-3'];
    await Promise.all(
      notificationIds.map((notificationId) => notifications.record(report({ notificationId }))),
    );
    await sendToProvider();
    expect(await eventTypes()).toEqual([...notificationIds.map(() => 'email.bounced'), 'email.sent']);
  });

  test('stays stored while the worker cannot reach Postgres for hours', async () => {
    await notifications.record(report());
    await store.outside.query(`update unclaimed_notifications set received_at = now() - interval '23 hours'`);
    await dropExpired(store.db.pool);
    await sendToProvider();
    expect(await eventTypes()).toEqual(['email.bounced', 'email.sent']);
  });

  test('stays stored when that commit fails, until one succeeds', async () => {
    await notifications.record(report());
    const broken = { type: 'email.delivered', recipients: [], detail: notificationDetailOf({}) } as const;
    const email = await takenEmail();
    await expect(
      work.recordAlone(email, accepted({ ...ACCEPTED, notifications: [broken] })),
    ).rejects.toThrow();
    expect([await events(), await taken(), await kept()]).toEqual([[], [], [{ message_id: 'n-1' }]]);
    expect(await work.recordAlone(email, accepted(ACCEPTED))).not.toBeNull();
    expect(await eventTypes()).toEqual(['email.bounced', 'email.sent']);
  });
});

describe('a report that arrives while the provider’s id is being committed', () => {
  test('finds the message', async () => {
    const reporting = await inUndoneTransaction(store.db.pool, async (session) => {
      await session.query("select pg_advisory_xact_lock(hashtextextended('provider-message/p-1', 0))");
      const outcome = notifications.record(report());
      await untilWaitingForLock(store.outside);
      await session.query("update emails set provider_message_id = 'p-1', last_event = 'sent'");
      await session.query('commit');
      return { outcome };
    });
    expect(await reporting.outcome).toBe('recorded');
    expect([await eventTypes(), await kept()]).toEqual([['email.bounced'], []]);
  });

  test('is found by that transaction, if the report was first', async () => {
    const email = await takenEmail();
    const handing = await inUndoneTransaction(store.db.pool, async (session) => {
      await session.query("select pg_advisory_xact_lock(hashtextextended('provider-message/p-1', 0))");
      const ended = work.recordAlone(email, accepted(ACCEPTED));
      await untilWaitingForLock(store.outside);
      const text = JSON.stringify({ event: BOUNCED, suppress: [] });
      await session.query("insert into unclaimed_notifications values ('n-1', 'p-1', $1)", [text]);
      await session.query('commit');
      return { ended };
    });
    expect(await handing.ended).not.toBeNull();
    expect(await eventTypes()).toEqual(['email.bounced', 'email.sent']);
  });

  test('makes its event in any order, at any moment', async () => {
    for (let n = 1; n <= 20; n += 1) {
      emailId = await rows.email();
      const providerMessageId = `p-${n}`;
      await Promise.all([
        sendToProvider({ ...ACCEPTED, providerMessageId }),
        notifications.record(report({ notificationId: `n-${n}`, providerMessageId })),
      ]);
    }
    const [count] = await store.outside.query(
      `select count(*)::int as n from events where type = 'email.bounced'`,
    );
    expect(count).toEqual({ n: 20 });
    expect(await kept()).toEqual([]);
  });
});

test('a report about another message stays stored, whatever the length of its id', async () => {
  const providerMessageId = 'x'.repeat(100_000);
  expect(await notifications.record(report({ providerMessageId }))).toBe('unknown-mail');
  await sendToProvider();
  expect(await eventTypes()).toEqual(['email.sent']);
  expect(await kept()).toEqual([{ message_id: 'n-1' }]);
});

test('a report without a provider’s id is not stored', async () => {
  expect(await notifications.record(report({ emailId: 'x', providerMessageId: null }))).toBe('unknown-mail');
  expect([await kept(), await taken()]).toEqual([[], []]);
});
