import { beforeAll, expect, test } from '@jest/globals';
import type { AccountId, ApiKeyId, EmailId, EventId, WebhookId } from '@postrider/domain';
import type { TestDatabase } from '@postrider/testing';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import type { Database } from '../db/database.ts';
import { recipientKey, textKey } from '../db/sql/event-ctes.ts';
import { searchEmails } from '../mail/find-emails.ts';
import { searchEvents } from './find-events.ts';
import { lookUp } from './look-up.ts';

/* A plan that is kept must not depend on how large the tables were when it was made (decision 0012). */

const GROWN_BY = 30_000;
const READ_MAX = 1_500;
/** 10,000 messages of an account are read, each in the index and in the table. */
const READ_OF_ACCOUNT_MAX = 20_000 + READ_MAX;
const LIMIT = 20;
/** Ten messages to Bob, in the middle of the others. */
const BOB = 'bob@b.example';
/** Gets a third of all messages. */
const EVE = 'eve@e.example';
const EMAIL = 'em_01jd0000000000000000015000' as EmailId;
const ACCOUNT = 'acct_01jd0000000000000000000001' as AccountId;
const OTHER = 'acct_01jd0000000000000000000002' as AccountId;
const WEBHOOK = 'wh_01jd0000000000000000000001' as WebhookId;

let database: TestDatabase;
let db: Database;

const plans = setupPlanStore();
beforeAll(async () => {
  ({ db, database } = plans);
  await database.query(`insert into accounts (id, name) values ($1, 'Acme'), ($2, 'Other')`, [
    ACCOUNT,
    OTHER,
  ]);
});

const GROW = [
  `create temp table sent as
     select n, 'em_01jd' || lpad(n::text, 22, '0') as id, case when n % 2 = 0 then '${ACCOUNT}' else '${OTHER}' end as account,
            case when n between 15000 and 15009 then '${BOB}' when n > 20000 then '${EVE}' else 'p' || n % 9000 || '@d' || n % 500 || '.example' end as address
     from generate_series(1, ${GROWN_BY}) n`,
  `insert into emails (id, account_id, kind, status, last_event, from_address, to_addresses, cc_addresses, bcc_addresses,
                       reply_to_addresses, subject, headers, created_at, provider_message_id, request_id, api_key_id)
   select id, account, 'live', 'sent', 'sent', 'a@a.example', array[address], '{}', '{}', '{}', 'Hi', '{}',
          now() - (${GROWN_BY} - n) * interval '1 s', 'ses-' || n, 'req-' || n, case when n = 29999 then 'key_7' when n > 20000 and account = '${ACCOUNT}' then 'key_0' end
   from sent`,
  `insert into api_keys (id, account_id, kind, scopes, digest)
   select 'key_' || n, case n when 0 then '${ACCOUNT}' else '${OTHER}' end, 'live', '{}', int4send(n)
   from generate_series(0, ${GROWN_BY}) n`,
  `insert into email_recipients
   select id, ${textKey('address')}, ${textKey("split_part(address, '@', 2)")} from sent`,
  `insert into events (id, account_id, type, created_at, data, recipients)
   select 'evt_01jd' || lpad(n::text, 22, '0'), account, 'email.sent', now() - (${GROWN_BY} - n) * interval '1 s',
          '{"email_id":"' || id || '"}', array[${recipientKey('account', 'address')}]
   from sent`,
  `insert into messages (id, account_id, kind, status, created_at, content_digest, blob, size, message_id, from_address,
                         to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
   select 'msg_01jd' || lpad(n::text, 22, '0'), '${OTHER}', 'live', 'received', now() - (${GROWN_BY} - n) * interval '1 s',
          '\\x01', 'b', 1, n || '@mail.example', 'P <p' || n % 9000 || '@d.example>', '{}', '{}', '{}', '{x@in.example}', '{}',
          'pass', 'none', 'none', false
   from sent`,
  `insert into events (id, account_id, type, created_at, data, recipients)
   select 'evt_01je' || lpad(n::text, 22, '0'), '${OTHER}', 'message.received', now() - (${GROWN_BY} - n) * interval '1 s',
          '{"object":"message","id":"msg_01jd' || lpad(n::text, 22, '0') || '"}',
          array[${recipientKey(`'${OTHER}'`, "'p' || n % 9000 || '@in.example'")}]
   from sent`,
  `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
   select 'sup_' || n, '${OTHER}', 'p' || n || '@d.example', '', 'manual', now() from sent`,
  `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed, created_at)
   select 'wh_01jd' || lpad(n::text, 22, '0'), case n when 1 then '${ACCOUNT}' else 'acct_' || n end,
          'https://h' || n || '.example/', '{}', 'k', '\\x01', '2001-01-01' from sent`,
  `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
   select created_at, 1, id, '${WEBHOOK}', 1, 1, 503 from events where account_id = '${ACCOUNT}'`,
  `insert into domains (id, account_id, name, region, status, records, created_at)
   values ('dom_1', '${OTHER}', 'in.example', 'r', 'verified', '[]', now())`,
];

/** Fills the tables. No foreign key of `webhooks` is checked: each webhook but one has an account that is not there. */
async function grow(): Promise<void> {
  const sql = ['begin', 'set local session_replication_role = replica', ...GROW, 'drop table sent', 'commit'];
  await database.query(sql.join(';\n'));
  await database.query('select pg_stat_force_next_flush()');
}

const events =
  (...by: Parameters<typeof searchEvents> extends [unknown, ...infer Rest] ? Rest : never) =>
  async () =>
    (await searchEvents(db, ...by)).events.length;
const found = (text: Parameters<typeof lookUp>[1]) => async () => {
  const { emails, messages, suppressions, webhooks } = await lookUp(db, text, { limit: LIMIT });
  return emails.length + messages.length + suppressions.length + webhooks.length;
};

/** With the number of rows that each finds, and the number that it may read when that is more than `READ_MAX`. */
const LOOK_UPS: [name: string, run: () => Promise<number>, rows: number, readMax?: number][] = [
  ['a recipient', found({ kind: 'address', address: BOB }), 10],
  ['a sender and suppressed address', found({ kind: 'address', address: 'p77@d.example' }), 5],
  ['an address behind a rule', found({ kind: 'address', address: 'p77@in.example' }), 4],
  ['nobody', found({ kind: 'address', address: 'nobody@in.example' }), 0],
  ['the domain of recipients', found({ kind: 'domain', domain: 'b.example' }), 10],
  ['the host of an endpoint', found({ kind: 'domain', domain: 'h7.example' }), 1],
  ['a Message-ID of SES', found({ kind: 'messageId', messageId: 'ses-77@eu.amazonses.com' }), 1],
  ['a Message-ID of received mail', found({ kind: 'messageId', messageId: '77@mail.example' }), 1],
  [
    'a key with much mail',
    async () => (await searchEmails(db, { by: 'key', text: 'key_0' }, { limit: LIMIT })).length,
    LIMIT,
    READ_OF_ACCOUNT_MAX,
  ],
  ['a key with little mail', found({ kind: 'key', keyId: 'key_7' as ApiKeyId }), 1, READ_OF_ACCOUNT_MAX],
  ['a request', found({ kind: 'other', text: 'req-77' }), 1],
  [
    'events by their id',
    events({ by: 'event', id: 'evt_01jd0000000000000000015000' as EventId }, {}, LIMIT),
    1,
  ],
  ['events of a message', events({ by: 'email', id: EMAIL }, {}, LIMIT), 1],
  ['events of a recipient', events({ by: 'address', address: BOB }, {}, LIMIT), 10],
  [
    'events of a recipient in an account',
    events({ by: 'address', address: BOB }, { accountId: ACCOUNT }, LIMIT),
    5,
  ],
  [
    'events of a recipient with a status',
    events({ by: 'address', address: BOB }, { status: 'failed' }, LIMIT),
    5,
  ],
  [
    'events of a recipient, of a type that it never had',
    events({ by: 'address', address: EVE }, { type: 'email.bounced' }, LIMIT),
    0,
  ],
  [
    'events of a recipient since a time',
    events({ by: 'address', address: BOB }, { since: new Date('2999-01-01') }, LIMIT),
    0,
  ],
  ['events of sent mail by Message-ID', events({ by: 'messageId', messageId: 'ses-77' }, {}, LIMIT), 1],
  [
    'events of received mail by Message-ID',
    events({ by: 'messageId', messageId: '77@mail.example' }, {}, LIMIT),
    1,
  ],
  ['events of a request', events({ by: 'request', requestId: 'req-77' }, {}, LIMIT), 1],
  ['events of a webhook', events({ by: 'webhook', id: WEBHOOK, accountId: ACCOUNT }, {}, LIMIT), LIMIT],
];

test('what support looks up, planned while there was nothing, reads little more than it shows', async () => {
  for (const [, run] of LOOK_UPS) await run();
  await grow();
  for (const isCounted of [false, true]) {
    if (isCounted) await database.query('analyze');
    for (const [name, run, rows, readMax = READ_MAX] of LOOK_UPS) {
      const before = await rowsRead(db.pool);
      expect([name, await run()]).toEqual([name, rows]);
      const read = (await rowsRead(db.pool)) - before;
      expect([name, read < readMax ? 'few' : read]).toEqual([name, 'few']);
    }
  }
});
