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
      createdAt: store.clock.now(),
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
