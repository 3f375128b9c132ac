import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf } from '@postrider/domain';
import type { EmailId } from '@postrider/domain';
import { createRows, waitFor } from '@postrider/testing';
import { sendMail } from '../../test/ended-mail.ts';
import { accepted } from '../../test/mail-outcomes.ts';
import { setupStore } from '../../test/open-store.ts';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { takeHeld } from '../../test/taken-email.ts';
import { recipientKey } from '../db/sql/event-ctes.ts';
import { createEventStore } from '../events/events.ts';
import { createMailWork } from '../mail/mail-work.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';

const store = setupStore();

beforeEach(() => createRows(store.outside).clear());

/** A million rows, and 500 million. */
const [SMALL, LARGE] = [1e6, 5e8];

/** By default, vacuum begins when a fifth of the rows is dead or new: 100 million of 500 million. */
test.each(['events', 'event_recipients', 'emails', 'email_recipients', 'provider_notifications'])(
  'vacuum of %s begins early in a large table, and not later than usual in a small one',
  async (table) => {
    const options = await store.outside.query<{ option_name: string; option_value: string }>(
      `select o.* from pg_class, pg_options_to_table(reloptions) o where oid = $1::regclass`,
      [table],
    );
    const values = new Map(
      options.map(({ option_name: name, option_value: value }) => [name, Number(value)]),
    );
    const beginsAt = (kind: string, rows: number) =>
      (values.get(`autovacuum_${kind}_threshold`) ?? NaN) +
      (values.get(`autovacuum_${kind}_scale_factor`) ?? NaN) * rows;
    for (const kind of ['vacuum', 'vacuum_insert']) {
      expect(beginsAt(kind, LARGE)).toBeLessThanOrEqual(3e6);
      expect(beginsAt(kind, SMALL)).toBeLessThanOrEqual(SMALL / 5);
    }
  },
);

/** Without a setting, vacuum leaves the indexes alone while fewer than 2 % of the pages have dead rows. */
describe('once vacuum has run behind retention', () => {
  const BOB = 'bob@b.example';

  test.each([
    ['all', {}],
    ['of a recipient', { recipient: BOB }],
  ] as const)(
    // oxfmt-ignore
    'a list of events, %s, reads no removed ones',
    async (_which, filter) => {
      const accountId = await store.newAccount();
      await store.outside.query(
        `with fresh as (
           insert into events (id, account_id, type, created_at, data, recipients)
           select 'evt_' || n, $1, 'email.sent', now(), rpad('{', 200), '{}' from generate_series(1, 30000) n
           returning id, type, position)
         insert into event_recipients (key, type, position, event_id)
         select ${recipientKey('$1', '$2')}, type, position, id from fresh`,
        [accountId, BOB],
      );
      for (const table of ['events', 'event_recipients']) {
        await store.outside.query(
          `delete from ${table} where position in (select position from ${table} order by position limit 300)`,
        );
        await store.outside.query(`vacuum ${table}`);
      }
      await store.outside.query('select pg_stat_force_next_flush()');
      const before = await rowsRead(store.db.pool);
      const page = await createEventStore(store.db).list(accountId, filter, { limit: 20 });
      expect(page?.entries).toHaveLength(20);
      expect((await rowsRead(store.db.pool)) - before).toBeLessThan(200);
    },
  );
});

describe('while other statements run, so that old versions of rows stay for some time,', () => {
  const MAILS = 300;
  /** With one connection, which knows all updates. */
  const single = setupPlanStore();
  /** The reports that are recorded while one of these statements runs. */
  const REPORTS_MEANWHILE = 20;

  let snapshotEnd = 0n;
  /**
   * Ends the statement that runs, and begins the next one. A transaction in another database of the server holds
   * up this snapshot, too. So it waits until none is older than the snapshot before.
   */
  async function renewSnapshot(): Promise<void> {
    await waitFor(
      async () => {
        await single.database.query('commit; begin isolation level repeatable read');
        const [snapshot] = await single.database.query<{ begin: string; end: string }>(
          `select pg_snapshot_xmin(s)::text as begin, pg_snapshot_xmax(s)::text as end from pg_current_snapshot() s`,
        );
        const { begin, end } = snapshot ?? { begin: '0', end: '0' };
        if (BigInt(begin) < snapshotEnd) return false;
        snapshotEnd = BigInt(end);
        return true;
      },
      { what: 'transactions of other databases to end' },
    );
  }

  /** Hands over all mail, then records that it was delivered, then that it was opened. */
  async function reportAll(ids: readonly EmailId[], beforeEachStep: () => Promise<void>): Promise<void> {
    const work = createMailWork(single.db, store.clock, { verifiedDomainsOnly: false });
    const reports = createProviderNotificationStore(single.db, store.clock);
    for (const emailId of ids) {
      await beforeEachStep();
      const taken = await takeHeld(work, { emailId, claim: 0 });
      await work.recordAlone(taken, accepted({ providerMessageId: `ses-${emailId}`, notifications: [] }));
    }
    const occurredAt = store.clock.now().toISOString();
    for (const type of ['email.delivered', 'email.opened'] as const) {
      for (const emailId of ids) {
        await beforeEachStep();
        const event = { type, recipients: ['ada@a.example'], occurredAt, detail: notificationDetailOf({}) };
        const notificationId = newId('event', store.clock);
        const named = { notificationId, emailId, providerMessageId: null, writtenEmailId: null };
        await reports.record({ ...named, suppress: [], event });
      }
    }
  }

  test('most reports rewrite the row of their mail within its page, and touch none of its indexes', async () => {
    const accountId = await createRows(single.database).account();
    const ids: EmailId[] = [];
    for (let n = 0; n < MAILS; n += 1) {
      ids.push(await sendMail({ ...store, db: single.db }, accountId, { html: `${'x'.repeat(100)}${n}` }));
    }
    let steps = 0;
    await reportAll(ids, async () => {
      if (steps % REPORTS_MEANWHILE === 0) await renewSnapshot();
      steps += 1;
    });
    await single.database.query('commit');
    await single.db.pool.query('select pg_stat_force_next_flush()');
    const [updates] = await single.database.query<{ all: number; hot: number }>(
      `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'emails'`,
    );
    expect(updates?.all).toBe(3 * MAILS); // the first of each changes an index
    expect(updates?.hot).toBeGreaterThan(0.75 * 2 * MAILS);
  });
});
