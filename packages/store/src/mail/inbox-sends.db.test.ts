import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { requestDigest } from '@postrider/domain';
import type { AccountId, EmailDraft, InboxId, KeyKind } from '@postrider/domain';
import { createRows, untilWaitingForLock, withClient } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { ageSends } from '../../test/age-sends.ts';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { createInboxStore } from '../inbound/inboxes.ts';
import { removeInboxes } from '../retention/remove-inboxes.ts';
import { storeMail } from './send-emails.ts';
import type { SendRequest } from './send-request.ts';
import { judgeInboxSends, lockFormerSenders } from './sql/send-emails.ts';

const ADDRESS = 'agent@in.example';

const store = setupStore();
let rows: Rows;
let accountId: AccountId;

beforeAll(async () => {
  rows = createRows(store.outside);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await store.newAccount();
});

const inboxStore = () =>
  createInboxStore(store.db, store.clock, {
    sharedDomains: ['in.example'],
    reservedNames: [],
    perAccountMax: 100,
  });

async function inbox(address = ADDRESS, kind: KeyKind = 'live', owner = accountId): Promise<InboxId> {
  const creation = await inboxStore().create({
    accountId: owner,
    kind,
    address,
    name: address,
    fromName: null,
  });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.id;
}

function draft(more: Partial<EmailDraft> = {}): EmailDraft {
  return {
    from: `"An Agent" <Agent+x@in.example>`,
    to: ['bob@b.example'],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'Hi',
    html: null,
    text: 'Hi',
    headers: {},
    attachments: [],
    tags: [],
    topicId: null,
    ...more,
  };
}

function request(more: Partial<SendRequest> = {}): SendRequest {
  return { accountId, kind: 'live', drafts: [draft()], domains: [], idempotency: null, ...more };
}

const send = (more: Partial<SendRequest> = {}) => storeMail(store.db, store.clock, request(more));
const counted = async (table: string): Promise<number> =>
  (await store.outside.query<{ n: number }>(`select count(*)::int as n from ${table}`))[0]?.n ?? NaN;
const kindsOf = (outcomes: readonly { kind: string }[]) =>
  Object.fromEntries(
    [...new Set(outcomes.map(({ kind }) => kind))]
      .sort()
      .map((kind) => [kind, outcomes.filter((each) => each.kind === kind).length]),
  );

describe('live mail from an inbox’s address', () => {
  test('is a message of the inbox, in a new thread', async () => {
    const id = await inbox();
    const outcome = await send();
    expect(outcome).toMatchObject({ kind: 'stored' });
    const [note] = await store.outside.query<{ inbox_id: string; thread_id: string; email_id: string }>(
      'select * from inbox_sends',
    );
    expect(note).toMatchObject({ inbox_id: id, email_id: 'ids' in outcome ? outcome.ids[0] : null });
    expect(
      await store.outside.query('select subject from inbox_threads where id = $1', [note?.thread_id]),
    ).toEqual([{ subject: 'Hi' }]);
    expect(await counted('email_sends')).toBe(1);
  });

  test('joins the thread that its own headers name', async () => {
    await inbox();
    const first = await send();
    const id = 'ids' in first ? String(first.ids[0]) : '';
    await send({ drafts: [draft({ headers: { references: `<${id}@in.example>`, 'X-Other': '<a@b>' } })] });
    await send({ drafts: [draft({ headers: { 'IN-REPLY-TO': `<${id}@in.example>` } })] });
    await send({ drafts: [draft({ headers: { References: '<nobody@in.example>' } })] });
    expect(await counted('inbox_threads')).toBe(2);
  });

  test('joins a thread by one of the newest ids in References, of which 200 count', async () => {
    await inbox();
    const first = await send();
    const known = 'ids' in first ? `<${String(first.ids[0])}@in.example>` : '';
    const unknown = (count: number) => '<a@b> '.repeat(count);
    const answers = [`${unknown(299)}${known}`, `<a@b> ${known} ${unknown(298)}`];
    const threads = [];
    for (const References of answers) {
      await send({ drafts: [draft({ headers: { References } })] });
      threads.push(await counted('inbox_threads'));
    }
    expect(threads).toEqual([1, 2]);
  });

  test.each(['<ID >', '< ID>', '<LOCAL @in.example>', 'ID'])(
    'that answers %j is counted into the thread, as a mail reader would sort it',
    async (written) => {
      await inbox();
      const first = await send();
      const local = 'ids' in first ? String(first.ids[0]) : '';
      const id = written.replace('ID', `${local}@in.example`).replace('LOCAL', local);
      const answer = { drafts: [draft({ headers: { 'In-Reply-To': id } })] };
      for (let n = 0; n < 9; n += 1) expect(await send(answer)).toMatchObject({ kind: 'stored' });
      expect(await send(answer)).toEqual({ kind: 'thread-over-limit' });
      expect(await counted('inbox_threads')).toBe(1);
    },
  );

  test('of another account joins no thread and is not counted', async () => {
    await inbox();
    const first = await send();
    const id = 'ids' in first ? String(first.ids[0]) : '';
    const other = await store.newAccount();
    const answer = draft({ headers: { 'In-Reply-To': `<${id}@in.example>` } });
    const fromOther = { accountId: other, drafts: Array.from({ length: 61 }, () => answer) };
    expect(await send(fromOther)).toMatchObject({ kind: 'stored' });
    await inbox('other@in.example', 'live', other);
    const mixed = { accountId: other, drafts: [draft({ from: 'other@in.example' }), ...fromOther.drafts] };
    expect(await send(mixed)).toMatchObject({ kind: 'stored' });
    expect({ sends: await counted('inbox_sends'), threads: await counted('inbox_threads') }).toEqual({
      sends: 2,
      threads: 2,
    });
    const own = { drafts: Array.from({ length: 59 }, () => draft()) };
    expect(await send(own)).toMatchObject({ kind: 'stored' });
    expect(await send()).toEqual({ kind: 'inbox-over-limit' });
  });

  test('is accepted 60 times an hour, also for concurrent requests, alone or in batches', async () => {
    await inbox();
    const outcomes = await Promise.all([
      ...Array.from({ length: 40 }, () => send()),
      ...Array.from({ length: 40 }, () => send({ drafts: [draft(), draft({ from: 'x@other.example' })] })),
    ]);
    expect(kindsOf(outcomes)).toEqual({ stored: 60, 'inbox-over-limit': 20 });
    expect(await counted('inbox_sends')).toBe(60);
    expect(await send({ drafts: [draft({ from: 'x@other.example' })] })).toMatchObject({ kind: 'stored' });
    await ageSends(store, '1 hour');
    expect(await send()).toMatchObject({ kind: 'stored' });
  });

  test('stores nothing of a batch that exceeds the limit', async () => {
    await inbox();
    expect(await send({ drafts: Array.from({ length: 59 }, () => draft()) })).toMatchObject({
      kind: 'stored',
    });
    const before = await counted('emails');
    expect(await send({ drafts: [draft(), draft()] })).toEqual({ kind: 'inbox-over-limit' });
    expect({ emails: await counted('emails'), threads: await counted('inbox_threads') }).toEqual({
      emails: before,
      threads: 59,
    });
    expect(await send()).toMatchObject({ kind: 'stored' });
  });

  test('is accepted 10 times an hour for one thread, also for concurrent requests', async () => {
    const inboxId = await inbox();
    await send();
    const [thread] = await store.outside.query<{ id: string }>('select id from inbox_threads');
    const reply = {
      inboxId,
      threadId: thread?.id as NonNullable<SendRequest['reply']>['threadId'],
      messages: 1,
      skipped: [],
    };
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => send({ reply })));
    expect(kindsOf(outcomes)).toEqual({ stored: 9, 'thread-over-limit': 11 });
  });

  test('of a reply counts once for each recipient that a stranger chose', async () => {
    const inboxId = await inbox();
    await send();
    const [thread] = await store.outside.query<{ id: string }>('select id from inbox_threads');
    const threadId = thread?.id as NonNullable<SendRequest['reply']>['threadId'];
    const reply = (messages: number) => send({ reply: { inboxId, threadId, messages, skipped: [] } });
    expect(kindsOf([await reply(40), await reply(20), await reply(19), await reply(1)])).toEqual({
      stored: 2,
      'inbox-over-limit': 2,
    });
  });

  test('repeated under an idempotency key is not counted, also at the limit', async () => {
    await inbox();
    const idempotency = { route: 'r', key: randomUUID(), digest: requestDigest({}) };
    const first = await send({ idempotency });
    await send({ drafts: Array.from({ length: 59 }, () => draft()) });
    expect(await send()).toEqual({ kind: 'inbox-over-limit' });
    expect(await send({ idempotency })).toEqual({ ...first, kind: 'repeated' });
    const fresh = { ...idempotency, key: randomUUID() };
    expect(await send({ idempotency: fresh })).toEqual({ kind: 'inbox-over-limit' });
    await ageSends(store, '1 hour');
    expect(await send({ idempotency: fresh })).toMatchObject({ kind: 'stored' }); // the key stayed free
  });
});

describe('the count of an address whose inbox is deleted', () => {
  const many = (count: number) => send({ drafts: Array.from({ length: count }, () => draft()) });
  const removed = async (id: InboxId) => {
    await inboxStore().delete({ accountId, kind: 'live' }, id);
    await removeInboxes(store.db.pool);
  };

  test('goes on in the next inbox, with the mail that is sent in between', async () => {
    const first = await inbox();
    await many(20);
    await removed(first);
    expect(await counted('inbox_sends')).toBe(0);
    expect(await many(20)).toMatchObject({ kind: 'stored' });
    expect(await counted('inbox_sends')).toBe(0); // it is in no thread
    await removed(await inbox());
    expect(await many(19)).toMatchObject({ kind: 'stored' });
    await inbox();
    expect(kindsOf([await send(), await send()])).toEqual({ stored: 1, 'inbox-over-limit': 1 });
    await ageSends(store, '1 hour');
    expect(await many(60)).toMatchObject({ kind: 'stored' });
  });

  test('is limited for an hour, also for concurrent requests, then not at all', async () => {
    await removed(await inbox());
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => many(2)));
    expect(kindsOf(outcomes)).toEqual({ stored: 30, 'inbox-over-limit': 10 });
    await ageSends(store, '1 hour');
    expect(await many(100)).toMatchObject({ kind: 'stored' });
  });

  test('is exact for requests that wait while the inbox is deleted', async () => {
    const id = await inbox();
    const done = await withClient(store.outside.url, async (session) => {
      await session.query('begin');
      await session.query('select from inboxes where id = $1 for update', [id]);
      const deleting = inboxStore().delete({ accountId, kind: 'live' }, id);
      await untilWaitingForLock(store.outside);
      const sending = Array.from({ length: 4 }, () => many(20));
      await untilWaitingForLock(store.outside, 5);
      await session.query('rollback');
      await deleting;
      return Promise.all(sending);
    });
    expect(kindsOf(done)).toEqual({ stored: 3, 'inbox-over-limit': 1 });
  });

  test('is that of the account, and of a live inbox', async () => {
    await removed(await inbox());
    await inbox('t@in.example', 'test');
    await inboxStore().delete({ accountId, kind: 'test' }, 't@in.example');
    const more = (from: string) => ({ drafts: Array.from({ length: 61 }, () => draft({ from })) });
    for (const sender of [
      { accountId: await store.newAccount(), ...more(ADDRESS) },
      { kind: 'test' as const, ...more(ADDRESS) },
      more('t@in.example'),
    ]) {
      expect(await send(sender)).toMatchObject({ kind: 'stored' });
    }
    await store.outside.query(`insert into counted_sends values ('em_other', $1, $2, 60, now())`, [
      await store.newAccount(),
      ADDRESS,
    ]);
    expect(await many(60)).toMatchObject({ kind: 'stored' });
    expect(await send(more(ADDRESS))).toEqual({ kind: 'inbox-over-limit' });
  });
});

test.each(['not analyzed yet', 'analyzed two hours ago', 'analyzed'])(
  'the count of an address reads its own rows only, in a table that Postgres has %s',
  async (when) => {
    await store.outside.query('alter table counted_sends set (autovacuum_enabled = false)');
    if (when === 'analyzed two hours ago') {
      await store.outside.query(
        `insert into counted_sends select 'old_' || n, $1, $2, 1, now() - interval '2 hours' from generate_series(1, 300) n`,
        [accountId, ADDRESS],
      );
      await store.outside.query('analyze counted_sends');
    }
    await store.outside.query(
      `insert into counted_sends select 'em_' || n, $1, n % 5000 || '@in.example', n % 2, now() from generate_series(1, 20000) n`,
      [accountId],
    );
    if (when === 'analyzed') await store.outside.query('analyze counted_sends');
    const seen: ExplainedStatement[] = [];
    const pool = explainedPool(store.db.pool, seen);
    const addresses = ['7@in.example', '8@in.example'];
    await pool.query(lockFormerSenders.text, [accountId, addresses]);
    await pool.query(judgeInboxSends.text, [accountId, addresses, 60, [], 10]);
    expect(seen.map(({ rowsMax }) => rowsMax <= 20)).toEqual([true, true]);
    expect(seen.flatMap(({ readWhole }) => readWhole)).toEqual([]);
  },
);

test('mail of a test inbox joins a thread and is not counted; an address of the other kind is no inbox', async () => {
  await inbox(ADDRESS, 'test');
  await send();
  expect(await counted('inbox_sends')).toBe(0);
  for (let n = 0; n < 61; n += 1) expect(await send({ kind: 'test' })).toMatchObject({ kind: 'stored' });
  expect({ sends: await counted('inbox_sends'), queued: await counted('email_sends') }).toEqual({
    sends: 61,
    queued: 1,
  });
});

test('mail that is sent while its inbox is deleted stays, without a row in a thread', async () => {
  const id = await inbox();
  const done = await withClient(store.outside.url, async (session) => {
    await session.query('begin; lock table inbox_threads in share mode');
    const sending = send();
    await untilWaitingForLock(store.outside); // the send holds its inbox
    const deleting = inboxStore().delete({ accountId, kind: 'live' }, id);
    await untilWaitingForLock(store.outside, 2);
    await session.query('rollback');
    return Promise.all([sending, deleting]);
  });
  expect(done).toEqual([expect.objectContaining({ kind: 'stored' }), id]);
  await removeInboxes(store.db.pool);
  expect({
    emails: await counted('emails'),
    sends: await counted('inbox_sends'),
    threads: await counted('inbox_threads'),
  }).toEqual({ emails: 1, sends: 0, threads: 0 });
});

test('a reply into a deleted thread stores nothing', async () => {
  const inboxId = await inbox();
  const threadId = 'thr_01jd0000000000000000000001' as NonNullable<SendRequest['reply']>['threadId'];
  expect(await send({ reply: { inboxId, threadId, messages: 1, skipped: [] } })).toEqual({ kind: 'missing' });
  expect(await counted('emails')).toBe(0);
});
