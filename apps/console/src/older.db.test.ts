import { beforeEach, describe, expect, test } from '@jest/globals';
import { HttpVisitor, linkIn, textOf } from '../test/http-visitor.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

/* Lists with older pages. */

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const query = async (sql: string, values: unknown[] = []) => opened.database.query(sql, values);

/** The path of the next page. Empty: the page has no link to one. */
const olderOn = (page: string) => linkIn(page, /after=/);

interface List {
  readonly path: () => string;
  /** Each entry of a page. */
  readonly entry: RegExp;
  readonly entries: readonly [number, number];
  /** Adds the entries, newer than all others. */
  readonly add: () => Promise<unknown>;
}

const LISTS: Readonly<Record<string, List>> = {
  'dead letters': {
    path: () => `/dead-letters?status=503&webhook=${outage.failing}&type=email.sent`,
    entry: /href="\/events\/(evt_\w+)"/g,
    entries: [50, 5],
    add: async () =>
      query(
        `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error,
                                   status_code, created_at)
         select 'dl_01jd' || lpad(n::text, 22, '0'), account_id, webhook_id, 'evt_01jd' || lpad(n::text, 22, '0'), 'email.sent',
                now(), data, 8, reason, last_error, status_code, now() + interval '1 hour'
         from dead_letters, generate_series(1, 55) n`,
      ),
  },
  'the events of a webhook': {
    path: () => `/webhooks/${outage.failing}?type=email.sent&status=pending&until=2100-01-01`,
    entry: /href="\/events\/(evt_\w+)"/g,
    entries: [20, 5],
    add: async () => {
      await query('delete from deliveries'); // its event is failed
      await addEvents('x', 1, 'email.opened');
      await addEvents('y', 25, 'email.sent');
      await query(
        `insert into deliveries (event_id, webhook_id, due_at) select id, $1, now() from events where id like 'evt_01jd%'`,
        [outage.failing],
      );
    },
  },
  'the events of an email': {
    path: () => `/emails/${outage.emailId}`,
    entry: /href="\/events\/(evt_\w+)"/g,
    entries: [50, 5],
    add: async () => addEvents('y', 54, 'email.opened', outage.emailId), // it bounced before
  },
  'held mail': {
    path: () => '/held?account=Meadow+Shop&reason=spam',
    entry: /href="\/messages\/(msg_\w+)"/g,
    entries: [50, 5],
    add: async () => {
      const other = await opened.rows.account();
      await addHeld(1, 55, { held_reason: 'spam' });
      await addHeld(100, 100, { held_reason: 'spam', account_id: other, created_at: '2026-01-01T00:00:00Z' });
    },
  },
  'the audit': {
    path: () => '/audit?who=root&action=account.limit&account=Meadow+Shop&since=2020-01-01',
    entry: /entry (\d+)\./g,
    entries: [50, 5],
    add: async () => {
      await addAudit('ada', 'account.limit', 1);
      await addAudit('root', 'webhook.delete', 1);
      await addAudit('root', 'account.limit', 55);
    },
  },
};

async function addEvents(digit: string, count: number, type: string, emailId?: string): Promise<void> {
  await query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_01jd' || $1 || lpad(n::text, 21, '0'), $2, $3, now(), $5 from generate_series(1, $4::int) n order by n`,
    [digit, outage.accountId, type, count, JSON.stringify({ email_id: emailId })],
  );
}

/** Copies of the held message. */
async function addHeld(from: number, to: number, changes: object): Promise<void> {
  await query(
    `insert into messages
     select (jsonb_populate_record(m, jsonb_build_object('id', 'msg_01jd' || lpad(n::text, 22, '0'),
                                                         'created_at', m.created_at + interval '1 hour') || $2)).*
     from messages m, generate_series($3::int, $4::int) n where m.id = $1`,
    [outage.messageId, JSON.stringify(changes), from, to],
  );
}

async function addAudit(actor: string, action: string, count: number): Promise<void> {
  await query(
    `insert into audit (actor_kind, actor, action, account_id, target, count, note)
     select 'cli', $1, $2, $3, $3, 1, 'entry ' || n || '.' from generate_series(1, $4::int) n`,
    [actor, action, outage.accountId, count],
  );
}

test.each(Object.entries(LISTS))(
  '%s go on with the next page, keep their filter, and show each entry once',
  async (_, { path, entry, entries, add }) => {
    await add();
    const first = await ada.show(path());
    const older = olderOn(first);
    const second = await ada.show(older);
    const entriesOn = (page: string) => [...page.matchAll(entry)].map(([, id]) => id);
    expect([entriesOn(first).length, entriesOn(second).length]).toEqual(entries);
    expect(new Set([...entriesOn(first), ...entriesOn(second)]).size).toBe(entries[0] + entries[1]);
    expect(olderOn(second)).toBe('');
  },
);

test('a complaint after 119 opens of an email is its first event', async () => {
  await addEvents('y', 119, 'email.opened', outage.emailId);
  await addEvents('z', 1, 'email.complained', outage.emailId);
  const page = await ada.show(`/emails/${outage.emailId}`);
  expect(linkIn(page, /^\/events\//)).toMatch(/^\/events\/evt_01jdz/);
  expect(textOf(page)).toContain('The newest 50 events Older');
});

test('an older page of an email whose events are gone leads to the newest', async () => {
  const page = await ada.show(`/emails/${outage.emailId}?after=1`);
  expect(textOf(page)).toContain('No older event is known');
  expect(page).toContain(`<a href="/emails/${outage.emailId}">The newest events</a>`);
});

describe('a filter that no new entry fits', () => {
  test('looks at 10,000 dead letters, and leads to the older ones', async () => {
    await query(
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error)
       select 'dl_01jd' || lpad(n::text, 22, '0'), account_id, webhook_id, 'evt_01jd' || lpad(n::text, 22, '0'), 'email.sent',
              now(), data, 8, 'rejected', last_error
       from dead_letters, generate_series(1, 10000) n`,
    );
    await query(`update dead_letters set created_at = '2026-01-01' where event_id = $1`, [outage.eventId]);
    const first = await ada.show('/dead-letters?status=503');
    expect(textOf(first)).toContain('None of the newest 10,000 matches');
    const second = await ada.show(olderOn(first));
    expect(second).toContain(`/events/${outage.eventId}`);
    expect(olderOn(second)).toBe('');
    expect(textOf(second)).toContain(' 1+ match all webhooks');
  });

  test.each(['', '&account=Meadow+Shop'])(
    'looks at 10,000 held messages%s, and leads to the older ones',
    async (account) => {
      await addHeld(1, 20_000, { held_reason: 'spam' });
      const first = await ada.show(`/held?reason=virus${account}`);
      expect(textOf(first)).toContain('None of the newest 10,000 matches');
      const second = await ada.show(olderOn(first));
      expect(textOf(second)).toContain('None of the next 10,000 matches');
      const third = await ada.show(olderOn(second));
      expect(third).toContain(`/messages/${outage.messageId}`);
      expect(olderOn(third)).toBe('');
      expect(textOf(await ada.show('/held?reason=virus&after=1-msg_01jd0000000000000000000001'))).toContain(
        'No older held mail matches',
      );
    },
  );

  test('looks at 500 events of a webhook, and leads to the older ones', async () => {
    await addEvents('y', 1_001, 'email.sent');
    await query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
       select now(), 9, 1, id, $1, type, 5, 200 from events where id like 'evt_01jd%'`,
      [outage.failing],
    );
    await query('delete from deliveries');
    const path = `/webhooks/${outage.failing}?status=failed`;
    const first = await ada.show(path);
    expect(textOf(first)).toContain('None of the newest 500 matches');
    expect(first).not.toContain('Nothing was recorded');
    const second = await ada.show(olderOn(first));
    expect(textOf(second)).toContain('None of the next 500 matches');
    const third = await ada.show(olderOn(second));
    expect(third).toContain(`/events/${outage.eventId}`);
    expect(olderOn(third)).toBe('');
  });
});

test('the page behind the last dead letter that matches says so', async () => {
  const words = textOf(await ada.show('/dead-letters?status=503&after=1-dl_01jd0000000000000000000001'));
  expect(words).toContain('No older one matches');
  expect(words).not.toContain('Every delivery that fits');
});

test('the page behind the last match of a webhook says that no older event matches', async () => {
  const { text } = await ada.get(`/webhooks/${outage.failing}?status=failed&after=1`);
  expect(textOf(text)).toContain('No older event matches');
  expect(text).not.toContain('Nothing was recorded');
});
