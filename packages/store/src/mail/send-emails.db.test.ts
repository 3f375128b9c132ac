import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, EmailDraft, KeyKind } from '@postrider/domain';
import { createRows, untilWaitingForLock } from '@postrider/testing';
import { statementsOf } from '../../test/counted-statements.ts';
import { draftOf } from '../../test/draft.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { storeMail } from './send-emails.ts';
import type { Idempotency, SendOutcome, SendRequest } from './send-request.ts';

const store = setupStore();
let accountId: AccountId;

beforeEach(async () => void (accountId = await store.newAccount()));

function send(request: Partial<SendRequest> = {}): Promise<SendOutcome> {
  const drafts = [draftOf()];
  return storeMail(store.db, store.clock, {
    accountId,
    kind: 'live',
    drafts,
    domains: [],
    idempotency: null,
    ...request,
  });
}

const stored = (ids = [expect.stringMatching(/^em_/)]) => ({ kind: 'stored', ids, skipped: [] });

async function counts() {
  const [row] = await store.outside.query(
    `select (select count(*)::int from emails where account_id = $1) as emails,
            (select count(*)::int from email_sends s join emails e on e.id = s.email_id
             where e.account_id = $1) as sends,
            (select count(*)::int from idempotency_keys where account_id = $1) as keys`,
    [accountId],
  );
  return row;
}

const NOTHING = { emails: 0, sends: 0, keys: 0 };

/** An attachment with these bytes. */
function file(filename: string, bytes: Buffer, more: Partial<EmailDraft['attachments'][number]> = {}) {
  return { filename, content: bytes.toString('base64'), contentType: null, contentId: null, ...more };
}

describe('attachments', () => {
  test('are stored byte for byte, in their order, each with its own message', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const outcome = await send({
      drafts: [
        draftOf({ attachments: [file('Übersicht.bin', every), file('empty', Buffer.alloc(0))] }),
        draftOf(),
        draftOf({
          attachments: [
            file('logo.png', every.subarray(0, 2), { contentType: 'image/png', contentId: 'logo' }),
            file('b', every.subarray(0, 1)),
          ],
        }),
      ],
    });
    if (outcome.kind !== 'stored') throw new Error(outcome.kind);
    const rows = await store.outside.query(
      `select email_id, position, filename, content, content_type, content_id
       from email_attachments where email_id = any ($1) order by email_id, position`,
      [[...outcome.ids]],
    );
    const [first, , third] = outcome.ids;
    const plain = { content_type: null, content_id: null };
    expect(rows).toEqual([
      { email_id: first, position: 0, filename: 'Übersicht.bin', content: every, ...plain },
      { email_id: first, position: 1, filename: 'empty', content: Buffer.alloc(0), ...plain },
      {
        email_id: third,
        position: 0,
        filename: 'logo.png',
        content: every.subarray(0, 2),
        content_type: 'image/png',
        content_id: 'logo',
      },
      { email_id: third, position: 1, filename: 'b', content: every.subarray(0, 1), ...plain },
    ]);
  });
});

test.each<KeyKind>(['live', 'test'])(
  'each message of a %s key stores the domain of its From, normalised as sending domains are',
  async (kind) => {
    const written = ['a@a.example', 'Ann <ann@MAIL.Example>', '"x@y.example" <b@bücher.example>'];
    await send({ kind, drafts: written.map((from) => draftOf({ from })) });
    const rows = await store.outside.query(
      'select from_domain from emails where account_id = $1 order by id',
      [accountId],
    );
    expect(rows.map((row): unknown => row['from_domain'])).toEqual([
      'a.example',
      'mail.example',
      'xn--bcher-kva.example',
    ]);
  },
);

describe('a batch', () => {
  test.each([1, 3, 100])('of %i messages takes one statement, and one wake-up', async (count) => {
    const drafts = Array.from({ length: count }, (_, index) =>
      draftOf({ subject: `No. ${index}`, attachments: [file('a', Buffer.from([index]))] }),
    );
    const woken = store.wakeUps.length;
    let outcome: SendOutcome | undefined;
    const key = { route: 'r', key: 'k', digest: Buffer.alloc(32) };
    const asked = await statementsOf(store.db, async () => {
      outcome = await send({ drafts, idempotency: key, domains: [], kind: 'live' });
    });
    expect(asked).toHaveLength(1);
    expect(store.wakeUps).toHaveLength(woken + 1);
    const ids = outcome?.kind === 'stored' ? outcome.ids : [];
    const rows = await store.outside.query<{ id: string; subject: string }>(
      'select id, subject from emails where account_id = $1 order by created_at, id',
      [accountId],
    );
    expect(rows).toEqual(drafts.map(({ subject }, index) => ({ id: ids[index], subject })));
    expect(await counts()).toEqual({ emails: count, sends: count, keys: 1 });
  });
});

describe('topics', () => {
  async function topic(owner = accountId) {
    const id = newId('topic', store.clock);
    await store.outside.query(
      `insert into topics (id, account_id, name, default_subscription, created_at) values ($1, $2, 'T', 'opt_in', now())`,
      [id, owner],
    );
    return id;
  }

  test('of the account are stored with the message; with unknown and foreign ones nothing is stored', async () => {
    const [own, foreign, unknown] = [
      await topic(),
      await topic(await store.newAccount()),
      newId('topic', store.clock),
    ];
    const drafts = [own, foreign, unknown, null, foreign].map((topicId) => draftOf({ topicId }));
    const outcome = await send({ drafts });
    if (outcome.kind !== 'unknown-topics') throw new Error(outcome.kind);
    expect([...outcome.ids].sort()).toEqual([foreign, unknown].sort());
    expect(await counts()).toEqual(NOTHING);
    expect(await send({ drafts: [draftOf({ topicId: own })] })).toEqual(stored());
    expect(
      await store.outside.query('select topic_id from emails where account_id = $1', [accountId]),
    ).toEqual([{ topic_id: own }]);
  });
});

describe('domains', () => {
  const domain = async (name: string, status = 'verified', owner = accountId) =>
    createRows(store.outside).domain(owner, name, status);

  test('that the account has not verified store nothing, even if another account has, and leave the key free', async () => {
    await domain('mine.example');
    await domain('pending.example', 'pending');
    await domain('foreign.example', 'verified', await store.newAccount());
    const names = ['mine.example', 'pending.example', 'foreign.example', 'sub.mine.example'];
    const outcome = await send({ domains: names, idempotency: keyed('k') });
    if (outcome.kind !== 'unverified-domains') throw new Error(outcome.kind);
    expect([...outcome.names].sort()).toEqual(names.slice(1).sort());
    expect(await counts()).toEqual(NOTHING);
    const allowed = await send({ domains: ['mine.example', 'mine.example'], idempotency: keyed('k') });
    expect(allowed).toEqual(stored());
  });
});

/** A request with this key. `says` stands for its body. */
function keyed(key: string, says = 'x', route = 'POST /v1/emails'): Idempotency {
  return { route, key, digest: Buffer.alloc(32, says) };
}

describe('an idempotency key', () => {
  test('returns the first answer for the same request, and stores and queues nothing twice', async () => {
    const drafts = [draftOf(), draftOf()];
    const first = await send({ drafts, idempotency: keyed('k') });
    expect(first).toMatchObject({ kind: 'stored' });
    const woken = store.wakeUps.length;
    expect(await send({ drafts, idempotency: keyed('k') })).toEqual({ ...first, kind: 'repeated' });
    expect(await counts()).toEqual({ emails: 2, sends: 2, keys: 1 });
    expect(store.wakeUps).toHaveLength(woken);
  });

  test('is a conflict for another request', async () => {
    await send({ idempotency: keyed('k') });
    expect(await send({ idempotency: keyed('k', 'y') })).toEqual({
      kind: 'conflict',
      why: 'another request',
    });
    expect(await counts()).toEqual({ emails: 1, sends: 1, keys: 1 });
  });

  test('is separate for each account, key kind and HTTP route', async () => {
    const first = await send({ idempotency: keyed('k') });
    const requests: Partial<SendRequest>[] = [
      { accountId: await store.newAccount(), idempotency: keyed('k') },
      { kind: 'test', idempotency: keyed('k') },
      { idempotency: keyed('k', 'x', 'POST /v1/emails/batch') },
      { idempotency: keyed('K') },
    ];
    for (const request of requests) {
      const outcome = await send(request);
      expect(outcome).toEqual(stored());
      expect(outcome).not.toEqual(first);
    }
  });

  test('is free again after 24 hours, deleted or not', async () => {
    const first = await send({ idempotency: keyed('k') });
    const age = (age: string) =>
      store.outside.query(
        `update idempotency_keys set created_at = now() - $2::interval where account_id = $1`,
        [accountId, age],
      );
    await age('23 hours 59 minutes');
    expect(await send({ idempotency: keyed('k') })).toEqual({ ...first, kind: 'repeated' });
    await age('24 hours 1 second');
    const second = await send({ idempotency: keyed('k', 'y') });
    expect(second).toEqual(stored());
    expect(await send({ idempotency: keyed('k', 'y') })).toEqual({ ...second, kind: 'repeated' });
    expect(await counts()).toEqual({ emails: 2, sends: 2, keys: 1 });
  });

  test('stores one message for 50 equal requests at once; the others repeat the answer or conflict', async () => {
    const kinds: KeyKind[] = ['live', 'test'];
    for (const kind of kinds) {
      const all = await Promise.all(
        Array.from({ length: 50 }, () => send({ kind, idempotency: keyed('race') })),
      );
      const first = all.filter((outcome) => outcome.kind === 'stored');
      expect(first).toHaveLength(1);
      for (const outcome of all.filter((each) => each.kind !== 'stored')) {
        expect([
          { ...first[0], kind: 'repeated' },
          { kind: 'conflict', why: 'unfinished' },
        ]).toContainEqual(outcome);
      }
    }
    expect(await counts()).toEqual({ emails: 2, sends: 1, keys: 2 });
  });

  test('stores exactly one of 50 different requests at once; the others conflict', async () => {
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        send({ idempotency: keyed('race', String.fromCharCode(65 + index)) }),
      ),
    );
    expect(all.filter(({ kind }) => kind === 'stored')).toHaveLength(1);
    expect(all.filter(({ kind }) => kind === 'conflict')).toHaveLength(49);
    expect(await counts()).toEqual({ emails: 1, sends: 1, keys: 1 });
  });

  test('of an unfinished request is a conflict at once, without waiting', async () => {
    const blocker = await store.db.pool.connect();
    try {
      await blocker.query('begin');
      await blocker.query('select 1 from accounts where id = $1 for update', [accountId]);
      const first = send({ idempotency: keyed('k') });
      await untilWaitingForLock(store.outside);
      expect(await send({ idempotency: keyed('k') })).toEqual({ kind: 'conflict', why: 'unfinished' });
      await blocker.query('commit');
      expect(await first).toEqual(stored());
      expect(await send({ idempotency: keyed('k') })).toMatchObject({ kind: 'repeated' });
    } finally {
      blocker.release(true);
    }
  });

  test('of an unfinished request does not hold up another key of another route', async () => {
    await inUndoneTransaction(store.db.pool, async (blocker) => {
      await blocker.query('select 1 from accounts where id = $1 for update', [accountId]);
      const first = send({ idempotency: keyed('batch/k') });
      await untilWaitingForLock(store.outside);
      const second = send({ idempotency: keyed('k', 'x', 'POST /v1/emails/batch') });
      expect(await Promise.race([second, untilWaitingForLock(store.outside, 2)])).toBeUndefined();
      await blocker.query('commit');
      expect(await Promise.all([first, second])).toEqual([stored(), stored()]);
    });
  });

  test('is read again when another request takes it unseen: the answer is repeated', async () => {
    const first = newId('email', store.clock);
    const other = await store.db.pool.connect();
    try {
      await other.query('begin');
      const { route, key, digest } = keyed('k');
      await other.query(
        `insert into idempotency_keys (account_id, kind, route, key, request_digest, answer)
         values ($1, 'live', $2, $3, $4, $5)`,
        [accountId, route, key, digest, JSON.stringify([first])],
      );
      const second = send({ idempotency: keyed('k') });
      await untilWaitingForLock(store.outside);
      await other.query('commit');
      expect(await second).toEqual({ kind: 'repeated', ids: [first], skipped: [] });
      expect(await counts()).toEqual({ emails: 0, sends: 0, keys: 1 });
    } finally {
      other.release(true);
    }
  });

  test('is free again when the send failed: both are stored, or neither', async () => {
    await store.outside.query('alter table email_sends rename to away');
    await expect(send({ idempotency: keyed('k') })).rejects.toThrow();
    await store.outside.query('alter table away rename to email_sends');
    expect(await counts()).toEqual(NOTHING);
    expect(await send({ idempotency: keyed('k') })).toEqual(stored());
  });
});
