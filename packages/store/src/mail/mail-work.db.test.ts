import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, WebhookId } from '@postrider/domain';
import { createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { accepted, refused } from '../../test/mail-outcomes.ts';
import type { AcceptedAnswer } from '../../test/mail-outcomes.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { takeHeld, takeOne } from '../../test/taken-email.ts';
import { createMailWork } from './mail-work.ts';
import type { MailWork } from './mail-work.ts';
import type { TakenEmail } from './take-mail.ts';

const ACCEPTED: AcceptedAnswer = { providerMessageId: 'p-1', notifications: [] };
const detail = notificationDetailOf({});

const store = setupStore();
let rows: Rows;
let work: MailWork;
let emailId: EmailId;

beforeAll(async () => {
  rows = createRows(store.outside);
  work = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
});
beforeEach(async () => {
  await rows.clear();
  emailId = await rows.email();
});

const taken = async (claim = 0) => takeHeld(work, { emailId, claim });

async function retry(email: TakenEmail, delayMs: number, attempts = 1): Promise<boolean> {
  return (await work.retry([{ email, delayMs, attempts }])).has(email);
}

async function email() {
  const [row] = await store.outside.query('select * from emails where id = $1', [emailId]);
  return row;
}

const sends = () => store.outside.query('select * from email_sends');

/** All events with their data, oldest first. */
async function events(): Promise<[string, unknown][]> {
  const found = await store.outside.query<{ type: string; data: string }>(
    'select type, data from events order by id',
  );
  return found.map(({ type, data }) => [type, JSON.parse(data)]);
}

async function webhookOfAccount(): Promise<WebhookId> {
  const accountId = (await taken()).accountId;
  await store.outside.query('update email_sends set claim = 0, leased_until = null');
  return rows.webhook({ accountId });
}

describe('take', () => {
  test('returns the message as it was stored, under the next claim', async () => {
    const row = await email();
    expect(await taken()).toEqual({
      emailId,
      claim: 1,
      accountId: row?.['account_id'] as string,
      attemptsMade: 0,
      faults: 0,
      unconfirmed: 0,
      rest: null,
      createdAt: row?.['created_at'] as Date,
      dueInMs: 0,
      attachments: [],
      suppressed: [],
      topicGone: false,
      unverifiedDomain: null,
      accountSuspended: false,
      draft: {
        from: 'a@a.example',
        to: ['b@b.example'],
        cc: [],
        bcc: [],
        replyTo: [],
        subject: 'Hi',
        html: null,
        text: 'Hello',
        headers: { 'x-a': '1' },
        tags: [],
        topicId: null,
      },
    });
    expect(await sends()).toMatchObject([{ claim: 1, attempts: 0 }]);
  });

  test('returns the attachments byte for byte, in their order, the tags and the topic', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const insert = 'insert into email_attachments values ($1, $2, $3, $4, $5, $6)';
    await store.outside.query(insert, [emailId, 1, 'b', every.subarray(7), 'image/png', 'logo']);
    await store.outside.query(insert, [emailId, 0, 'a', every, null, null]);
    await store.outside.query(insert, [emailId, 2, 'c', Buffer.alloc(0), null, null]);
    const topicId = newId('topic', store.clock);
    await store.outside.query(`update emails set topic_id = $1, tags = '[{"name":"a","value":"b"}]'`, [
      topicId,
    ]);
    const { attachments, draft } = await taken();
    expect(attachments).toEqual([
      { filename: 'a', content: every, contentType: null, contentId: null },
      { filename: 'b', content: every.subarray(7), contentType: 'image/png', contentId: 'logo' },
      { filename: 'c', content: Buffer.alloc(0), contentType: null, contentId: null },
    ]);
    expect(draft).toMatchObject({ topicId, tags: [{ name: 'a', value: 'b' }] });
  });

  test('returns the recipients suppressed for the account or the topic, however they are written', async () => {
    const accountId = String((await email())?.['account_id']);
    const [topic, other] = [newId('topic', store.clock), newId('topic', store.clock)];
    const suppress = async (address: string, about = '', owner = accountId) =>
      store.outside.query(`insert into suppressions values ($1, $2, $3, $4, 'manual', null, now())`, [
        newId('suppression', store.clock),
        owner,
        address,
        about,
      ]);
    await suppress('all@b.example');
    await suppress('topic@b.example', topic);
    await suppress('all@b.example', topic);
    await suppress('other@b.example', other);
    await suppress('foreign@b.example', '', await rows.account());
    await suppress('nobody@b.example');
    await store.outside.query(
      `update emails set to_addresses = '{"Al <ALL@B.Example>",topic@b.example}', cc_addresses = '{other@b.example}',
                         bcc_addresses = '{Topic@b.example,foreign@b.example}', topic_id = $1`,
      [topic],
    );
    expect((await taken()).suppressed).toEqual(['all@b.example', 'topic@b.example']);
    await store.outside.query('update emails set topic_id = null');
    expect((await taken(1)).suppressed).toEqual(['all@b.example']);
  });

  test('reports a topic as gone when the account has no topic with that id', async () => {
    const accountId = String((await email())?.['account_id']);
    const own = newId('topic', store.clock);
    const add = `insert into topics (id, account_id, name, default_subscription, created_at)
                 values ($1, $2, 'News', 'opt_in', now())`;
    await store.outside.query(add, [own, accountId]);
    await store.outside.query('update emails set topic_id = $1', [own]);
    expect(await taken()).toMatchObject({ topicGone: false });
    await store.outside.query('update topics set account_id = $1', [await rows.account()]);
    expect(await taken(1)).toMatchObject({ topicGone: true });
    await store.outside.query('delete from topics');
    expect(await taken(2)).toMatchObject({ topicGone: true });
  });

  test('returns what earlier attempts left: the rest of the recipients, and copies that may exist', async () => {
    const rest = ['b@b.example'];
    const next = { delayMs: 0, attempts: 1, unconfirmed: 2, rest };
    const notifications: readonly never[] = [];
    await work.recordAlone(await taken(), { ...ACCEPTED, notifications, status: 'sent', error: null, next });
    expect(await taken(2)).toMatchObject({ attemptsMade: 1, faults: 0, unconfirmed: 2, rest });
  });

  describe('when only verified domains may send', () => {
    const strict = async (claim: number) => {
      const strictly = createMailWork(store.db, store.clock, { verifiedDomainsOnly: true });
      return (await takeOne(strictly, { emailId, claim }))?.unverifiedDomain;
    };
    const from = async (written: string, domain: string | null) =>
      store.outside.query('update emails set from_address = $1, from_domain = $2', [written, domain]);
    let ownerId: AccountId;
    const domain = async (name: string, status: string, accountId = ownerId) =>
      rows.domain(accountId, name, status);
    beforeEach(async () => {
      ownerId = (await email())?.['account_id'] as AccountId;
      await from('a@a.example', 'a.example');
    });

    test('the domain of a message is returned when the account has not verified it, or no longer', async () => {
      expect(await strict(0)).toBe('a.example');
      await domain('a.example', 'verified');
      expect(await strict(1)).toBeNull();
      await store.outside.query(`update domains set status = 'failed'`);
      expect(await strict(2)).toBe('a.example');
    });

    test('a pending domain, another account’s domain or a parent domain does not count', async () => {
      await from('a@b.a.example', 'b.a.example');
      await domain('a.example', 'verified');
      await domain('b.a.example', 'verified', await rows.account());
      expect(await strict(0)).toBe('b.a.example');
      await store.outside.query(`update domains set account_id = $1, status = 'pending'`, [ownerId]);
      expect(await strict(1)).toBe('b.a.example');
    });

    test('an older message without the column is checked by its From, and the domain is stored', async () => {
      await from('Ann <ann@BÜCHER.example>', null);
      expect(await strict(0)).toBe('xn--bcher-kva.example');
      expect(await email()).toMatchObject({ from_domain: 'xn--bcher-kva.example' });
      await from('Ann <ann@BÜCHER.example>', null);
      await domain('xn--bcher-kva.example', 'verified');
      expect(await strict(1)).toBeNull();
      expect(await email()).toMatchObject({ from_domain: 'xn--bcher-kva.example' });
    });

    test('a message whose From is no address has no verified domain', async () => {
      await from('nobody', null);
      expect(await strict(0)).toBe('');
    });
  });

  test('otherwise any domain may send, and an older message still gets its column', async () => {
    await store.outside.query('update emails set from_domain = null');
    expect(await taken()).toMatchObject({ unverifiedDomain: null });
    expect(await email()).toMatchObject({ from_domain: 'a.example' });
  });

  test('succeeds for exactly one of many concurrent jobs with one claim', async () => {
    const all = await Promise.all(
      Array.from({ length: 10 }, async () => takeOne(work, { emailId, claim: 0 })),
    );
    expect(all.filter((one) => one !== null)).toHaveLength(1);
  });

  test('before the message is due returns it, with the time that is left', async () => {
    const later = await rows.email(20_000);
    const email = await takeOne(work, { emailId: later, claim: 0 });
    expect(email?.dueInMs).toBeGreaterThan(0);
  });

  test('returns null for another claim, and for a deleted message', async () => {
    expect(await takeOne(work, { emailId, claim: 1 })).toBeNull();
    await store.outside.query('delete from emails');
    expect(await takeOne(work, { emailId, claim: 0 })).toBeNull();
  });
});

describe('sent', () => {
  test('marks the message, deletes its row in the outbox and records email.sent for the account’s webhooks', async () => {
    const webhookId = await webhookOfAccount();
    const recorded = await work.recordAlone(await taken(), accepted(ACCEPTED));
    expect([recorded]).toEqual(await store.outside.query('select id as "eventId" from events'));
    expect(await email()).toMatchObject({
      status: 'sent',
      last_event: 'sent',
      error: null,
      provider_message_id: 'p-1',
      sent_at: expect.any(Date),
    });
    expect(await sends()).toEqual([]);
    expect(await events()).toEqual([
      ['email.sent', { email_id: emailId, from: 'a@a.example', subject: 'Hi', error: null }],
    ]);
    expect(await store.outside.query('select webhook_id from deliveries')).toEqual([
      { webhook_id: webhookId },
    ]);
    expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhookId], mail: false });
  });

  test('also records reports that come with the provider’s answer', async () => {
    const detail = notificationDetailOf({ smtp_response: '250 ok' });
    const notification = { type: 'email.delivered', recipients: ['b@b.example'], detail } as const;
    const answer = accepted({ providerMessageId: null, notifications: [notification] });
    await work.recordAlone(await taken(), answer);
    expect(await email()).toMatchObject({
      status: 'sent',
      last_event: 'delivered',
      provider_message_id: null,
    });
    expect(await events()).toContainEqual([
      'email.delivered',
      {
        email_id: emailId,
        recipients: ['b@b.example'],
        occurred_at: store.clock.now().toISOString(),
        detail,
      },
    ]);
    expect(await events()).toHaveLength(2);
  });

  test.each([
    ['email.bounced', 'bounce'],
    ['email.complained', 'complaint'],
    ['email.soft_bounced', null],
    ['email.delivered', null],
  ] as const)('suppresses, with %s at once, as: %s', async (type, origin) => {
    const { accountId, ...held } = await taken();
    const notification = { type, recipients: ['Bob@B.example'], detail };
    await work.recordAlone({ accountId, ...held }, accepted({ ...ACCEPTED, notifications: [notification] }));
    const found = await store.outside.query(
      'select account_id, address, topic_id, origin, email_id from suppressions',
    );
    const row = { account_id: accountId, address: 'bob@b.example', topic_id: '', origin, email_id: emailId };
    expect(found).toEqual(origin === null ? [] : [row]);
  });

  test.each([null, ['b@b.example']])('does not undo an earlier report, with the rest %j', async (rest) => {
    const held = { ...(await taken()), rest };
    await store.outside.query("update emails set last_event = 'complained'");
    const notification = { type: 'email.delivered', recipients: ['b@b.example'], detail } as const;
    await work.recordAlone(held, accepted({ ...ACCEPTED, notifications: [notification] }));
    expect(await email()).toMatchObject({ last_event: 'complained' });
    expect(await events()).toHaveLength(rest === null ? 2 : 1);
  });

  test('leaves a message failed that the provider reported as failed before it accepted', async () => {
    const held = await taken();
    await store.outside.query(
      "update emails set status = 'failed', last_event = 'failed', error = 'no such key'",
    );
    await work.recordAlone(held, accepted(ACCEPTED));
    expect(await email()).toMatchObject({
      status: 'failed',
      last_event: 'failed',
      error: 'no such key',
      provider_message_id: 'p-1',
    });
  });

  test('changes nothing when its event cannot be written', async () => {
    const before = await email();
    const held = await taken();
    const notifications = [{ type: 'email.delivered', recipients: [], detail } as const];
    await expect(work.recordAlone(held, accepted({ ...ACCEPTED, notifications }))).rejects.toThrow();
    expect(await email()).toEqual(before);
    expect(await sends()).toHaveLength(1);
    expect(await events()).toEqual([]);
    expect(await work.recordAlone(held, accepted(ACCEPTED))).not.toBeNull();
  });
});

describe('failed', () => {
  test('marks the message with the reason, deletes its row in the outbox and records email.failed', async () => {
    expect(await work.recordAlone(await taken(), refused('no such domain'))).not.toBeNull();
    expect(await email()).toMatchObject({ status: 'failed', last_event: 'failed', error: 'no such domain' });
    expect(await sends()).toEqual([]);
    expect(await events()).toEqual([
      ['email.failed', { email_id: emailId, from: 'a@a.example', subject: 'Hi', error: 'no such domain' }],
    ]);
  });
});

test.each([
  ['sent', 'sent'],
  ['failed', 'failed'],
] as const)('%s: takes back no report that comes in at the same moment', async (end, status) => {
  const held = await taken();
  const ended = await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query("update emails set last_event = 'complained'");
    const ending = work.recordAlone(held, end === 'sent' ? accepted(ACCEPTED) : refused('no'));
    await untilWaitingForLock(store.outside);
    await session.query('commit');
    return { ending };
  });
  expect(await ended.ending).not.toBeNull();
  expect(await email()).toMatchObject({ status, last_event: 'complained' });
});

test.each(['sent', 'failed'] as const)(
  '%s: the message keeps the addresses that were left out',
  async (end) => {
    const held = { ...(await taken()), suppressed: ['b@b.example'] };
    const outcome = end === 'sent' ? accepted(ACCEPTED) : refused('x');
    expect(await work.recordAlone(held, outcome)).not.toBeNull();
    expect(await email()).toMatchObject({ status: end, suppressed_addresses: ['b@b.example'] });
  },
);

describe('a transaction that cannot be committed', () => {
  const reported = { type: 'email.bounced', recipients: ['b@b.example'], detail } as const;
  const ends: [string, (held: TakenEmail) => Promise<unknown>][] = [
    ['sent', async (held) => work.recordAlone(held, accepted({ ...ACCEPTED, notifications: [reported] }))],
    ['failed', async (held) => work.recordAlone(held, refused('no'))],
  ];

  test.each(ends)('%s: writes no event, and leaves the message as it was', async (_, end) => {
    await store.outside.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'no commit'; end $$`,
    );
    await store.outside.query(
      `create constraint trigger refuse after update on emails deferrable initially deferred
       for each row execute function refuse()`,
    );
    const before = await email();
    const held = await taken();
    await expect(end(held)).rejects.toThrow('no commit');
    await store.outside.query('drop function refuse cascade');
    expect(await events()).toEqual([]);
    expect(await store.outside.query('select 1 from suppressions')).toEqual([]);
    expect(await email()).toEqual(before);
    expect(await end(held)).not.toBeNull();
  });
});

describe('retry', () => {
  test('makes the message due after the delay, without a lease, with the attempts so far', async () => {
    expect(await retry(await taken(), 3_600_000, 5)).toBe(true);
    const [row] = await store.outside.query(
      `select claim, attempts, leased_until, due_at > now() + interval '59 minutes' as later,
              due_at <= now() + interval '60 minutes' as by_then from email_sends`,
    );
    expect(row).toEqual({ claim: 2, attempts: 5, leased_until: null, later: true, by_then: true });
    expect(await takeOne(work, { emailId, claim: 1 })).toBeNull();
  });
});

describe('the fence', () => {
  const ends: [string, (held: TakenEmail) => Promise<boolean>][] = [
    ['sent', async (held) => (await work.recordAlone(held, accepted(ACCEPTED))) !== null],
    ['failed', async (held) => (await work.recordAlone(held, refused('no'))) !== null],
    ['retry', async (held) => retry(held, 1_000)],
  ];

  test.each(ends)(
    '%s: an end that comes after another has taken the message changes nothing',
    async (_, end) => {
      const held = await taken();
      const other = await taken(held.claim);
      const before = [await email(), await sends()];
      expect(await end(held)).toBe(false);
      expect([await email(), await sends()]).toEqual(before);
      expect(await events()).toEqual([]);
      expect(await end(other)).toBe(true);
    },
  );

  test('of two concurrent ends of one take one succeeds, and one event exists', async () => {
    for (let round = 0; round < 10; round += 1) {
      emailId = await rows.email();
      const held = await taken();
      const ended = await Promise.all([
        work.recordAlone(held, accepted(ACCEPTED)),
        work.recordAlone(held, refused('no')),
        work.recordAlone(held, accepted(ACCEPTED)),
      ]);
      expect(ended.filter(Boolean)).toHaveLength(1);
    }
    expect(await events()).toHaveLength(10);
  });
});
