import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, InboxId, KeyKind } from '@postrider/domain';
import { ACTOR, createRows, type Rows, untilWaitingForLock } from '@postrider/testing';
import { incoming, SHARED_DOMAIN as SHARED } from '../../test/incoming.ts';
import { setupStore } from '../../test/open-store.ts';
import { inTransaction } from '../db/pool.ts';
import { findMessages } from './find-messages.ts';
import { createInboxStore, postmasterInbox, setPostmaster } from './inboxes.ts';
import type { InboxStore } from './inboxes.ts';
import { createReceivedMessageStore } from './received-message-store.ts';
import type { IncomingMessage, ReceivedMessageStore, Reception } from './received-message-store.ts';

const store = setupStore();
let rows: Rows;
let inboxes: InboxStore;
let intake: ReceivedMessageStore;
let accountId: AccountId;

beforeAll(async () => {
  rows = createRows(store.outside);
  inboxes = createInboxStore(store.db, store.clock, {
    sharedDomains: [SHARED],
    reservedNames: [],
    perAccountMax: 100,
  });
  intake = createReceivedMessageStore(store.db, store.clock, [SHARED]);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await store.newAccount();
});

async function inbox(local: string, kind: KeyKind = 'live', owner = accountId): Promise<InboxId> {
  const address = `${local}@${SHARED}`;
  const creation = await inboxes.create({ accountId: owner, kind, address, name: address, fromName: null });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  return creation.id;
}

const rule = async (match: string, owner = accountId) => rows.routingRule(owner, match);

const ownDomain = async (name: string, owner = accountId) => rows.domain(owner, name);

interface Stored {
  readonly inbox_id: string | null;
  readonly rule_id: string | null;
  readonly thread_id: string | null;
  readonly status: string;
  readonly held_reason: string | null;
  readonly received_for: string[];
}

const stored = () =>
  store.outside.query<Stored>(
    'select inbox_id, rule_id, thread_id, status, held_reason, received_for from messages order by id',
  );
const events = () =>
  store.outside.query<{ type: string; data: string }>('select type, data from events order by id');

function idsOf(reception: Reception): string[] {
  if (reception.kind === 'nobody') throw new Error('it went nowhere');
  return reception.messages.map(({ id }) => id);
}

async function received(message: IncomingMessage): Promise<string> {
  const [id] = idsOf(await intake.receive(message));
  if (id === undefined) throw new Error('nothing was stored');
  return id;
}

async function threadOf(id: string): Promise<string | null> {
  const [row] = await store.outside.query<{ thread_id: string }>(
    'select thread_id from messages where id = $1',
    [id],
  );
  return row?.thread_id ?? null;
}

describe('mail to postmaster', () => {
  const TO = ['postmaster', 'POSTMASTER', `postmaster@${SHARED}`, `Postmaster+x@${SHARED.toUpperCase()}`];

  test.each(TO)('to %s is for the inbox that the operator named, and for no other', async (recipient) => {
    const [first, second] = [await inbox('a'), await inbox('b')];
    await store.outside.query('update inboxes set address = $2 where id = $1', [
      first,
      `postmaster@${SHARED}`,
    ]);
    await rule(`postmaster@${SHARED}`);
    expect(await intake.accepts(recipient)).toBe(false);
    expect(await intake.receive(incoming({ recipients: [recipient] }))).toEqual({ kind: 'nobody' });
    for (const id of [first, second]) {
      expect(await setPostmaster(store.db, id, ACTOR)).toBe(
        id === first ? `postmaster@${SHARED}` : `b@${SHARED}`,
      );
      expect(await postmasterInbox(store.db)).toBe(id);
      expect(await intake.accepts(recipient)).toBe(true);
      await received(incoming({ recipients: [recipient] }));
    }
    const taken = (await stored()).map(({ inbox_id: by, received_for: to }) => ({ by, to }));
    expect(taken).toHaveLength(2);
    for (const by of [first, second]) expect(taken).toContainEqual({ by, to: [recipient] });
  });

  test('of an account’s own domain is for that account', async () => {
    await setPostmaster(store.db, await inbox('a'), ACTOR);
    await ownDomain('shop.example');
    const ruleId = await rule('postmaster@shop.example');
    await received(incoming({ recipients: ['postmaster@shop.example'] }));
    expect(await stored()).toMatchObject([{ inbox_id: null, rule_id: ruleId }]);
  });

  test('is not given to an inbox that does not exist; the one named before stays', async () => {
    const id = await inbox('a');
    await setPostmaster(store.db, id, ACTOR);
    expect(await setPostmaster(store.db, newId('inbox', store.clock), ACTOR)).toBeNull();
    expect(await postmasterInbox(store.db)).toBe(id);
    await inboxes.delete({ accountId, kind: 'live' }, id);
    expect(await postmasterInbox(store.db)).toBeNull();
  });
});

describe('a message', () => {
  test('is stored together with its event, which the account’s webhooks get', async () => {
    const inboxId = await inbox('a');
    const webhookId = await rows.webhook({ accountId });
    const attachments = [
      { filename: 'a.pdf', contentType: 'application/pdf', contentId: null, size: 3, blob: 'c'.repeat(64) },
    ];
    const id = await received(incoming({ recipients: [`A+tag@${SHARED}`], attachments }));
    expect(await stored()).toMatchObject([
      { inbox_id: inboxId, rule_id: null, status: 'received', received_for: [`A+tag@${SHARED}`] },
    ]);
    const [event, ...more] = await events();
    expect(more).toEqual([]);
    expect(event?.type).toBe('message.received');
    const thread = await threadOf(id);
    expect(JSON.parse(event?.data ?? '')).toMatchObject({
      object: 'message',
      id,
      status: 'received',
      inbox_id: inboxId,
      thread_id: thread,
      text: 'Hello',
      attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', size: 3 }],
    });
    expect(store.wakeUps).toContainEqual({ webhooks: [webhookId], mail: false });
  });

  test('names its recipient as written, the domain in ASCII and without a final dot', async () => {
    await ownDomain('xn--bcher-kva.example');
    await rule('*@xn--bcher-kva.example');
    const recipients = ['"Ann+x"@BÜCHER.example.', 'Ann+Tag@bücher.example', 'a@XN--bcher-kva.Example.'];
    await intake.receive(incoming({ recipients }));
    expect((await stored()).map((message) => message.received_for.toSorted())).toEqual([
      ['"Ann+x"@xn--bcher-kva.example', 'Ann+Tag@xn--bcher-kva.example', 'a@XN--bcher-kva.Example'],
    ]);
  });

  test('is not stored when its event cannot be written', async () => {
    await inbox('a');
    const message = incoming({ size: -1 }); // no event can say that
    await expect(intake.receive(message)).rejects.toThrow();
    expect(await stored()).toEqual([]);
    expect(await store.outside.query('select from inbox_threads')).toEqual([]);
  });

  test('for several recipients is stored once for each inbox, and once for each rule without an inbox', async () => {
    await ownDomain('shop.example');
    const [a, b] = [await inbox('a'), await inbox('b')];
    const ruleId = await rule('*@shop.example');
    const recipients = [`a@${SHARED}`, `b+1@${SHARED}`, `b+2@${SHARED}`, 'x@shop.example', 'y@shop.example'];
    await intake.receive(incoming({ recipients }));
    const found = await stored();
    expect(found.map(({ inbox_id, rule_id, received_for }) => [inbox_id, rule_id, received_for])).toEqual(
      expect.arrayContaining([
        [a, null, [`a@${SHARED}`]],
        [b, null, [`b+1@${SHARED}`, `b+2@${SHARED}`]],
        [null, ruleId, ['x@shop.example', 'y@shop.example']],
      ]),
    );
    expect(found).toHaveLength(3);
    expect(await events()).toHaveLength(3);
  });

  test('that matches an inbox and a rule is stored once, and also reaches the rule’s endpoint', async () => {
    const inboxId = await inbox('a');
    const own = await rows.webhook({ accountId });
    const ruleId = await rule(`a@${SHARED}`);
    await received(incoming());
    expect(await stored()).toMatchObject([{ inbox_id: inboxId, rule_id: ruleId }]);
    const told = await store.outside.query<{ webhook_id: string; subject: string | null }>(
      'select d.webhook_id, w.subject from deliveries d join webhooks w on w.id = d.webhook_id order by w.subject nulls first',
    );
    expect(told).toMatchObject([{ webhook_id: own }, { subject: `${accountId}/inbound/${ruleId}` }]);
  });

  test('that matches an exact rule and a domain rule goes to the exact rule', async () => {
    await ownDomain('shop.example');
    await rule('*@shop.example');
    const exact = await rule('a@shop.example');
    await received(incoming({ recipients: ['a@shop.example'] }));
    expect(await stored()).toMatchObject([{ rule_id: exact }]);
  });

  test('to a test inbox is stored without an event', async () => {
    await inbox('a', 'test');
    await received(incoming());
    expect(await stored()).toHaveLength(1);
    expect(await events()).toEqual([]);
  });

  test.each(['a@shop.example', '*@shop.example'])(
    'to a test inbox is stored for the rule %s too, which goes on receiving live mail',
    async (match) => {
      await ownDomain('shop.example');
      const ruleId = await rule(match);
      const address = 'a@shop.example';
      const made = await inboxes.create({ accountId, kind: 'test', address, name: 'a', fromName: null });
      await intake.receive(incoming({ recipients: [address] }));
      const found = await store.outside.query('select kind, inbox_id, rule_id, received_for from messages');
      expect(found).toHaveLength(2);
      expect(found).toEqual(
        expect.arrayContaining([
          { kind: 'test', inbox_id: 'id' in made && made.id, rule_id: null, received_for: [address] },
          { kind: 'live', inbox_id: null, rule_id: ruleId, received_for: [address] },
        ]),
      );
      expect(await events()).toHaveLength(1);
    },
  );
});

describe('an address', () => {
  test('is accepted only while an inbox or a rule has it, and the account has its domain, verified once', async () => {
    await ownDomain('shop.example');
    expect(await intake.accepts('a@shop.example')).toBe(false);
    await rule('*@shop.example');
    expect(await intake.accepts('Any.One+x@SHOP.example')).toBe(true);
    await store.outside.query(`update domains set status = 'failed', first_verified_at = now()`);
    expect(await intake.accepts('anyone@shop.example')).toBe(true);
    await store.outside.query('update domains set first_verified_at = null');
    expect(await intake.accepts('anyone@shop.example')).toBe(false);
    await store.outside.query('delete from domains');
    expect(await intake.accepts('anyone@shop.example')).toBe(false);
    await ownDomain('shop.example', await store.newAccount());
    expect(await intake.accepts('anyone@shop.example')).toBe(false);
    await inbox('a');
    expect(await intake.accepts(`a@${SHARED}`)).toBe(true);
    for (const no of ['', `+@${SHARED}`, `b@${SHARED}`, 'a@in.example.example']) {
      expect(await intake.accepts(no)).toBe(false);
    }
  });

  test.each(['a..b', 'a.', 'j\u00f6rg', '"a b"', '"a@b"', '+t', '*', `bounce-${'x'.repeat(60)}`])(
    'that no inbox can have, %s@, is for the rule of the whole domain',
    async (local) => {
      await ownDomain('shop.example');
      await rule(`*@${SHARED}`);
      expect(await intake.accepts(`${local}@shop.example`)).toBe(false);
      const ruleId = await rule('*@shop.example');
      const recipients = [`${local}@SHOP.example`, `${local}@${SHARED}`, 'x@shop.example'];
      const accepted = await Promise.all(recipients.map(async (to) => intake.accepts(to)));
      expect(accepted).toEqual([true, false, true]);
      await received(incoming({ recipients }));
      const taken = await stored();
      expect(taken).toMatchObject([{ inbox_id: null, rule_id: ruleId }]);
      expect(taken[0]?.received_for.toSorted()).toEqual(
        [`${local}@SHOP.example`, 'x@shop.example'].toSorted(),
      );
      const address = `${local}@shop.example`;
      expect(await findMessages(store.db, { address }, { limit: 2 })).toHaveLength(1);
    },
  );

  test('of a domain with a new owner leads only to the new owner’s inbox, or to none', async () => {
    const address = 'a@shop.example';
    const made = async (owner: AccountId) => {
      await ownDomain('shop.example', owner);
      const creation = await inboxes.create({
        accountId: owner,
        kind: 'live',
        address,
        name: address,
        fromName: null,
      });
      if (creation.kind !== 'created') throw new Error(creation.kind);
      return creation.id;
    };
    const lost = await made(accountId);
    await received(incoming({ recipients: [address] }));
    await store.outside.query('delete from domains');
    expect(await intake.accepts(address)).toBe(false);
    expect(await intake.receive(incoming({ recipients: [address] }))).toEqual({ kind: 'nobody' });
    const own = await made(await store.newAccount());
    await received(incoming({ recipients: [address] }));
    expect(new Set((await stored()).map(({ inbox_id }) => inbox_id))).toEqual(new Set([lost, own]));
    expect(await stored()).toHaveLength(2);
  });

  test('whose inbox was deleted meanwhile leads to no inbox', async () => {
    await inbox('a');
    await inboxes.delete({ accountId, kind: 'live' }, `a@${SHARED}`);
    expect(await intake.receive(incoming())).toEqual({ kind: 'nobody' });
  });

  test('whose inbox is deleted while its message is stored is for the rule, at the next try', async () => {
    const [id, ruleId] = [await inbox('a'), await rule(`a@${SHARED}`)];
    const { refused } = await inTransaction(store.db.pool, async (client) => {
      await client.query('delete from inboxes where id = $1', [id]);
      const first = expect(intake.receive(incoming())).rejects.toThrow('was deleted meanwhile');
      await untilWaitingForLock(store.outside);
      return { refused: first };
    });
    await refused;
    await received(incoming());
    expect(await stored()).toMatchObject([{ inbox_id: null, rule_id: ruleId }]);
  });
});

describe('a long message for 50 inboxes', () => {
  const body = {
    text: 'Long text. '.repeat(20_000),
    html: `<p>${'Long HTML. '.repeat(20_000)}</p>`,
    headers: [{ name: 'X-Long', value: 'long '.repeat(20_000) }],
  };
  let message: IncomingMessage;

  beforeEach(async () => {
    const locals = Array.from({ length: 50 }, (_, i) => `n${i}`);
    const other = await store.newAccount();
    for (const [i, local] of locals.entries()) await inbox(local, 'live', i % 2 === 0 ? accountId : other);
    message = incoming({ ...body, recipients: locals.map((local) => `${local}@${SHARED}`) });
  });

  /** The bodies and the events, one for each inbox. */
  async function expectAll() {
    const found = await store.outside.query<typeof body & { id: string; inbox_id: string }>(
      'select id, inbox_id, text, html, headers from messages order by id',
    );
    expect(new Set(found.map(({ inbox_id }) => inbox_id)).size).toBe(50);
    expect(found).toHaveLength(50);
    for (const { text, html, headers } of found) expect({ text, html, headers }).toEqual(body);
    const told = (await events()).map(({ data }) => (JSON.parse(data) as { id: string }).id);
    expect(told.toSorted()).toEqual(found.map(({ id }) => id).toSorted());
  }

  test('is complete in each of them, with one event each', async () => {
    expect(idsOf(await intake.receive(message))).toHaveLength(50);
    await expectAll();
  });

  test('is complete also in inboxes after one that already has it', async () => {
    await intake.receive({ ...message, recipients: message.recipients.slice(20, 30) });
    expect(idsOf(await intake.receive(message))).toHaveLength(40);
    await expectAll();
  });

  test('without text has no text in any inbox', async () => {
    await intake.receive({ ...message, text: null });
    const found = await store.outside.query<{ text: string | null; html: string | null }>(
      'select distinct text, html from messages',
    );
    expect(found).toEqual([{ text: null, html: body.html }]);
  });

  test('that fails half-way is in no inbox; a repetition stores it once in each', async () => {
    await store.outside.query(`
      create function refuse() returns trigger language plpgsql as $$
        begin if (select count(*) from messages) >= 25 then raise 'refused'; end if; return new; end $$`);
    await store.outside.query(
      'create trigger refuse before insert on messages for each row execute function refuse()',
    );
    try {
      await expect(intake.receive(message)).rejects.toThrow('refused');
    } finally {
      await store.outside.query('drop function refuse cascade');
    }
    expect(await stored()).toEqual([]);
    expect(await events()).toEqual([]);
    await intake.receive(message);
    expect(await intake.receive(message)).toEqual({ kind: 'stored', messages: [] });
    await expectAll();
  });
});

describe('the same message', () => {
  const letMessagesAge = (by: string) =>
    store.outside.query('update messages set created_at = created_at - $1::interval', [by]);

  test('again within an hour changes nothing in the same inbox', async () => {
    await inbox('a');
    const message = incoming();
    await received(message);
    expect(await intake.receive(message)).toEqual({ kind: 'stored', messages: [] });
    await inbox('b');
    await received({ ...message, recipients: [`b@${SHARED}`] });
    await letMessagesAge('59 minutes 59 seconds');
    expect(await intake.receive(message)).toEqual({ kind: 'stored', messages: [] });
    await letMessagesAge('1.001 seconds');
    await received(message);
    expect(await stored()).toHaveLength(3);
    expect(await events()).toHaveLength(3);
  });

  test('again within an hour changes nothing for a rule without an inbox', async () => {
    await ownDomain('shop.example');
    await rule('*@shop.example');
    const message = incoming({ recipients: ['x@shop.example'] });
    await received(message);
    const repeated = { ...message, recipients: ['y@shop.example'] };
    expect(await intake.receive(repeated)).toEqual({ kind: 'stored', messages: [] });
    await rule('y@shop.example');
    await received(repeated); // another rule takes it
    await letMessagesAge('59 minutes 59 seconds');
    expect(await intake.receive(message)).toEqual({ kind: 'stored', messages: [] });
    await letMessagesAge('1.001 seconds');
    await received(message);
    expect(await stored()).toHaveLength(3);
    expect(await events()).toHaveLength(3);
  });

  test.each(['an inbox', 'a rule'])('ten times at once for %s is stored once', async (taker) => {
    if (taker === 'an inbox') await inbox('a');
    else await rule(`a@${SHARED}`);
    const message = incoming();
    const receptions = await Promise.all(Array.from({ length: 10 }, () => intake.receive(message)));
    expect(receptions.flatMap(idsOf)).toHaveLength(1);
    expect(await events()).toHaveLength(1);
  });
});
