import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf, parseSearchText } from '@postrider/domain';
import type { AccountId, ApiKeyId, EmailId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { sendMail } from '../../test/ended-mail.ts';
import { setupStore } from '../../test/open-store.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { lookUp } from './look-up.ts';
import type { Findings } from './look-up.ts';

const store = setupStore();
const rows = () => createRows(store.outside);
let acme: AccountId;
let other: AccountId;

beforeEach(async () => {
  await rows().clear();
  acme = await newAccount('Acme Shop');
  other = await newAccount('Other');
});

async function newAccount(name: string): Promise<AccountId> {
  const id = await store.newAccount();
  await store.outside.query('update accounts set name = $2 where id = $1', [id, name]);
  return id;
}

async function find(text: string, limit = 10, accountId?: AccountId): Promise<Findings> {
  const parsed = parseSearchText(text);
  if (parsed === null || parsed.kind === 'id') throw new Error('no text to look up');
  return lookUp(store.db, parsed, { limit, accountId });
}

const ids = (entries: readonly { readonly id: string }[]) => entries.map(({ id }) => id);

async function send(to: string, of = acme): Promise<EmailId> {
  store.clock.advance(1_000);
  return sendMail(store, of, { to: [to] });
}

describe('an address', () => {
  test('leads to mail in both directions and suppressions, with their accounts, and to nothing of others', async () => {
    const mine = await send('ann@shop.example');
    const theirs = await send('Ann <Ann@shop.example>', other);
    await send('joann@shop.example', await store.newAccount());
    const received = await rows().message({ accountId: other });
    await createSuppressionStore(store.db, store.clock).add(acme, ['ann@shop.example', 'joann@shop.example']);
    const found = await find(' "ANN@shop.example" ');
    expect(ids(found.emails)).toEqual([theirs, mine]);
    expect(ids(found.messages)).toEqual([received]);
    expect(found.suppressions).toMatchObject([{ address: 'ann@shop.example', accountId: acme }]);
    expect([...found.names].sort()).toEqual([[acme, 'Acme Shop'], [other, 'Other']].sort()); // oxfmt-ignore
    expect(found).toMatchObject({ webhooks: [], accounts: [] });
    expect(ids((await find('ann@shop.example', 1)).emails)).toEqual([theirs]);
    store.clock.advance(1_000);
    await createSuppressionStore(store.db, store.clock).add(other, ['ann@shop.example']);
    expect((await find('ann@shop.example')).suppressions.map(({ accountId }) => accountId)).toEqual([
      other,
      acme,
    ]);
    expect(await find('nobody@shop.example')).toMatchObject({
      ...{ emails: [], messages: [], suppressions: [], webhooks: [], accounts: [] },
      ...{ byAccount: new Map(), names: new Map() },
    });
  });

  test('comes with the newest event of each mail, and what became of it', async () => {
    const webhookId = await rows().webhook({ accountId: acme });
    const [mine, silent] = [await send('bob@b.example'), await send('bob@b.example')];
    for (const type of ['email.delivered', 'email.opened'] as const) {
      const event = { type, recipients: ['bob@b.example'], occurredAt: store.clock.now().toISOString() };
      await createProviderNotificationStore(store.db, store.clock).record({
        ...{
          notificationId: newId('event', store.clock),
          emailId: mine,
          providerMessageId: null,
          writtenEmailId: null,
        },
        ...{ suppress: [], event: { ...event, detail: notificationDetailOf({}) } },
      });
    }
    expect((await find('bob@b.example')).emails).toMatchObject([
      { id: silent, newestEvent: null },
      { id: mine, newestEvent: { type: 'email.opened', fates: [{ webhookId, fate: 'waiting' }] } },
    ]);
  });

  test('comes with the newest event of received mail', async () => {
    const message = await rows().message({ accountId: acme });
    for (const type of ['message.held', 'message.received']) {
      const id = await rows().event({ accountId: acme });
      await store.outside.query(
        `update events set type = $2, data = '{"object":"message","id":"' || $3 || '"}' where id = $1`,
        [id, type, message],
      );
    }
    const found = await find(`<${message}@mail.example>`);
    expect(found.messages).toMatchObject([{ id: message, newestEvent: { type: 'message.received' } }]);
  });

  test('that no mail has is read as a Message-ID, as one in brackets is at once', async () => {
    const sent = await send('bob@b.example');
    const received = await rows().message({ accountId: acme });
    expect(ids((await find(`${sent}@a.example`)).emails)).toEqual([sent]);
    expect(ids((await find(`<${received}@mail.example>`)).messages)).toEqual([received]);
    await send(`${received}@mail.example`, other);
    expect(ids((await find(`${received}@mail.example`)).messages)).toEqual([]);
    expect(ids((await find(`<${received}@mail.example>`)).messages)).toEqual([received]);
    const suppressed = await rows().message({ accountId: acme });
    await createSuppressionStore(store.db, store.clock).add(acme, [`${suppressed}@mail.example`]);
    expect(await find(`${suppressed}@mail.example`)).toMatchObject({ messages: [], suppressions: [{}] });
  });
});

test('a domain leads to mail of its recipients, to webhooks with this host, and to who sends from it', async () => {
  const sent = await send('bob@b.example');
  await send('bob@sub.b.example');
  await rows().domain(other, 'b.example');
  const webhookId = await rows().webhook({ accountId: acme });
  const removed = await rows().webhook({ accountId: acme });
  const elsewhere = await rows().webhook({ accountId: acme });
  const endpoint = (id: string, url: string) =>
    store.outside.query('update webhooks set endpoint = $2 where id = $1', [id, url]);
  await endpoint(webhookId, 'https://b.example:8443/in?token=1');
  await endpoint(removed, 'https://b.example/');
  await store.outside.query('update webhooks set removed_at = now() where id = $1', [removed]);
  await endpoint(elsewhere, 'https://a.example/b.example');
  await store.outside.query(`update accounts set name = 'b.example' where id = $1`, [acme]);
  const found = await find('B.example');
  expect(ids(found.emails)).toEqual([sent]);
  expect(found.webhooks).toMatchObject([{ id: webhookId, accountId: acme }]);
  expect(ids(found.accounts).sort()).toEqual([acme, other].sort());
  const own = await find('b.example', 10, other);
  expect([ids(own.emails), ids(own.webhooks), ids(own.accounts)]).toEqual([[], [], [other]]);
});

describe('an account', () => {
  const whole = (found: number) => ({ found, isWhole: true });

  test('has its own newest mail and suppressions, however much of others is newer', async () => {
    const suppressions = createSuppressionStore(store.db, store.clock);
    await suppressions.add(acme, ['ann@shop.example']);
    const mine = [await send('ann@shop.example'), await send('ann@shop.example')];
    const received = await rows().message({ accountId: acme });
    for (const _ of [1, 2, 3]) {
      await send('ann@shop.example', other);
      await rows().message({ accountId: other });
    }
    await suppressions.add(other, ['ann@shop.example']);
    const byAccount = new Map([[other, whole(6)], [acme, whole(3)]]); // oxfmt-ignore
    const found = await find('ann@shop.example', 1, acme);
    expect(ids(found.emails)).toEqual(mine.slice(-1));
    expect(ids(found.messages)).toEqual([received]);
    expect(found.suppressions).toMatchObject([{ accountId: acme }]);
    expect(found.counts).toMatchObject({ emails: whole(2), messages: whole(1), suppressions: whole(1) });
    expect(found.byAccount).toEqual(byAccount);
    const all = await find('ann@shop.example', 1);
    expect(all.counts).toMatchObject({ emails: whole(5), messages: whole(4), suppressions: whole(2) });
    expect(all.byAccount).toEqual(byAccount);
    expect([...all.byAccount.keys()]).toEqual([other, acme]);
  });

  test('is counted and listed whole where all accounts together have too much to count', async () => {
    const mine = await send('ann@shop.example');
    const newer = await send('ann@shop.example', other);
    await store.outside.query(
      `with sent as (
         insert into emails select (json_populate_record(e, json_build_object('id', 'em_9' || lpad(n::text, 25, '0')))).*
         from emails e, generate_series(1, 1000) n where e.id = $1 returning id
       )
       insert into email_recipients select s.id, r.address_key, r.domain_key
       from sent s, email_recipients r where r.email_id = $1`,
      [newer],
    );
    const all = await find('ann@shop.example');
    expect(all.counts.emails).toEqual({ found: 1_000, isWhole: false });
    expect(all.byAccount).toEqual(new Map([[other, { found: 1_000, isWhole: false }]]));
    const found = await find('ann@shop.example', 10, acme);
    expect(ids(found.emails)).toEqual([mine]);
    expect(found.counts.emails).toEqual(whole(1));
    expect(found.byAccount.get(acme)).toEqual(whole(1));
  });
});

test('a key leads to its mail and its account, also without mail', async () => {
  const keyId = 'key_01jd0000000000000000000001' as ApiKeyId;
  await store.outside.query(
    `insert into api_keys (id, account_id, kind, scopes, digest) values ($1, $2, 'live', '{}', '\\x01')`,
    [keyId, acme],
  );
  const key = () => lookUp(store.db, { kind: 'key', keyId }, { limit: 10 });
  expect(await key()).toMatchObject({ emails: [], accounts: [{ id: acme, name: 'Acme Shop' }] });
  const sent = await send('bob@b.example');
  await send('eve@b.example');
  await store.outside.query('update emails set api_key_id = $2 where id = $1', [sent, keyId]);
  const found = await key();
  expect(ids(found.emails)).toEqual([sent]);
  expect(ids(found.accounts)).toEqual([acme]);
});

test('another text is a request, or else a part of an account’s name', async () => {
  const sent = await send('bob@b.example');
  await store.outside.query(`update emails set request_id = 'shop'`);
  expect(ids((await find('shop')).emails)).toEqual([sent]);
  expect(await find('Shop')).toMatchObject({ emails: [], accounts: [{ id: acme, name: 'Acme Shop' }] });
  expect(ids((await find('nothing')).accounts)).toEqual([]);
});
