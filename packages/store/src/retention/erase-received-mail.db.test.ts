import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { AccountId, EmailId, InboxId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { endDeliveries, sendToProvider, sendMail } from '../../test/ended-mail.ts';
import { incoming, SHARED_DOMAIN } from '../../test/incoming.ts';
import { letTimePass } from '../../test/let-time-pass.ts';
import { setupStore } from '../../test/open-store.ts';
import { resumeErasures, resumeErasuresLater, unfinishedErasure } from '../../test/resume-erasures.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createPool } from '../db/pool.ts';
import { setPostmaster } from '../inbound/inboxes.ts';
import { createReceivedMessageStore } from '../inbound/received-message-store.ts';
import type { IncomingMessage } from '../inbound/received-message-store.ts';
import { createSesMailStore, createSesMailWork } from '../inbound/ses-mail.ts';
import { createErasureStore } from './erasures.ts';
import type { ErasureStore } from './erasures.ts';

/* A person is forgotten in received mail. */

const BOB = 'bob@xn--bcher-kva.example';

const store = setupStore();
let rows: Rows;
let erasures: ErasureStore;
let accountId: AccountId;
let webhookId: WebhookId;

beforeAll(async () => {
  rows = createRows(store.outside);
  erasures = createErasureStore(store.db.pool);
});

async function sent(change: Parameters<typeof sendMail>[2]): Promise<void> {
  await sendToProvider(store, await sendMail(store, accountId, change));
}

const end = (result: 'done' | 'dead') => endDeliveries(store, webhookId, result);

const result = (erased: object, pending?: object) => unfinishedErasure(accountId, erased, pending);
const lookLater = () => resumeErasuresLater(erasures, store.outside);
const lastResult = (erased: object = {}) => ({ ...result(erased), pendingIds: [], finished: true });

const INBOX = `a@${SHARED_DOMAIN}`;

beforeEach(async () => {
  await rows.clear();
  await store.outside.query('truncate ses_mail, provider_notifications');
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
  await rows.inbox({ id: 'ibx_1', accountId, address: INBOX });
});

async function received(more: Partial<IncomingMessage>): Promise<string> {
  const reception = await createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]).receive(
    incoming(more),
  );
  const [message] = reception.kind === 'stored' ? reception.messages : [];
  if (message === undefined) throw new Error('not stored');
  return message.id;
}

/** What there is, by table. */
async function left() {
  const [row] = await store.outside.query(
    `select (select count(*)::int from messages) as messages, (select count(*)::int from message_attachments) as files,
            (select count(*)::int from inbox_threads) as threads, (select count(*)::int from inbox_sends) as sends,
              (select count(*)::int from emails) + (select count(*)::int from events) + (select count(*)::int from attempts)
              + (select count(*)::int from dead_letters) + (select count(*)::int from erasures)
              + (select count(*)::int from erased_emails) as others`,
  );
  return row;
}
const NOTHING_LEFT = { messages: 0, files: 0, threads: 0, sends: 0, others: 0 };
const FILE = { filename: 'a', contentType: 'a/b', contentId: null, size: 1, blob: 'c'.repeat(64) };

test.each<[string, Partial<IncomingMessage>]>([
  ['from', { from: 'Bob <Bob@bücher.example>' }],
  ['to', { to: [INBOX, 'Bob <bob@bücher.example>'] }],
  ['cc', { cc: ['BOB@xn--bcher-kva.example'] }],
  ['reply_to', { replyTo: ['"Bob, B." <bob@bücher.example>'] }],
  ['from, of a message that is held', { from: BOB, heldReason: 'spam' }],
  // The event names the first hundred: it goes because its message does.
  ['to, behind a hundred others', { to: [...Array.from({ length: 150 }, (_, n) => `a${n}@a.example`), BOB] }],
])('who is among %s: the message with files and thread, its events and their attempts', async (_, change) => {
  await received({ ...change, attachments: [FILE] });
  await end('done');
  expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(
    result({ messages: 1, events: 1, attempts: 1 }),
  );
  expect(await lookLater()).toEqual([lastResult()]);
  expect(await left()).toEqual(NOTHING_LEFT);
});

test('who got a message by Bcc, so only received_for names the address', async () => {
  await received({ to: ['list@a.example'] });
  await end('done');
  expect(await erasures.erase(accountId, INBOX, ACTOR)).toMatchObject({ erased: { messages: 1, events: 1 } });
  expect(await left()).toMatchObject({ messages: 0, threads: 0 });
});

test('with the dead letters of its events', async () => {
  await received({ to: [...Array.from({ length: 150 }, (_, n) => `a${n}@a.example`), BOB] });
  await end('dead');
  expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(
    result({ messages: 1, events: 1, attempts: 1, deadLetters: 1 }),
  );
  expect(await lookLater()).toEqual([lastResult()]);
  expect(await left()).toEqual(NOTHING_LEFT);
});

test('and a thread stays in which something is left, of others or of the account', async () => {
  await received({ messageId: 'ada@mail.example' });
  await received({ from: BOB, inReplyTo: 'ada@mail.example' });
  await received({ from: BOB, messageId: 'bob@mail.example' });
  await sent({ from: INBOX, headers: { 'In-Reply-To': '<bob@mail.example>' } });
  await end('done');
  expect(await erasures.erase(accountId, BOB, ACTOR)).toMatchObject({ erased: { messages: 2, emails: 0 } });
  expect(await left()).toMatchObject({ messages: 1, files: 0, threads: 2, sends: 1 });
});

test('and a thread goes in which only mail to the person was sent', async () => {
  await sent({ from: INBOX, to: [BOB] });
  await end('done');
  expect(await left()).toMatchObject({ messages: 0, files: 0, threads: 1, sends: 1 });
  expect(await erasures.erase(accountId, BOB, ACTOR)).toMatchObject({ erased: { emails: 1 } });
  expect(await lookLater()).toEqual([lastResult()]);
  expect(await left()).toEqual(NOTHING_LEFT);
});

test('and nobody else: not those with a like address, nor what other accounts received', async () => {
  const other = await rows.account();
  await rows.message({ accountId: other });
  await store.outside.query('update messages set from_address = $1', [BOB]);
  for (const from of ['jim.bob@xn--bcher-kva.example', 'Bob <ada@a.example>']) await received({ from });
  await end('done');
  expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({}));
  expect(await left()).toMatchObject({ messages: 3, files: 0, threads: 2, sends: 0 });
});

test('after an open release has ended, with both its events', async () => {
  const id = await received({ from: BOB, heldReason: 'spam' });
  await end('done');
  await inUndoneTransaction(store.db.pool, async (release) => {
    await release.query('select from messages where id = $1 for no key update', [id]);
    expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(
      result({ events: 1, attempts: 1 }, { messages: 1 }),
    );
  });
  expect(await lookLater()).toEqual([lastResult({ messages: 1 })]);
  expect(await left()).toEqual(NOTHING_LEFT);
});

test.each(['received', 'sent'] as const)(
  'with its thread, as soon as an inbox has ended what it does (%s)',
  async (how) => {
    if (how === 'received') await received({ from: BOB });
    else await sent({ from: INBOX, to: [BOB] });
    await end('done');
    const erased = { ...(how === 'sent' ? { emails: 1 } : { messages: 1 }), events: 1, attempts: 1 };
    const erasing = await inUndoneTransaction(store.db.pool, async (intake) => {
      await intake.query(`select from inboxes for no key update`);
      const waiting = erasures.erase(accountId, BOB, ACTOR);
      await untilWaitingForLock(store.outside);
      return { waiting };
    });
    expect(await erasing.waiting).toEqual(result(erased));
    expect(await lookLater()).toEqual([lastResult()]);
    expect(await left()).toEqual(NOTHING_LEFT);
  },
);

test('and waits once in a pass for an inbox that is busy for long, and keeps no other from its mail', async () => {
  const other = `b@${SHARED_DOMAIN}`;
  const otherInbox = await rows.inbox({ accountId, address: other });
  for (let n = 0; n < 6; n += 1) await received({ from: BOB, recipients: [INBOX, other] });
  await end('done');
  const pool = createPool({
    databaseUrl: store.outside.url,
    size: 1,
    applicationName: 'erasure',
    durableCommits: true,
    onError: () => undefined,
  });
  let waits = 0;
  pool.on('remove', () => (waits += 1)); // a connection ends with its transaction's error
  await inUndoneTransaction(store.db.pool, async (intake) => {
    await intake.query(`select from inboxes where id = 'ibx_1' for no key update`);
    const erasing = createErasureStore(pool).erase(accountId, BOB, ACTOR);
    await untilWaitingForLock(store.outside);
    // The pass holds no other inbox meanwhile.
    const locked = await store.outside.query('select from inboxes where id = $1 for no key update nowait', [
      otherInbox,
    ]);
    expect(locked).toHaveLength(1);
    expect(await erasing).toMatchObject({ erased: { messages: 6 }, pending: { messages: 6 } });
  });
  expect(waits).toBe(1);
  await pool.end();
  expect(await lookLater()).toEqual([lastResult({ messages: 6 })]);
  expect(await left()).toEqual(NOTHING_LEFT);
});

/* Waits to begin its thread: dated before the request, and committed after the pass. */
test.each(['received', 'sent'] as const)(
  'with mail that was being stored at the request, and that the first pass could not see (%s)',
  async (how) => {
    const storing = await inUndoneTransaction(store.db.pool, async (other) => {
      await other.query('lock table inbox_threads in share mode');
      const waiting =
        how === 'received' ? received({ from: BOB }) : sendMail(store, accountId, { from: INBOX, to: [BOB] });
      await untilWaitingForLock(store.outside);
      expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({}));
      await store.outside.query('update erasures set due_at = now()');
      expect(await resumeErasures(erasures)).toEqual([result({})]);
      return { waiting };
    });
    const id = await storing.waiting;
    if (how === 'sent') await sendToProvider(store, id as EmailId);
    await end('done');
    expect(await lookLater()).toEqual([
      lastResult({ ...(how === 'sent' ? { emails: 1 } : { messages: 1 }), events: 1, attempts: 1 }),
    ]);
    expect(await left()).toEqual(NOTHING_LEFT);
  },
);

test('and looks for the last time ten minutes after the request, once, when nothing is pending', async () => {
  await erasures.erase(accountId, BOB, ACTOR);
  await letTimePass(store.outside, '9 minutes 50 seconds');
  expect(await resumeErasures(erasures)).toEqual([]);
  await letTimePass(store.outside, '10 seconds');
  expect(await resumeErasures(erasures)).toEqual([lastResult()]);
});

test('with mail that SES told of before the request, however late it is taken in', async () => {
  const location = { kind: 'object', bucket: 'b', key: 'k' } as const;
  const mail = { providerMessageId: 'ses-1', source: '', recipients: [INBOX], verdicts: {}, location };
  await createSesMailStore(store.db).add('sns-1', mail);
  await store.outside.query(`update ses_mail set created_at = now() - interval '1 s'`);
  expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({}, { sesMail: 1 }));
  await createSesMailStore(store.db).add('sns-2', mail);
  expect(await lookLater()).toEqual([result({}, { sesMail: 1 })]);
  for (const claim of await createSesMailWork(store.db).claim({ rowsMax: 2, leaseSeconds: 60 })) {
    await createReceivedMessageStore(store.db, store.clock, [SHARED_DOMAIN]).receive(
      incoming({ from: BOB }),
      claim,
    );
  }
  await end('done');
  expect(await lookLater()).toEqual([lastResult({ messages: 1, events: 1, attempts: 1 })]);
  expect(await left()).toMatchObject({ messages: 1 }); // SES told of it after the request
});

test('and waits for no mail of SES that other accounts receive, or nobody', async () => {
  const location = { kind: 'object', bucket: 'b', key: 'k' } as const;
  await rows.inbox({ address: 'b@in.example' });
  const told = async (id: string, ...recipients: string[]) =>
    createSesMailStore(store.db).add(id, {
      providerMessageId: 'ses-1',
      source: '',
      recipients,
      verdicts: {},
      location,
    });
  await told('sns-1', 'b@in.example', 'nobody@in.example', '');
  await store.outside.query(
    `insert into ses_mail (notification_id, provider_message_id, source, recipients, verdicts, bucket, key)
     select 'sns-x' || n, '', '', '{b@in.example}', '{}', 'b', 'k' from generate_series(1, 1001) n`,
  );
  await told('sns-2', 'nobody@in.example', 'A+tag@in.example');
  await store.outside.query(
    `insert into inbound_routes (id, account_id, match, webhook_id, created_at) values ('rule_1', $1, '*@own.example', $2, now())`,
    [accountId, webhookId],
  );
  await told('sns-3', 'who@own.example');
  await told('sns-4', 'a..b@own.example');
  await store.outside.query(
    `update ses_mail set created_at = now() - make_interval(secs => case notification_id when 'sns-2' then 1 when 'sns-3' then 2 when 'sns-4' then 2.5 else 3 end)`,
  );
  const waiting = await erasures.erase(accountId, BOB, ACTOR);
  expect(waiting).toEqual({ ...result({}, { sesMail: 3 }), pendingIds: ['sns-4', 'sns-3', 'sns-2'] });
});

test('with mail that SES told of for the postmaster, when the account has the inbox that gets it', async () => {
  const location = { kind: 'object', bucket: 'b', key: 'k' } as const;
  const recipients = [`Postmaster@${SHARED_DOMAIN}`];
  const mail = { providerMessageId: 'ses-1', source: '', recipients, verdicts: {}, location };
  await createSesMailStore(store.db).add('sns-1', mail);
  await store.outside.query(`update ses_mail set created_at = now() - interval '1 s'`);
  const other = await rows.account();
  await setPostmaster(store.db, 'ibx_1' as InboxId, ACTOR);
  expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({}, { sesMail: 1 }));
  expect(await erasures.erase(other, BOB, ACTOR)).toEqual({ ...result({}), accountId: other });
});

test('page by page, whatever kind and status the messages have', async () => {
  await store.outside.query(
    `insert into messages (id, account_id, kind, status, created_at, content_digest, blob, size, from_address,
       to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
     select 'msg_' || n, $1, (array['live', 'test']::key_kind[])[1 + n % 2],
            (array['received', 'held', 'released']::message_status[])[1 + n % 3], '2026-01-01'::timestamptz + make_interval(secs => n / 7),
            '', 'b', 1, case when n % 10 < 3 then $2 else 'ada@a.example' end, '{}', '{}', '{}', '{}', '[]', 'none', 'none', 'none', false
     from generate_series(1, 3000) n`,
    [accountId, BOB],
  );
  expect(await erasures.erase(accountId, BOB, ACTOR)).toEqual(result({ messages: 900 }));
  expect(await left()).toMatchObject({ messages: 2100 });
});
