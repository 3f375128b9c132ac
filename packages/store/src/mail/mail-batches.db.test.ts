import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { EmailId, WebhookId } from '@postrider/domain';
import { createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { takeHeld, takeOne } from '../../test/taken-email.ts';
import { createMailWork } from './mail-work.ts';
import type { MailWork } from './mail-work.ts';
import type { TakenEmail } from './take-mail.ts';

const store = setupStore();
let rows: Rows;
let work: MailWork;
let emailId: EmailId;

beforeAll(async () => {
  rows = createRows(store.outside);
  work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
});
beforeEach(async () => {
  await rows.clear();
  emailId = await rows.email();
});

const taken = async (claim = 0) => takeHeld(work, { emailId, claim });

async function email() {
  const [row] = await store.outside.query('select * from emails where id = $1', [emailId]);
  return row;
}

const sends = () => store.outside.query('select * from email_sends');

const endOf = (held: TakenEmail, providerMessageId: string | null = null) => ({
  email: held,
  providerMessageId,
  error: null,
});

/** One message for each of `count` accounts. Each account has a webhook. */
async function takenOfAccounts(count: number): Promise<{ held: TakenEmail; webhookId: WebhookId }[]> {
  await rows.clear();
  const jobs = [];
  for (let n = 0; n < count; n += 1) jobs.push({ emailId: await rows.email(), claim: 0 });
  const held = await Promise.all(await work.take(jobs, 30));
  return Promise.all(
    held.map(async (one) => {
      if (one === null) throw new Error('a message was not taken');
      return { held: one, webhookId: await rows.webhook({ accountId: one.accountId }) };
    }),
  );
}

const told = () =>
  store.outside.query(
    `select e.type, e.account_id, e.data::json ->> 'email_id' as email_id, d.webhook_id
     from events e left join deliveries d on d.event_id = e.id order by email_id`,
  );

test('each message is taken for one job, in the order of the jobs', async () => {
  const other = await rows.email();
  const jobs = [other, emailId, other].map((id) => ({ emailId: id, claim: 0 }));
  const given = await Promise.all(await work.take([...jobs, { emailId, claim: 1 }], 30));
  expect(given.map((one) => one?.emailId)).toEqual([other, emailId, undefined, undefined]);
});

test.each(['sent', 'failed'] as const)(
  '%s: ends messages of several accounts, and each account gets only its own events',
  async (status) => {
    const all = await takenOfAccounts(3);
    const ends = all.map(({ held }, n) => ({
      email: { ...held, suppressed: [`${n}@b.example`] },
      providerMessageId: status === 'sent' ? `p-${n}` : null,
      error: status === 'failed' ? `no ${n}` : null,
    }));
    expect((await work.endTogether(status, ends)).size).toBe(3);
    expect(await sends()).toEqual([]);
    const expected = all.map(({ held, webhookId }) => ({
      type: `email.${status}`,
      account_id: held.accountId,
      email_id: held.emailId,
      webhook_id: webhookId,
    }));
    expect(await told()).toEqual(expected.sort((a, b) => (a.email_id < b.email_id ? -1 : 1)));
    for (const { email: ended, providerMessageId, error } of ends) {
      const [row] = await store.outside.query('select * from emails where id = $1', [ended.emailId]);
      expect(row).toMatchObject({
        status,
        last_event: status,
        error,
        provider_message_id: providerMessageId,
        suppressed_addresses: ended.suppressed,
        sent_at: status === 'sent' ? expect.any(Date) : null,
      });
    }
    expect(store.wakeUps.at(-1)?.webhooks.toSorted()).toEqual(
      all.map(({ webhookId }) => webhookId).toSorted(),
    );
  },
);

test('leaves messages that are taken, locked or have a stored report, and ends the others', async () => {
  const [stale, locked, reported, other] = (await takenOfAccounts(4)).map(({ held }) => held) as [
    TakenEmail,
    TakenEmail,
    TakenEmail,
    TakenEmail,
  ];
  await takeOne(work, stale);
  await store.outside.query(
    `insert into unclaimed_notifications (message_id, provider_message_id, report) values ('n', 'p-3', '{}')`,
  );
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query('select 1 from emails where id = $1 for update', [locked.emailId]);
    const all = [endOf(stale), endOf(locked), endOf(reported, 'p-3'), endOf(other, 'p-4')];
    expect([...(await work.endTogether('sent', all)).keys()]).toEqual([other]);
  });
  expect(await told()).toMatchObject([{ type: 'email.sent', email_id: other.emailId }]);
  expect(await sends()).toHaveLength(3);
  await store.outside.query('delete from unclaimed_notifications');
});

test('makes messages due after their own delays, and leaves messages that another worker took', async () => {
  const [stale, soon, later] = (await takenOfAccounts(3)).map(({ held }) => held) as [
    TakenEmail,
    TakenEmail,
    TakenEmail,
  ];
  const again = await takeHeld(work, stale);
  const retries = [stale, later, soon].map((email) => ({
    email,
    delayMs: email === soon ? 60_000 : 3_600_000,
    attempts: email === soon ? 1 : 0,
  }));
  expect(await work.retry(retries)).toEqual(new Set([later, soon]));
  const back = await store.outside.query(
    `select email_id, attempts, unrecorded, claim, round(extract(epoch from due_at - now()) / 60)::int as minutes
     from email_sends where leased_until is null order by due_at`,
  );
  const freed = { unrecorded: 0, claim: soon.claim + 1 };
  expect(back).toEqual([
    { email_id: soon.emailId, ...freed, attempts: 1, minutes: 1 },
    { email_id: later.emailId, ...freed, attempts: 0, minutes: 60 },
  ]);
  // Two takes of one message at the same time: the first has an expired lease, the second is the next one.
  const both = [stale, again].map((email) => ({ email, delayMs: 0, attempts: 1 }));
  expect(await work.retry(both)).toEqual(new Set([again]));
});

test('does not undo an earlier report, nor a failure', async () => {
  const held = await taken();
  await store.outside.query(
    "update emails set status = 'failed', last_event = 'complained', error = 'no such key'",
  );
  await work.endTogether('sent', [endOf(held)]);
  expect(await email()).toMatchObject({
    status: 'failed',
    last_event: 'complained',
    error: 'no such key',
  });
});

test('sees a report that is stored while it waits', async () => {
  const held = await taken();
  const ended = await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query("select pg_advisory_xact_lock(hashtextextended('provider-message/p-1', 0))");
    const ending = work.endTogether('sent', [endOf(held, 'p-1')]);
    await untilWaitingForLock(store.outside);
    await session.query(
      `insert into unclaimed_notifications (message_id, provider_message_id, report) values ('n', 'p-1', '{}')`,
    );
    await session.query('commit');
    return { ending };
  });
  expect((await ended.ending).size).toBe(0);
  await store.outside.query('delete from unclaimed_notifications');
});
