import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, senderPatterns } from '@postrider/domain';
import type { AccountId, InboxId, KeyKind } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { incoming, SHARED_DOMAIN as SHARED } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { createInboxStore } from './inboxes.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { ReceivedMessageStore } from './received-message-store.ts';
import { judgeMessage } from './sql/receive-message.ts';

const store = setupStore();
let rows: Rows;
let intake: ReceivedMessageStore;
let accountId: AccountId;

beforeAll(async () => {
  rows = createRows(store.outside);
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED]);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await store.newAccount();
});

async function inbox(local: string, kind: KeyKind = 'live', owner = accountId): Promise<InboxId> {
  const inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: [SHARED],
    reservedNames: [],
    perAccountMax: 100,
  });
  const address = `${local}@${SHARED}`;
  const creation = await inboxes.create({ accountId: owner, kind, address, name: address, fromName: null });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.id;
}

const block = (sender: string) =>
  store.outside.query('insert into blocked_senders values ($1, $2, $3, now())', [
    ...[newId('blockedSender', store.clock), accountId, sender],
  ]);

const stored = () =>
  store.outside.query(
    `select kind::text, status::text, held_reason::text as reason, thread_id is not null as threaded
     from messages order by id`,
  );
const events = () => store.outside.query('select type from events order by id');

describe('a message of a blocked sender', () => {
  test.each(['ann@news.shop.example', 'news.shop.example', 'shop.example'])('is held: %s', async (sender) => {
    await inbox('a');
    await block(sender);
    await intake.receive(incoming());
    expect(await stored()).toMatchObject([{ status: 'held', reason: 'blocked_sender', threaded: false }]);
    expect(await events()).toEqual([{ type: 'message.held' }]);
  });

  test.each([
    '"a b"@shop.example',
    'gr\u00fc\u00dfe@shop.example',
    'x@a_b.shop.example.',
    `${'v'.repeat(80)}@shop.example`,
  ])('is held however its address is written, and wherever it stands among others: %s', async (sender) => {
    await inbox('a');
    await block('shop.example');
    await intake.receive(incoming({ senders: ['bob@other.example', sender, 'bounce@mail.example'] }));
    expect(await stored()).toMatchObject([{ reason: 'blocked_sender' }]);
  });

  test('is not held for a name with the same ending, nor in another account', async () => {
    await inbox('a');
    await inbox('b', 'live', await store.newAccount());
    await block('hop.example');
    await block('mail.news.shop.example');
    await intake.receive(incoming());
    await block('shop.example');
    await intake.receive(incoming({ recipients: [`b@${SHARED}`] }));
    expect(await stored()).toMatchObject([{ status: 'received' }, { status: 'received' }]);
  });

  test('is held with the reason of screening, if there is one', async () => {
    await inbox('a');
    await block('shop.example');
    await intake.receive(incoming({ heldReason: 'virus' }));
    expect(await stored()).toMatchObject([{ reason: 'virus' }]);
  });

  test('is held in a test inbox only by screening, because the block list is for live mail', async () => {
    await inbox('a', 'test');
    await inbox('b');
    await block('shop.example');
    await intake.receive(incoming({ recipients: [`a@${SHARED}`, `b@${SHARED}`] }));
    await intake.receive(incoming({ heldReason: 'spam' }));
    const found = await stored();
    expect(found).toHaveLength(3);
    expect(found).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'test', reason: null, threaded: true }),
        expect.objectContaining({ kind: 'live', reason: 'blocked_sender' }),
        expect.objectContaining({ kind: 'test', reason: 'spam' }),
      ]),
    );
  });
});

describe('a message with many senders', () => {
  const crowd = (count: number) => Array.from({ length: count }, (_, n) => `x@mail${n}.other.example`);

  test('is compared with the block list for up to 20 senders, including the last', async () => {
    await inbox('a');
    await block('shop.example');
    await intake.receive(incoming({ senders: crowd(20) }));
    expect(await stored()).toMatchObject([{ reason: null }]);
    await intake.receive(incoming({ senders: [...crowd(19), 'ann@shop.example'] }));
    expect(await stored()).toContainEqual(expect.objectContaining({ reason: 'blocked_sender' }));
  });

  test.each([
    ['beyond twenty', crowd(21)],
    ['that cannot all be read', null],
  ])('%s is held where the account blocks anybody, and nowhere else', async (_, senders) => {
    await inbox('a');
    await inbox('b', 'test');
    await block('shop.example');
    const other = await store.newAccount();
    await inbox('c', 'live', other);
    const recipients = ['a', 'b', 'c'].map((local) => `${local}@${SHARED}`);
    await intake.receive(incoming({ recipients, senders }));
    const found = await store.outside.query(
      'select account_id as owner, kind::text, held_reason::text as reason from messages',
    );
    expect(found).toHaveLength(3);
    expect(found).toEqual(
      expect.arrayContaining([
        { owner: accountId, kind: 'live', reason: 'blocked_sender' },
        { owner: accountId, kind: 'test', reason: null },
        { owner: other, kind: 'live', reason: null },
      ]),
    );
  });

  test('is held with the reason of screening, if there is one', async () => {
    await inbox('a');
    await block('shop.example');
    await intake.receive(incoming({ heldReason: 'auth_failed', senders: crowd(1_000) }));
    expect(await stored()).toMatchObject([{ reason: 'auth_failed' }]);
  });
});

test('sender names are computed once for all inboxes of a message, and not for a message that is held anyway', async () => {
  await inbox('a');
  await inbox('b');
  let reads = 0;
  const senders = Object.defineProperty([''], 0, {
    get() {
      reads += 1;
      return 'ann@shop.example';
    },
  });
  await intake.receive(incoming({ recipients: [`a@${SHARED}`, `b@${SHARED}`], senders }));
  expect(await stored()).toHaveLength(2);
  expect(reads).toBe(1);
  await intake.receive(incoming({ heldReason: 'spam', senders }));
  expect(await stored()).toHaveLength(3);
  expect(reads).toBe(1);
});

test('a long block list is read by its index, however many names a message has', async () => {
  await store.outside.query(
    `insert into blocked_senders
     select 'bs_' || n, $1, 'n' || n || '.example', now() from generate_series(1, 10000) n`,
    [accountId],
  );
  await store.outside.query('analyze blocked_senders');
  const senders = Array.from({ length: 4 }, (_, n) => `x@${'a.'.repeat(20)}mail${n}.n1.example`);
  const patterns = senderPatterns(senders);
  const seen: ExplainedStatement[] = [];
  await explainedPool(store.db.pool, seen).query(judgeMessage.text, [
    ...[accountId, null, null, Buffer.alloc(32), patterns],
  ]);
  expect(seen).toHaveLength(1);
  expect(Object.keys(seen[0]?.pagesBy ?? {})).toContain('blocked_senders_sender');
  expect(seen[0]?.rowsMax).toBeLessThanOrEqual(patterns.length);
});
