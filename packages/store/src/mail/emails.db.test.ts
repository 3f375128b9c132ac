import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, EmailId, KeyKind } from '@postrider/domain';
import { draftOf } from '../../test/draft.ts';
import { setupStore } from '../../test/open-store.ts';
import { openDatabase } from '../db/database.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { createEmailStore } from './emails.ts';
import type { EmailStore } from './emails.ts';

const store = setupStore();
let emails: EmailStore;
let accountId: AccountId;

beforeAll(async () => {
  emails = createEmailStore(store.db, store.clock);
});
beforeEach(async () => void (accountId = await store.newAccount()));

async function sent(kind: KeyKind = 'live', draft = draftOf()): Promise<EmailId> {
  const outcome = await emails.send({ accountId, kind, drafts: [draft], domains: [], idempotency: null });
  if (outcome.kind !== 'stored' || outcome.ids[0] === undefined) throw new Error(outcome.kind);
  return outcome.ids[0];
}

async function outbox(id: string) {
  return store.outside.query(
    'select attempts, claim, due_at <= now() as due from email_sends where email_id = $1',
    [id],
  );
}

test('without topics no statement runs', async () => {
  const away = openDatabase(
    {
      databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
      size: 1,
      applicationName: 'away',
      onError: () => undefined,
    },
    { send: () => undefined, close: async () => undefined },
  );
  const unreachable = createEmailStore(away, store.clock);
  expect(await unreachable.unknownTopics(accountId, [])).toEqual([]);
  await expect(unreachable.unknownTopics(accountId, [newId('topic', store.clock)])).rejects.toThrow(
    StoreUnavailableError,
  );
  await away.close();
});

describe('send', () => {
  test('stores the message and its row in the outbox, due now, and wakes the relay', async () => {
    const id = await sent();
    expect(await outbox(id)).toEqual([{ attempts: 0, claim: 0, due: true }]);
    expect(store.wakeUps.at(-1)).toEqual({ webhooks: [], mail: true });
    expect({ ...(await emails.find({ accountId, kind: 'live' }, id)), attachments: [] }).toEqual({
      ...draftOf(),
      id,
      accountId,
      kind: 'live',
      status: 'queued',
      lastEvent: 'queued',
      error: null,
      createdAt: expect.any(Date),
      sentAt: null,
      providerMessageId: null,
    });
  });

  test('a message of a test key is only stored', async () => {
    const asked = store.wakeUps.length;
    const id = await sent('test');
    expect(await outbox(id)).toEqual([]);
    expect(store.wakeUps).toHaveLength(asked);
    expect(await emails.find({ accountId, kind: 'live' }, id)).toMatchObject({
      kind: 'test',
      status: 'stored',
      lastEvent: 'stored',
    });
  });

  test('the headers keep their order', async () => {
    const id = await sent('live', draftOf({ headers: { 'X-B': '1', 'X-A': '2' } }));
    const found = await emails.find({ accountId, kind: 'live' }, id);
    expect(Object.keys(found?.headers ?? {})).toEqual(['X-B', 'X-A']);
  });

  describe('when the outbox cannot be written', () => {
    beforeEach(() => store.outside.query('alter table email_sends rename to away'));
    afterEach(() => store.outside.query('alter table away rename to email_sends'));

    test('the message is not stored either', async () => {
      await expect(sent()).rejects.toThrow();
      expect(await store.outside.query('select 1 from emails where account_id = $1', [accountId])).toEqual(
        [],
      );
    });
  });
});

test('another account’s message reads as missing', async () => {
  const id = await sent();
  expect(await emails.find({ accountId: await store.newAccount(), kind: 'live' }, id)).toBeNull();
  expect(await emails.find({ accountId, kind: 'live' }, newId('email', store.clock))).toBeNull();
});

describe('an attachment', () => {
  const MIB = 1024 * 1024;
  const content = Buffer.alloc(3 * MIB, Buffer.from('0123456789abcdef-'));

  async function attached() {
    const emailId = await sent();
    await store.outside.query(
      `insert into email_attachments (email_id, position, filename, content_type, content) values ($1, 0, 'a.txt', null, $2)`,
      [emailId, content],
    );
    return { emailId, position: 0 };
  }

  /** The number of parts that Postgres has read so far of long contents. A part has some 2,000 bytes. */
  async function partsRead(): Promise<number> {
    await store.db.pool.query('select pg_stat_force_next_flush()');
    const [read] = await store.outside.query<{ parts: number }>(
      `select idx_tup_fetch::int as parts from pg_stat_all_tables
       where relid = (select reltoastrelid from pg_class where oid = 'email_attachments'::regclass)`,
    );
    return read?.parts ?? NaN;
  }

  test('is found by its link without its content, and only the asked bytes are read', async () => {
    const file = await attached();
    const before = await partsRead();
    const found = { accountId, filename: 'a.txt', contentType: null, size: content.length };
    expect(await emails.findLinked(file)).toEqual(found);
    expect((await partsRead()) - before).toBe(0);
    expect(await emails.attachmentPiece(file, 2 * MIB, 10)).toEqual(content.subarray(2 * MIB, 2 * MIB + 10));
    expect((await partsRead()) - before).toBeLessThanOrEqual(2);
    expect((await emails.attachmentPiece(file, 0, content.length))?.equals(content)).toBe(true);
    expect((await partsRead()) - before).toBeGreaterThan(1_000);
  });

  test('is missing when its content is deleted, and has no bytes behind its end', async () => {
    const file = await attached();
    expect(await emails.attachmentPiece(file, content.length, 1)).toEqual(Buffer.alloc(0));
    const other = { ...file, position: 1 };
    expect([await emails.findLinked(other), await emails.attachmentPiece(other, 0, 1)]).toEqual([null, null]);
  });
});
