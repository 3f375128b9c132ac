import { beforeEach, describe, expect, test } from '@jest/globals';
import { makeHistory, NOTICE_EMAIL, RECOVERY } from '../test/history.ts';
import { HttpVisitor, linkIn, textOf } from '../test/http-visitor.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  await makeHistory(opened.database, outage);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const query = async (sql: string, values: unknown[] = []) => opened.database.query(sql, values);
const show = (path: string) => ada.show(path);
const labelsOf = (page: string) =>
  [...page.matchAll(/role="img"\s+aria-label="([^"]*)"/g)].map(([, label]) => label);

describe('the page of a webhook', () => {
  test('says since when it fails, what succeeded and failed last, and who was notified', async () => {
    const words = textOf(await show(`/webhooks/${outage.failing}`));
    expect(words).toMatch(
      /Failing since \d.* for 1 h 30 min\. The last attempt was at \d.*\. The last success was at .*\. The last error is HTTP 503 ?\. A notice was sent at/,
    );
    expect(words).not.toContain('No delivery waits');
    for (const noticedAt of ['null', `failing_since - interval '1 minute'`]) {
      await query(`update webhooks set failing_notice_at = ${noticedAt}`);
      expect(textOf(await show(`/webhooks/${outage.failing}`))).toContain('Nobody was notified yet.');
    }
    await query('update accounts set notice_email = null');
    expect(textOf(await show(`/webhooks/${outage.failing}`))).toContain(
      'Nobody gets a mail: the account has',
    );
  });

  test('without a waiting delivery says that a repair shows with the next event', async () => {
    await query('delete from deliveries');
    await query(`update webhook_health set last_failure_at = now() - interval '40 minutes'`);
    await query('delete from attempts');
    expect(textOf(await show(`/webhooks/${outage.failing}`))).toMatch(
      /The last attempt was at \d.*40 min ago ?\. No delivery waits: the next event or a replay shows whether/,
    );
    expect(textOf(await show(`/accounts/${outage.accountId}`))).toMatch(
      /failing 1 h 30 min ?(, HTTP 503)? last attempt 40 min ago/,
    );
    expect(textOf(await show('/'))).toContain('last attempt 40 min ago');
    expect(textOf(await show(`/recover?webhook=${outage.failing}&since=2001-01-01`))).toContain(
      'It may fail again: replay one event first',
    );
  });

  test('plots the attempts of a day, and says the same in words', async () => {
    const page = await show(`/webhooks/${outage.failing}`);
    const words = textOf(page);
    expect(words).toContain('Successful attempts 93 % of 120,000 in 24 h');
    expect(words).toMatch(/p95 latest \d+ ms /);
    expect(words).toContain('Highest 227 ms; limit 10.0 s');
    const labels = labelsOf(page);
    expect(labels[0]).toMatch(
      /^Failed attempts by hour, 24 h: 93 % of 120,000 succeeded; most failed in the hour from \d\d:00: 100 %$/,
    );
    expect(labels[1]).toMatch(/^p95 by hour, 24 h: latest \d+ ms, highest \d+ ms$/);
    expect(page.match(/class="ok"/g)).toHaveLength(24);
    // the last two hours; the others have 0.1 % of failures, too little for a bar
    expect(page.match(/class="no"\s+x=/g)).toHaveLength(2);
  });

  test('says how many of its attempts run now, and not those of others', async () => {
    for (const [id, count] of [
      [outage.failing, 2],
      [outage.healthy, 4],
    ] as const) {
      await opened.rows.deliveries(id, { count, dueInMs: -1_000_000 });
      await query(
        `update deliveries set taken_at = now(), leased_until = now() + interval '30 s'
         where webhook_id = $1 and due_at < now() - interval '900 s'`,
        [id],
      );
    }
    expect(textOf(await show(`/webhooks/${outage.failing}`))).toContain('In flight 2 attempts run now');
    expect(textOf(await show(`/webhooks/${outage.healthy}`))).toContain('In flight 4 attempts run now');
  });

  test('says when the next attempt of an event is due, or that it is due now', async () => {
    const path = `/webhooks/${outage.failing}?status=pending`;
    expect(textOf(await show(path))).toContain('no attempt due now');
    await query(`update deliveries set due_at = '2100-01-01T07:17:42Z'`);
    expect(textOf(await show(path))).toContain('no attempt next 1 Jan 2100 07:17:42');
  });

  test('is not called healthy while most attempts fail', async () => {
    const path = `/webhooks/${outage.healthy}`;
    expect(await show(path)).toContain('<span class="st good pill">healthy</span>');
    await query(`update attempts_by_hour set successes = 90 where begins_at = date_trunc('hour', now())`);
    expect(await show(path)).toContain('<span class="st wait pill">most attempts fail</span>');
    // an hour ago it was repaired
    await query(
      `update attempts_by_hour set successes = case when begins_at = date_trunc('hour', now()) then attempts else 0 end`,
    );
    expect(await show(path)).toContain('<span class="st good pill">healthy</span>');
  });

  test('without an attempt in a day says quiet', async () => {
    await query('delete from attempts_by_hour');
    await query('delete from attempts');
    const words = textOf(await show(`/webhooks/${outage.healthy}`));
    expect(words).toContain('quiet');
    expect(words).toContain('Successful attempts none in 24 h');
    await query('insert into webhook_health (webhook_id, last_success_at) values ($1, now())', [
      outage.healthy,
    ]);
    expect(textOf(await show(`/webhooks/${outage.healthy}`))).toContain('healthy');
  });

  test('leads an operator, but not a reader, to a dry run from an hour before the outage', async () => {
    const href = linkIn(await show(`/webhooks/${outage.failing}`), /^\/recover\?/);
    expect((await ada.get(href)).status).toBe(200);
    const [, since = ''] = /since=([^&"]*)/.exec(href) ?? [];
    const [row] = await opened.database.query<{ hours: number }>(
      'select extract(epoch from failing_since - $2::timestamptz)::float8 / 3600 as hours from webhooks where id = $1',
      [outage.failing, `${decodeURIComponent(since).replace('+', ' ')}Z`],
    );
    expect(row?.hours).toBe(1);
    const kim = await new HttpVisitor(opened.url).signIn(KEYS.kim);
    for (const path of [
      `/webhooks/${outage.failing}`,
      `/accounts/${outage.accountId}`,
      '/dead-letters?account=Meadow+Shop',
    ])
      expect((await kim.get(path)).text).not.toContain('href="/recover?');
    const dryRun = textOf((await kim.get(href)).text);
    expect(dryRun).toContain('Your role, reader, cannot start a recovery');
    expect(dryRun).not.toContain('you confirm');
  });
});

describe('the page of an account', () => {
  test('has the health of each webhook, with plots', async () => {
    const page = await show(`/accounts/${outage.accountId}`);
    const words = textOf(page);
    expect(words).toMatch(/failing 1 h 30 min, HTTP 503 last attempt \d+ s ago 93 %/);
    expect(words).toContain('healthy 100 %');
    expect(words).toMatch(/p95 by hour, latest .*healthy 100 % \d+ ms/);
    expect(labelsOf(page)).toHaveLength(4);
  });

  test('has its notice address, its keys and what was done to it', async () => {
    const words = textOf(await show(`/accounts/${outage.accountId}`));
    for (const part of [
      'active',
      `Notices go to ${NOTICE_EMAIL}`,
      'shop',
      '1 h ago never',
      'in 35 d',
      'expired 1 d ago',
      'revoked 9 d ago',
      'root changed a limit',
      'key shop deleted a webhook',
      'ada started a recovery of 28,412 events',
      'Outstanding deliveries 3 1,000,000',
      'Attempts, last minute 664',
      'Held mail 1',
    ])
      expect(words).toContain(part);
  });

  test('shows nothing that was done to another account', async () => {
    const other = await opened.rows.account();
    await query(
      `insert into audit (actor_kind, actor, action, account_id, target, count, after)
       values ('cli', 'stranger', 'account.limit', $1, $1, 1, null),
              ('cli', 'stranger', 'recovery.start', $1, 'rec_1', 500000, '{"has_more":true}')`,
      [other],
    );
    const words = textOf(await show(`/accounts/${other}`));
    expect(words).toContain('stranger changed a limit');
    expect(words).toContain('stranger started a recovery of more than 500,000 events');
    expect(await show(`/accounts/${outage.accountId}`)).not.toContain('stranger');
  });

  test('marks a sum as cut when a count or the list of webhooks is', async () => {
    await query(
      `insert into dead_letters select (json_populate_record(l, json_build_object('id', 'dl_' || n, 'event_id', 'evt_' || n))).*
       from dead_letters l, generate_series(1, 10000) n`,
    );
    await opened.rows.deliveries(outage.failing, { count: 9_997 });
    await query('update webhooks set dead_letters_dropped = 44');
    const cut = textOf(await show(`/accounts/${outage.accountId}`));
    expect(cut).toContain('Dead letters 10,000+ Dead letters deleted by retention 88 ');
    expect(cut).toContain('Outstanding 10,000+ of 1,000,000');
    expect(cut).toContain('Outstanding deliveries 10,000+ 1,000,000');
    // 100 webhooks: 25,000 / 100 = 250 rows counted of each
    for (let n = 0; n < 98; n += 1) await opened.rows.webhook({ accountId: outage.accountId });
    const shared = textOf(await show(`/accounts/${outage.accountId}`));
    expect(shared).toContain('Dead letters 250+ Dead letters deleted by retention 88 ');
    expect(shared).toContain('Outstanding 250+ of 1,000,000');
    expect(shared).toMatch(/failing 1 h 30 min, HTTP 503 last attempt \d+ s ago 93 % .*? 250\+ 250\+ /);
    await query('delete from deliveries');
    await query('delete from dead_letters');
    expect(textOf(await show(`/accounts/${outage.accountId}`))).toContain('Outstanding 0 of');
    // the page lists 100 webhooks: the sum lacks one
    await opened.rows.webhook({ accountId: outage.accountId });
    await query(
      `insert into api_keys (id, account_id, digest, kind, scopes)
       select 'key_' || lpad(n::text, 26, '0'), $1, int4send(n), 'live', '{}' from generate_series(1, 100) n`,
      [outage.accountId],
    );
    const words = textOf(await show(`/accounts/${outage.accountId}`));
    expect(words).toContain('Dead letters 0+ Dead letters deleted by retention ');
    expect(words).toContain('Outstanding 0+ of');
    expect(words).toMatch(/Keys 100 of 1\d\d/);
  });

  test('says when it is suspended', async () => {
    await query('update accounts set suspended_at = now()');
    const words = textOf(await show(`/accounts/${outage.accountId}`));
    expect(words).toContain('Suspended since');
    expect(words).toContain('Mail that is queued waits for account resume , about an hour. Then it fails.');
    expect(words).not.toContain(' active acct_');
  });

  test('says which sending domain needs a person, and lists the records of its DNS', async () => {
    const show = async (status: string, records: object[] = []) => {
      await query('update domains set status = $1::domain_status, records = $2', [
        status,
        JSON.stringify(records),
      ]);
      return ada.show(`/accounts/${outage.accountId}`);
    };
    for (const [status, sign] of [
      ['verified', 'good'],
      ['pending', 'wait'],
      ['temporary_failure', 'wait'],
      ['failed', 'bad'],
    ] as const)
      expect(await show(status)).toContain(`<span class="st ${sign}">${status}</span>`);
    const mx = { type: 'MX', name: 'send.shop.example.com', priority: 10, value: 'feedback-smtp.example' };
    const page = await show('failed', [{ record: 'SPF', ttl: 'Auto', status: 'not_started', ...mx }]);
    expect(textOf(page)).toContain(
      '1 DNS record send.shop.example.com MX 10 feedback-smtp.example (not_started) failed never verified',
    );
    await query(`update domains set first_verified_at = '2026-03-04T05:06:07Z'`);
    expect(textOf(await show('failed'))).toContain('shop.example.com failed first verified 4 Mar 2026');
  });

  test('refuses a filter', async () => {
    expect((await ada.get(`/accounts/${outage.accountId}?status=x`)).status).toBe(400);
  });
});

test('a webhook that gets the events of some domains only says so', async () => {
  expect(textOf(await show(`/webhooks/${outage.failing}`))).toContain('Types all Domains all');
  await query(`update webhooks set domains = '{shop.example.com}' where id = $1`, [outage.failing]);
  expect(textOf(await show(`/webhooks/${outage.failing}`))).toContain('Types all Domains shop.example.com');
  const words = textOf(await show(`/accounts/${outage.accountId}`));
  expect(words).toContain('all types, 1 domain · wh_');
  expect(words).toContain('all types · wh_');
  await query(`update webhooks set domains = '{other.example}', created_at = now()`);
  for (const table of ['deliveries', 'dead_letters', 'attempts']) await query(`delete from ${table}`);
  expect(textOf(await show(`/events/${outage.eventId}`))).toContain(
    'no webhook of the account asked for its type and its domain.',
  );
});

test('dead letters that retention deleted are counted at the webhook and at its account', async () => {
  await query('update webhooks set dead_letters_dropped = case when id = $1 then 18412 else 88 end', [
    outage.failing,
  ]);
  expect(textOf(await show(`/webhooks/${outage.failing}`))).toContain(
    'Dead letters deleted by retention 18,412',
  );
  expect(textOf(await show(`/accounts/${outage.accountId}`))).toContain(
    'Dead letters deleted by retention 18,500',
  );
});

describe('the overview', () => {
  test('has the last error of failing endpoints, running recoveries and the busiest webhooks', async () => {
    const page = await show('/');
    const words = textOf(page);
    expect(words).toContain('HTTP 503');
    expect(words).toContain('17,240 of 28,412');
    expect(words).toContain('55 s left at 200/s ada');
    expect(words).toContain('611 611'); // attempts and failed
    expect(page).toContain(`href="/recoveries/${RECOVERY}"`);
    expect(words).toContain('hooks.shop.example.com');
    expect(words).toContain('crm.shop.example.com');
  });

  test('shows the host of an endpoint, and not its path, which may hold a token of the customer', async () => {
    const words = textOf(await show('/'));
    expect(words).toContain('hooks.shop.example.com');
    for (const path of ['/postrider', '/in/mail']) expect(words).not.toContain(path);
  });

  test('names the minute of the busiest webhooks, which may be long ago', async () => {
    await query(`update attempt_sums set summed_until = '2026-01-02 03:04Z'`);
    const words = textOf(await show('/'));
    expect(words).toMatch(/By attempts in the minute to 2 Jan( 2026)? 03:04 No attempts in this minute\./);
    await query('delete from attempt_sums');
    expect(textOf(await show('/'))).toContain('No minute is counted yet.');
  });

  test('marks the number of failing endpoints as cut', async () => {
    for (let n = 0; n < 20; n += 1) await opened.rows.webhook({ accountId: outage.accountId, failing: true });
    expect(textOf(await show('/'))).toContain('Failing endpoints 20+ ');
  });

  test('shows the age of the oldest held mail only when all of it is counted', async () => {
    expect(textOf(await show('/'))).toMatch(/Held mail 1 oldest /);
    await query(
      `insert into messages select (json_populate_record(m, json_build_object('id', 'msg_' || n))).*
       from messages m, generate_series(2, 10001) n where id = $1`,
      [outage.messageId],
    );
    expect(textOf(await show('/'))).toMatch(/Held mail 10,000\+ (?!oldest)/);
    expect(textOf(await show('/held'))).toMatch(/All 10,000\+ .*virus 10,000\+ .*spam 0\+ /);
  });

  test('plots the dead letters of each hour, also of the one that is not over', async () => {
    expect(labelsOf(await show('/'))).toEqual([
      expect.stringMatching(/^Dead letters by hour, 24 h\. Most in the hour from/),
    ]);
    await query(`update dead_letters set created_at = date_trunc('hour', now()) - interval '3 hours'`);
    const page = await show('/');
    expect(labelsOf(page)).toEqual([
      expect.stringMatching(/^Dead letters by hour, 24 h\. Most in the hour from \d\d:00: 1\.$/),
    ]);
    await query(`update dead_letters set created_at = now() - interval '25 hours'`);
    expect(labelsOf(await show('/'))).toEqual(['Dead letters by hour, 24 h. None.']);
  });
});
