import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, EmailId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { draftOf } from '../../test/draft.ts';
import { sendMail } from '../../test/ended-mail.ts';
import { setupStore } from '../../test/open-store.ts';
import { textKey } from '../db/sql/event-ctes.ts';
import { createErasureStore } from '../retention/erasures.ts';
import { dropOldMail } from '../retention/old-mail.ts';
import { createEmailStore } from './emails.ts';
import { findEmails, searchEmails } from './find-emails.ts';
import type { EmailSearch } from './find-emails.ts';

const store = setupStore();
let accountId: AccountId;
let other: AccountId;

beforeEach(async () => {
  await createRows(store.outside).clear();
  accountId = await store.newAccount();
  other = await store.newAccount();
});

async function found(search: EmailSearch, bounds: { accountId?: AccountId; limit?: number } = {}) {
  return (await searchEmails(store.db, search, { limit: 100, ...bounds })).map(({ id }) => id);
}
const by = (how: EmailSearch['by'], text: string): EmailSearch => ({ by: how, text });

/** Mail with an id that is later than that of all mail before. */
async function send(to: string[], more: { cc?: string[]; bcc?: string[]; of?: AccountId } = {}) {
  store.clock.advance(1_000);
  const { of = accountId, cc = [], bcc = [] } = more;
  return sendMail(store, of, { to, cc, bcc });
}

describe('a recipient', () => {
  test('leads to mail of every account, to, cc and bcc, however the address is written, the newest first', async () => {
    const first = await send(['Bob <Bob@bücher.example>', 'ada@a.example']);
    const second = await send(['ada@a.example'], { cc: ['BOB@xn--bcher-kva.example'], of: other });
    const third = await send(['ada@a.example'], { bcc: ['bob@bücher.example', 'Bob@bücher.example'] });
    await send(['bob@b.example', 'bobby@xn--bcher-kva.example']);
    const bob = by('address', 'bob@xn--bcher-kva.example');
    expect(await found(bob)).toEqual([third, second, first]);
    expect(await found(bob, { limit: 2 })).toEqual([third, second]);
    expect(await found(bob, { accountId: other })).toEqual([second]);
    expect(await found(by('address', 'nobody@xn--bcher-kva.example'))).toEqual([]);
  });

  test('of mail of a test key is found, too', async () => {
    const sent = await createEmailStore(store.db, store.clock).send({
      ...{ accountId, kind: 'test', domains: [], idempotency: null },
      drafts: [draftOf({ to: ['bob@b.example'] }), draftOf({ to: ['eve@b.example'] })],
    });
    if (sent.kind !== 'stored') throw new Error(sent.kind);
    expect(await found(by('address', 'bob@b.example'))).toEqual([sent.ids[0]]);
    expect(await found(by('address', 'eve@b.example'))).toEqual([sent.ids[1]]);
  });

  test('is not known when the mail was refused', async () => {
    const refused = await createEmailStore(store.db, store.clock).send({
      ...{ accountId, kind: 'live', idempotency: null },
      drafts: [draftOf({ to: ['bob@b.example'] })],
      domains: ['unknown.example'],
    });
    expect(refused.kind).toBe('unverified-domains');
    expect(await store.outside.query('select from email_recipients')).toEqual([]);
  });
});

test('a recipient’s domain leads to each of its mail once', async () => {
  const first = await send(['bob@b.example', 'eve@B.example', '"a@c.example"@d.example']);
  const second = await send(['eve@b.example'], { of: other });
  await send(['bob@sub.b.example', 'bob@bb.example']);
  expect(await found(by('domain', 'b.example'))).toEqual([second, first]);
  expect(await found(by('domain', 'd.example'))).toEqual([first]);
  expect(await found(by('domain', 'c.example'))).toEqual([]);
});

test('a domain with very many recipients leads to its newest mail, whatever the addresses', async () => {
  await store.outside.query(
    `insert into email_recipients (email_id, address_key, domain_key)
     select 'em_00' || n, -9000000000000000000 + n, ${textKey("'b.example'")}
     from generate_series(1, 110000) n`,
  );
  const [first, second] = [await send(['bob@b.example']), await send(['eve@b.example'])];
  await send(['bob@a.example']);
  expect(await found(by('domain', 'b.example'))).toEqual([second, first]);
});

test('with an account, the newest 10,000 messages to an address are looked at', async () => {
  const mine = await send(['bob@b.example']);
  const others = (count: number) =>
    store.outside.query(
      `insert into email_recipients
       select 'em_zz' || lpad(n::text, 24, '0'), r.address_key, r.domain_key
       from email_recipients r, generate_series(1, $1) n where r.email_id = $2
       on conflict do nothing`,
      [count, mine],
    );
  await others(9_999);
  expect(await found(by('address', 'bob@b.example'), { accountId })).toEqual([mine]);
  await others(10_000);
  expect(await found(by('address', 'bob@b.example'), { accountId })).toEqual([]);
});

test('a Message-ID leads to the mail: by the id of SES, by that of another provider, or by our own', async () => {
  const [ses, smtp, own] = [
    await send(['a@a.example']),
    await send(['a@a.example']),
    await send(['a@a.example']),
  ];
  const set = (id: EmailId, providerId: string) =>
    store.outside.query('update emails set provider_message_id = $2 where id = $1', [id, providerId]);
  await set(ses, '0102-3f-000000');
  await set(smtp, '<x@mail.example>');
  expect(await found(by('messageId', '0102-3f-000000@eu-west-1.amazonses.com'))).toEqual([ses]);
  expect(await found(by('messageId', '0102-3f-000000'))).toEqual([ses]);
  expect(await found(by('messageId', 'x@mail.example'))).toEqual([smtp]);
  expect(await found(by('messageId', `${own}@a.example`))).toEqual([own]);
  expect(await found(by('messageId', 'y@mail.example'))).toEqual([]);
});

test('a request leads to all of its mail, with its key', async () => {
  const sentBy = { keyId: 'key_1' as never, requestId: 'req-1' };
  const send2 = (requestId: string) =>
    createEmailStore(store.db, store.clock).send({
      ...{ accountId, kind: 'live', domains: [], idempotency: null, sentBy: { ...sentBy, requestId } },
      drafts: [draftOf(), draftOf()],
    });
  const one = await send2('req-1');
  await send2('req-2');
  const ids = one.kind === 'stored' ? one.ids.toReversed() : [];
  expect(await found(by('request', 'req-1'))).toEqual(ids);
  expect((await findEmails(store.db, ids.toReversed())).map(({ id }) => id)).toEqual(ids);
  const [email] = await findEmails(store.db, ids.slice(0, 1));
  expect(email).toMatchObject({
    id: ids[0],
    accountId,
    apiKeyId: 'key_1',
    requestId: 'req-1',
    attachments: [],
  });
  expect(email).not.toHaveProperty('html');
  expect(await found(by('request', 'req-1'), { accountId: other })).toEqual([]);
});

describe('a key', () => {
  const addKey = (id: string) =>
    store.outside.query(
      `insert into api_keys (id, account_id, kind, scopes, digest) values ($1, $2, 'live', '{}', convert_to($1, 'UTF8'))`,
      [id, accountId],
    );
  const sentBy = (key: string, ids: readonly string[]) =>
    store.outside.query('update emails set api_key_id = $1 where id = any ($2)', [key, ids]);

  test('leads to its mail and not to other mail of its account, the newest first', async () => {
    await addKey('key_1');
    await addKey('key_2');
    const [first, second] = [await send(['a@a.example']), await send(['b@a.example'])];
    await send(['c@a.example']);
    await send(['d@a.example'], { of: other });
    await sentBy('key_1', [first, second]);
    expect(await found(by('key', 'key_1'))).toEqual([second, first]);
    expect(await found(by('key', 'key_1'), { limit: 1 })).toEqual([second]);
    expect(await found(by('key', 'key_1'), { accountId })).toEqual([second, first]);
    expect(await found(by('key', 'key_1'), { accountId: other })).toEqual([]);
    expect(await found(by('key', 'key_2'))).toEqual([]);
    expect(await found(by('key', 'key_3'))).toEqual([]);
  });

  test('leads to mail among the newest 10,000 of its account', async () => {
    await addKey('key_1');
    const mine = await send(['a@a.example']);
    await sentBy('key_1', [mine]);
    const copy = (from: number, to: number) =>
      store.outside.query(
        `insert into emails (id, account_id, kind, status, last_event, from_address, to_addresses, cc_addresses,
                             bcc_addresses, reply_to_addresses, subject, headers, created_at)
         select 'em_zz' || n, account_id, kind, 'sent', 'sent', from_address, '{}', '{}', '{}', '{}', '', '{}',
                created_at + interval '1 s'
         from emails, generate_series($2::int, $3::int) n where id = $1`,
        [mine, from, to],
      );
    await copy(1, 9_999);
    expect(await found(by('key', 'key_1'))).toEqual([mine]);
    await copy(10_000, 10_000);
    expect(await found(by('key', 'key_1'))).toEqual([]);
  });
});

describe('what is known of recipients', () => {
  const keys = async () =>
    (await store.outside.query<{ id: string }>('select distinct email_id as id from email_recipients')).map(
      ({ id }) => id,
    );

  test('goes with the mail when retention deletes it', async () => {
    const [old, fresh] = [await send(['bob@b.example', 'eve@b.example']), await send(['bob@b.example'])];
    await store.outside.query('delete from email_sends');
    await store.outside.query(`update emails set created_at = now()`);
    await store.outside.query(`update emails set created_at = now() - interval '9 days' where id = $1`, [
      old,
    ]);
    expect(await dropOldMail(store.db.pool, 8)).toBe(1);
    expect(await keys()).toEqual([fresh]);
  });

  test('goes with the mail of an erased person, also what is known of its other recipients', async () => {
    const mine = await send(['bob@b.example', 'eve@b.example']);
    const [theirs, elses] = [await send(['bob@b.example'], { of: other }), await send(['eve@b.example'])];
    await store.outside.query('delete from email_sends');
    await createErasureStore(store.db.pool).erase(accountId, 'bob@b.example', { kind: 'cli', name: 'ada' });
    expect(await findEmails(store.db, [mine])).toEqual([]);
    expect((await keys()).sort()).toEqual([theirs, elses].sort());
  });
});
