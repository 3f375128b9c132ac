import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf, recordEvent } from '@postrider/domain';
import type { AccountId, Clock, EmailId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { sendMail, sendToProvider } from '../../test/ended-mail.ts';
import { setupStore } from '../../test/open-store.ts';
import { isUnavailable, unavailableInWords } from '../db/errors.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import { createEventStore } from './events.ts';
import type { EventCursor, EventFilter } from './events.ts';

const store = setupStore();
let accountId: AccountId;

beforeEach(async () => {
  await createRows(store.outside).clear();
  accountId = await store.newAccount();
});

/** The types of the listed events, each with a word for who it is about. */
async function listed(filter: EventFilter = {}, after?: EventCursor, of = accountId): Promise<string[]> {
  const page = await createEventStore(store.db).list(of, filter, { after, limit: 100 });
  if (page === null) throw new Error('no such cursor');
  return page.entries.map(({ type, data }) => {
    const { to, email_id: emailId } = JSON.parse(data) as { to?: string; email_id: string | null };
    return `${type} ${to ?? emailId ?? ''}`;
  });
}

const suppress = (address: string, of = accountId, clock: Clock = store.clock) =>
  createSuppressionStore(store.db, clock).add(of, [address]);

/** Suppresses the address with an event of this time. */
async function suppressAt(address: string, time: string): Promise<void> {
  await suppress(address);
  await store.outside.query(
    'update events set created_at = $1 where position = (select max(position) from events)',
    [time],
  );
}

/** An event of `address` in a transaction that stays open. @returns what commits it */
async function openEvent(address: string): Promise<() => Promise<void>> {
  const written = Promise.withResolvers<void>();
  const mayCommit = Promise.withResolvers<void>();
  const data = { email_id: null, to: address, topic: null, scope: 'all', source: 'api' } as const;
  const occurredAt = store.clock.now().toISOString();
  const transaction = store.db.transactions.run(async (tx) => {
    const draft = {
      type: 'email.unsubscribed',
      accountId,
      data: { ...data, occurred_at: occurredAt },
    } as const;
    await recordEvent(tx, draft, store.clock);
    written.resolve();
    await mayCommit.promise;
  });
  await written.promise;
  return async () => {
    mayCommit.resolve();
    await transaction;
  };
}

describe('who reads on after the last entry', () => {
  test('gets an event that was recorded earlier and committed later', async () => {
    await suppress('first@b.example');
    const events = createEventStore(store.db);
    const first = await events.list(accountId, {}, { limit: 100 });
    const commit = await openEvent('slow@b.example');
    await suppress('quick@b.example');
    const meanwhile = await events.list(accountId, {}, { after: first?.position, limit: 100 });
    expect(meanwhile).toEqual({ entries: [], hasMore: false, position: first?.position });
    await commit();
    expect(await listed({}, meanwhile?.position)).toEqual([
      'email.unsubscribed slow@b.example',
      'email.unsubscribed quick@b.example',
    ]);
  });

  test('gets each of many events of concurrent transactions exactly once', async () => {
    const events = createEventStore(store.db);
    const seen: string[] = [];
    let position = 0n;
    const readOn = async () => {
      const page = await events.list(accountId, {}, { after: position, limit: 7 });
      if (page === null) throw new Error('no such cursor');
      seen.push(...page.entries.map(({ id }) => id));
      position = page.position;
      return page.hasMore;
    };
    const causes = Array.from({ length: 6 }, async (_, n) => {
      for (let m = 0; m < 20; m += 1) {
        const commit = m % 2 === 0 ? await openEvent(`a${n}.${m}@b.example`) : null;
        await suppress(`b${n}.${m}@b.example`);
        await commit?.();
      }
    });
    const state = { areDone: false };
    const done = Promise.all(causes).then(() => (state.areDone = true));
    while (!state.areDone) await readOn();
    await done;
    while (await readOn());
    const all = await store.outside.query<{ id: string }>('select id from events order by id');
    expect(all).toHaveLength(180);
    expect(seen.toSorted()).toEqual(all.map(({ id }) => id));
  });

  test('goes on behind a slow transaction that has ended, while the next one is open', async () => {
    const events = createEventStore(store.db);
    const seen = async () => (await events.list(accountId, {}, { limit: 100 }))?.entries.length;
    expect(await seen()).toBe(0);
    const commitFirst = await openEvent('slow@b.example');
    await suppress('quick@b.example');
    expect(await seen()).toBe(0);
    const commitSecond = await openEvent('slow-too@b.example');
    expect(await seen()).toBe(0);
    await commitFirst();
    expect(await seen()).toBe(2);
    await commitSecond();
  });

  test('has to come again while no position is known and a transaction stays open', async () => {
    const commit = await openEvent('slow@b.example');
    const refused = await listed().catch((error: unknown) => error);
    expect(isUnavailable(refused)).toBe(true);
    expect(unavailableInWords(refused)).toBe('a transaction that records events stays open');
    expect((refused as Error).message).toBe('a transaction that records events stays open');
    await commit();
    expect(await listed()).toEqual(['email.unsubscribed slow@b.example']);
  });
});

describe('a cursor beyond the last position that the database has given', () => {
  test('is refused: the database was restored to an earlier time, and would leave out events', async () => {
    await suppress('a@b.example');
    const events = createEventStore(store.db);
    const position = (await events.list(accountId, {}, { limit: 100 }))?.position ?? 0n;
    expect(await events.list(accountId, {}, { after: position + 1n, limit: 100 })).toBeNull();
    await suppress('b@b.example');
    expect(await listed({}, position)).toEqual(['email.unsubscribed b@b.example']);
  });

  test('is taken when only this process does not know the position yet', async () => {
    const behind = createEventStore(store.db);
    await behind.list(accountId, {}, { limit: 100 });
    await suppress('a@b.example');
    const position = (await createEventStore(store.db).list(accountId, {}, { limit: 100 }))?.position;
    const commit = await openEvent('slow@b.example');
    const page = await behind.list(accountId, {}, { after: position, limit: 100 });
    expect(page).toEqual({ entries: [], hasMore: false, position });
    await commit();
  });
});

describe('who asked with `since`, got an empty page and reads on without it', () => {
  test('gets the later events, and none of long before', async () => {
    await suppress('old@b.example');
    await store.outside.query(`update events set created_at = created_at - interval '2 hours'`);
    const events = createEventStore(store.db);
    const since = new Date();
    const page = await events.list(accountId, { since }, { limit: 100 });
    expect(page?.entries).toEqual([]);
    await suppress('new@b.example');
    expect(await listed({}, page?.position)).toEqual(['email.unsubscribed new@b.example']);
  });
});

describe('a list', () => {
  test('holds the account’s events alone, the oldest first, in pages', async () => {
    for (const name of ['a', 'b', 'c']) await suppress(`${name}@b.example`);
    const other = await store.newAccount();
    await suppress('d@b.example', other);
    const events = createEventStore(store.db);
    const first = await events.list(accountId, {}, { limit: 2 });
    expect(first?.entries.map(({ data }) => (JSON.parse(data) as { to: string }).to)).toEqual([
      'a@b.example',
      'b@b.example',
    ]);
    expect(first?.hasMore).toBe(true);
    expect(await listed({}, first?.entries[1]?.id)).toEqual(['email.unsubscribed c@b.example']);
    expect(await listed({}, undefined, other)).toEqual(['email.unsubscribed d@b.example']);
    expect(await events.list(other, {}, { after: first?.entries[1]?.id, limit: 2 })).toBeNull();
    expect(await events.list(other, {}, { after: newId('event', store.clock), limit: 2 })).toBeNull();
    await store.outside.query('update events set position = null where id = $1', [first?.entries[1]?.id]);
    expect(await events.list(accountId, {}, { after: first?.entries[1]?.id, limit: 2 })).toBeNull();
  });

  test('ends a page early when the data grows large, never before the first event', async () => {
    for (const name of ['a', 'b', 'c']) await suppress(`${name}@b.example`);
    await store.outside.query(`update events set data = rpad('', 5000000, 'x')`);
    const events = createEventStore(store.db);
    const page = await events.list(accountId, {}, { limit: 100 });
    expect([page?.entries.length, page?.hasMore]).toEqual([2, true]);
    const rest = await events.list(accountId, {}, { after: page?.position, limit: 100 });
    expect([rest?.entries.length, rest?.hasMore]).toEqual([1, false]);
  });

  test('is narrowed by type and by time', async () => {
    const times = ['2026-03-01T10:00:00.000Z', '2026-03-01T12:00:00.000Z', '2026-03-01T14:00:00.000Z'];
    for (const [n, time] of times.entries()) {
      await suppressAt(`${n}@b.example`, time);
    }
    const at = (time = '') => new Date(time);
    const names = async (filter: EventFilter) =>
      (await listed(filter)).map((each) => each.split(' ')[1]?.[0]);
    expect(await names({ since: at(times[1]) })).toEqual(['1', '2']);
    expect(await names({ until: at(times[1]) })).toEqual(['0']);
    expect(await names({ since: at(times[1]), until: at(times[2]) })).toEqual(['1']);
    expect(await names({ since: at('2026-03-02T00:00:00Z') })).toEqual([]);
    expect(await names({ type: 'email.unsubscribed' })).toEqual(['0', '1', '2']);
    expect(await names({ type: 'email.sent' })).toEqual([]);
  });

  /* An event is committed, and gets its position, up to ten minutes after its date. */
  test('holds an event of the time that was committed after later ones', async () => {
    for (const time of ['2026-03-01T12:09:59.000Z', '2026-03-01T12:00:00.000Z']) {
      await suppressAt(`at-${time.slice(11, 19)}@b.example`, time);
    }
    expect(await listed({ since: new Date('2026-03-01T12:09:59.000Z') })).toEqual([
      'email.unsubscribed at-12:09:59@b.example',
    ]);
    expect(await listed({ until: new Date('2026-03-01T12:00:00.001Z') })).toEqual([
      'email.unsubscribed at-12:00:00@b.example',
    ]);
  });
});

const HOUR_MS = 60 * 60 * 1000;

/* A process cannot set the time of an event: one wrong time would hide the events of other accounts. */
test.each([-2 * HOUR_MS, 365 * 24 * HOUR_MS])(
  'a process whose clock is %i ms off hides no event from a list by time',
  async (offMs) => {
    const clockOff = { now: () => new Date(Date.now() + offMs) };
    await suppress('before@b.example');
    await suppress('elsewhere@b.example', await store.newAccount(), clockOff);
    await suppress('own@b.example', accountId, clockOff);
    await suppress('after@b.example');
    const now = Date.now();
    expect(await listed({ since: new Date(now - HOUR_MS), until: new Date(now + HOUR_MS) })).toEqual([
      'email.unsubscribed before@b.example',
      'email.unsubscribed own@b.example',
      'email.unsubscribed after@b.example',
    ]);
  },
);

describe('a recipient, however the address is written,', () => {
  const BOB = 'bob@xn--bcher-kva.example';

  async function sent(change: Parameters<typeof sendMail>[2]): Promise<EmailId> {
    const id = await sendMail(store, accountId, change);
    await sendToProvider(store, id);
    return id;
  }

  async function reported(emailId: EmailId, recipients: string[]): Promise<void> {
    const event = {
      type: 'email.delivered',
      recipients,
      occurredAt: store.clock.now().toISOString(),
      detail: notificationDetailOf({}),
    } as const;
    const ids = {
      notificationId: newId('event', store.clock),
      emailId,
      providerMessageId: null,
      writtenEmailId: null,
    };
    await createProviderNotificationStore(store.db, store.clock).record({ ...ids, suppress: [], event });
  }

  test('leads to no event of another account, even where both have the same key', async () => {
    const other = await store.newAccount();
    for (const owner of [accountId, other]) await suppress(BOB, owner);
    const sameKey = `update events set recipients = (select recipients from events where account_id = $1) where account_id = $2`;
    await store.outside.query(sameKey, [accountId, other]);
    const own = [`email.unsubscribed ${BOB}`];
    expect(await listed({ recipient: BOB })).toEqual(own);
    await store.outside.query(
      `insert into event_recipients (key, type, position, event_id)
       select recipients[1], type, position, id from events where account_id = $1`,
      [other],
    );
    await store.outside.query('update events set recipients = null where account_id = $1', [other]);
    expect(await listed({ recipient: BOB })).toEqual(own);
  });

  test('leads to the events of mail, whether it is the first or the last of its recipients', async () => {
    const first = await sent({ to: ['Bob <Bob@bücher.example>', 'ada@a.example'] });
    const last = await sent({ to: ['ada@a.example'], cc: ['eve@a.example'], bcc: [BOB] });
    const other = await sent({ to: ['ada@a.example'] });
    await reported(last, ['ada@a.example', 'BOB@xn--bcher-kva.example']);
    await reported(first, ['ada@a.example']);
    await suppress(BOB);
    expect(await listed({ recipient: BOB })).toEqual([
      `email.sent ${first}`,
      `email.sent ${last}`,
      `email.delivered ${last}`,
      `email.unsubscribed ${BOB}`,
    ]);
    expect(await listed({ recipient: BOB, type: 'email.sent' })).toHaveLength(2);
    expect(await listed({ recipient: BOB, emailId: first })).toEqual([`email.sent ${first}`]);
    expect(await listed({ recipient: 'eve@a.example' })).toEqual([`email.sent ${last}`]);
    expect(await listed({ emailId: first })).toEqual([`email.sent ${first}`, `email.delivered ${first}`]);
    expect(await listed({ emailId: other })).toEqual([`email.sent ${other}`]);
    expect(await listed({ emailId: first, type: 'email.sent' })).toEqual([`email.sent ${first}`]);
    expect(await listed({ recipient: BOB }, undefined, await store.newAccount())).toEqual([]);
    expect(await listed({ emailId: first }, undefined, await store.newAccount())).toEqual([]);
  });
});
