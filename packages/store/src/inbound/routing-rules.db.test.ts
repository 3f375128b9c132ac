import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { parseInboundMatch, recordEvent } from '@postrider/domain';
import type { AccountId, EventType } from '@postrider/domain';
import { ACTOR, untilWaitingForLock } from '@postrider/testing';
import { incoming, SHARED_DOMAIN as SHARED } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { IncomingMessage, ReceivedMessageStore } from './received-message-store.ts';
import { createRoutingRuleStore } from './routing-rules.ts';
import type { RoutingRule, RoutingRuleStore } from './routing-rules.ts';

const BOTH: readonly EventType[] = ['message.received', 'message.held'];

const store = setupStore();
let rules: RoutingRuleStore;
let intake: ReceivedMessageStore;
let accountId: AccountId;

beforeAll(async () => {
  const limits = { sharedDomains: [SHARED], reservedNames: ['admin'], webhooksPerAccountMax: 3 };
  rules = createRoutingRuleStore(store.db, store.secrets, store.clock, limits);
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED]);
});
beforeEach(async () => {
  for (const table of ['inbound_routes', 'released_addresses', 'webhooks', 'deliveries', 'events']) {
    await store.outside.query(`delete from ${table}`);
  }
  accountId = await store.newAccount();
});

function create(local: string, events = BOTH) {
  const match = parseInboundMatch(`${local}@${SHARED}`);
  if (match === null) throw new Error('no match');
  return rules.create({ accountId, match, name: null, endpoint: 'https://a.example/', events });
}

async function made(local: string, events = BOTH): Promise<RoutingRule & { secret: string }> {
  const creation = await create(local, events);
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return { ...creation.rule, secret: creation.signingSecret };
}

const mailTo = (local: string, more: Partial<IncomingMessage> = {}) =>
  incoming({ recipients: [`${local}@${SHARED}`], ...more });

/** The event types of the deliveries of each webhook. */
async function deliveries(): Promise<Record<string, string[]>> {
  const found = await store.outside.query<{ webhookId: string; types: string[] }>(
    `select d.webhook_id as "webhookId", array_agg(e.type order by e.type) as types
     from deliveries d join events e on e.id = d.event_id group by 1`,
  );
  return Object.fromEntries(found.map(({ webhookId, types }) => [webhookId, types]));
}

test('a rule’s webhook gets only its event types, and only for mail of its rule', async () => {
  const both = await made('a');
  const held = await made('b', ['message.held']);
  for (const local of ['a', 'b']) {
    await intake.receive(mailTo(local));
    await intake.receive(mailTo(local, { heldReason: 'spam' }));
  }
  const data = { email_id: 'em_1', from: 'a@a.example', subject: 'Hi', error: null };
  await store.db.transactions.run((tx) =>
    recordEvent(tx, { type: 'email.sent', accountId, data }, store.clock),
  );
  expect(await deliveries()).toEqual({
    [both.webhookId]: ['message.held', 'message.received'],
    [held.webhookId]: ['message.held'],
  });
});

test('a deleted rule receives no mail, and its webhook has no delivery left', async () => {
  const { id, webhookId } = await made('a');
  await intake.receive(mailTo('a'));
  expect(await deliveries()).toEqual({ [webhookId]: ['message.received'] });
  expect(await rules.delete(accountId, id, ACTOR)).toBe(true);
  expect(await rules.delete(accountId, id, ACTOR)).toBe(false);
  expect(await intake.accepts(`a@${SHARED}`)).toBe(false);
  expect(await intake.receive(mailTo('a'))).toEqual({ kind: 'nobody' });
  expect(await store.outside.query('select from deliveries')).toEqual([]);
  expect(await store.outside.query('select from webhooks where id = $1', [webhookId])).toEqual([]);
  expect(await store.outside.query('select from messages where rule_id = $1', [id])).toHaveLength(1);
});

test('deleting the rule and marking its webhook happen together, or not at all', async () => {
  const { id, webhookId } = await made('a');
  await store.outside.query(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'not now'; end $$`);
  await store.outside.query(`create trigger refuse before update of removed_at on webhooks for each row
    execute function refuse()`);
  try {
    await expect(rules.delete(accountId, id, ACTOR)).rejects.toThrow('not now');
    expect(await rules.find(accountId, id)).toMatchObject({ id, webhookId });
  } finally {
    await store.outside.query('drop function refuse cascade');
  }
});

test('a rule is not stored when its webhook cannot be stored', async () => {
  await store.outside.query(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'not now'; end $$`);
  await store.outside.query(`create trigger refuse before insert on webhooks for each row
    execute function refuse()`);
  try {
    await expect(create('a')).rejects.toThrow();
    expect(await store.outside.query('select from inbound_routes')).toEqual([]);
  } finally {
    await store.outside.query('drop function refuse cascade');
  }
  await made('a');
});

test('the signing secret is sealed for its webhook', async () => {
  const { webhookId, secret } = await made('a');
  const [row] = await store.outside.query<{ keyId: string; sealed: Buffer }>(
    'select secret_key_id as "keyId", secret_sealed as sealed from webhooks where id = $1',
    [webhookId],
  );
  expect(store.secrets.open(row ?? { keyId: '', sealed: Buffer.alloc(0) }, webhookId)).toBe(secret);
});

test('the limit of webhooks is exact for concurrent requests', async () => {
  const kinds = await Promise.all(Array.from({ length: 8 }, async (_, n) => (await create(`a${n}`)).kind));
  expect(kinds.filter((kind) => kind === 'created')).toHaveLength(3);
  expect(kinds.filter((kind) => kind === 'limit-reached')).toHaveLength(5);
  expect(await create('a0')).toEqual({ kind: 'limit-reached', max: 3 });
});

test('a deletion waits for mail that is being stored, and deletes its delivery, too', async () => {
  const { id, webhookId } = await made('a');
  await inUndoneTransaction(store.db.pool, async (storing) => {
    await storing.query('select from inbound_routes where id = $1 for no key update', [id]);
    await storing.query('select from webhooks where id = $1 for key share', [webhookId]);
    const deleting = rules.delete(accountId, id, ACTOR);
    await untilWaitingForLock(store.outside);
    await storing.query("insert into deliveries (event_id, webhook_id) values ('evt_1', $1)", [webhookId]);
    await storing.query('commit');
    expect(await deleting).toBe(true);
  });
  expect(await store.outside.query('select from deliveries')).toEqual([]);
});

test('a rule never has a reserved name on a shared domain', async () => {
  expect(await create('admin')).toEqual({ kind: 'reserved-name' });
});

test('the address of a deleted rule is its account’s for 30 days', async () => {
  const former = accountId;
  const { id } = await made('left');
  await rules.delete(former, id, ACTOR);
  accountId = await store.newAccount();
  expect(await create('left')).toEqual({ kind: 'exists' });
  await store.outside.query(`update released_addresses set released_at = released_at - interval '30 days'`);
  await made('left');
});
