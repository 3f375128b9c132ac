import { beforeEach, describe, expect, test } from '@jest/globals';
import { inboundSubject } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database, rows } = setupCli();

/** An account that each test looks for, and one that it must not find. */
let acme: AccountId;
let other: AccountId;

beforeEach(async () => {
  acme = await makeAccount('Ärzte 100%_(Nord)', '2026-01-02');
  other = await makeAccount('Other', '2026-01-01');
});

async function makeAccount(name: string, createdAt: string): Promise<AccountId> {
  const { id } = await json<{ id: AccountId }>('account', 'create', '--name', name);
  await database.query('update accounts set created_at = $2 where id = $1', [id, createdAt]);
  return id;
}

/** Adds 150 accounts, all newer than the two. The newest has the highest number. */
async function makeManyAccounts(): Promise<void> {
  await database.query(
    `insert into accounts (id, name, created_at)
     select 'acct_01jd' || lpad(n::text, 22, '0'), 'Many', '2026-02-01'::timestamptz + n * interval '1 hour'
     from generate_series(1, 150) n`,
  );
}

const manyId = (number: number) => `acct_01jd${String(number).padStart(22, '0')}`;

async function makeRemovedWebhook(account: AccountId): Promise<WebhookId> {
  const id = await rows.webhook({ accountId: account });
  await database.query('update webhooks set removed_at = now() where id = $1', [id]);
  return id;
}

/** Unlike `json()`, allows a note on stderr. */
async function idsOf(...args: string[]): Promise<string[]> {
  const { stdout } = await cli(...args, '--json');
  return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id);
}

describe('account list', () => {
  test('shows 100 accounts and says how to read on', async () => {
    await makeManyAccounts();
    const first = await idsOf('account', 'list');
    expect([first.length, first[0], first.at(-1)]).toEqual([100, manyId(150), manyId(51)]);
    expect((await cli('account', 'list')).stderr).toBe(`postrider: there are more: --after ${manyId(51)}\n`);
    expect(await idsOf('account', 'list', '--after', manyId(2))).toEqual([manyId(1), acme, other]);
    expect((await cli('account', 'list', '--after', manyId(2))).stderr).toBe('');
  });

  test('after a missing account fails with one line', async () => {
    expect(await cli('account', 'list', '--after', manyId(1))).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no account ${manyId(1)}\n`,
    });
  });
});

describe('account find', () => {
  const find = (text: string) => idsOf('account', 'find', text);

  // ' ZTE 1' is trimmed.
  test.each(['ärzte', 'ÄRZTE', ' ZTE 1', '100%_(n', '_', '%'])(
    'finds a part of the name in any case, and takes the text literally: %s',
    async (text) => {
      expect(await find(text)).toEqual([acme]);
    },
  );

  test('finds nothing by what is a pattern, a part of an id, or unknown', async () => {
    for (const text of ['.', '.*', 'Nord$', '[a-z]', acme.slice(0, -1), 'c.example', 'hi@c.example']) {
      expect(await find(text)).toEqual([]);
    }
    expect((await cli('account', 'find', 'c.example')).stdout).toBe('no accounts\n');
  });

  test('finds no account by a domain that it only claims', async () => {
    await rows.domain(other, 'claimed.example', 'pending');
    expect(await find('claimed.example')).toEqual([]);
    await database.query(`update domains set first_verified_at = now() where name = 'claimed.example'`);
    expect(await find('claimed.example')).toEqual([other]);
  });

  test('finds by id, sending domain and inbox', async () => {
    await rows.domain(acme, 'a.example');
    await rows.domain(other, 'b.example');
    await rows.inbox({ accountId: acme, address: 'hi@in.example' });
    await rows.inbox({ accountId: other, address: 'hello@in.example' });
    for (const text of [acme, 'A.Example', 'HI@in.example', 'hi+tag@in.example']) {
      expect(await find(text)).toEqual([acme]);
    }
    for (const text of [other, 'b.example', 'hello@in.example']) expect(await find(text)).toEqual([other]);
    expect(await json('account', 'find', acme)).toEqual({
      object: 'list',
      data: [{ id: acme, name: 'Ärzte 100%_(Nord)', created_at: '2026-01-02T00:00:00.000Z' }],
    });
    expect((await cli('account', 'find', 'other')).stdout).toBe(
      `ID${' '.repeat(31)}MADE${' '.repeat(22)}NAME\n${other}  2026-01-01T00:00:00.000Z  Other\n`,
    );
  });

  test('shows the owner of the domain first, then the newest, and 100 at most', async () => {
    await makeManyAccounts();
    await database.query(`update accounts set name = 'fan of b.example' where name = 'Many'`);
    await rows.domain(other, 'b.example');
    const found = await find('b.example');
    expect([found.length, ...found.slice(0, 3)]).toEqual([100, other, manyId(150), manyId(149)]);
    const { stderr } = await cli('account', 'find', 'b.example');
    expect(stderr).toBe('postrider: there are more: write more of the name\n');
  });
});

describe('account show', () => {
  test("shows the account's own limits and counts what it has, and nothing of others", async () => {
    await json('account', 'limit', acme, '--webhooks', '250', '--unverified-domains', '3');
    const createKey = (account: string) =>
      json<{ id: string }>('key', 'create', '--scopes', 'emails:read', '--account', account);
    const { id: revoked } = await createKey(acme);
    for (const account of [acme, acme, acme, acme, other]) await createKey(account);
    await database.query('update api_keys set revoked_at = now() where id = $1', [revoked]);
    for (const accountId of [acme, acme, other]) await rows.webhook({ accountId });
    await rows.webhook({ accountId: acme, subject: 'rule' });
    await makeRemovedWebhook(acme);
    for (const name of ['a.example', 'b.example']) await rows.domain(acme, name);
    await rows.inbox({ accountId: acme, address: 'hi@in.example' });
    expect(await json('account', 'show', acme)).toEqual({
      id: acme,
      name: 'Ärzte 100%_(Nord)',
      created_at: '2026-01-02T00:00:00.000Z',
      suspended_at: null,
      notice_email: null,
      limits: { webhooks: 250, domains: null, unverified_domains: 3 },
      keys: 4,
      webhooks: 3,
      domains: 2,
      inboxes: 1,
    });
    expect(await json('account', 'show', other)).toMatchObject({
      limits: { webhooks: null, domains: null, unverified_domains: null },
      ...{ keys: 1, webhooks: 1, domains: 0, inboxes: 0 },
    });
    expect((await cli('account', 'show', acme)).stdout).toBe(
      `${acme}: Ärzte 100%_(Nord)\nmade: 2026-01-02T00:00:00.000Z\nnotices go to: nobody\nkeys: 4 (not revoked)\n` +
        'webhooks: 3 of 250\ndomains: 2 of DOMAINS_PER_ACCOUNT_MAX\nunverified domains: at most 3\ninboxes: 1\n',
    );
  });

  test('of a missing account fails with one line', async () => {
    expect(await cli('account', 'show', manyId(1), '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no account ${manyId(1)}\n`,
    });
  });
});

describe('the notice address', () => {
  const noticeEmail = async (id: string) => (await json('account', 'show', id))['notice_email'];

  test('is given when an account is made, in one form', async () => {
    const made = await json('account', 'create', '--name', 'Shop', '--notice-email', 'Ops@Bücher.example');
    expect(made).toMatchObject({ name: 'Shop', notice_email: 'ops@xn--bcher-kva.example' });
    expect(await noticeEmail(String(made['id']))).toBe('ops@xn--bcher-kva.example');
    const { stdout } = await cli('account', 'show', String(made['id']));
    expect(stdout).toContain('notices go to: ops@xn--bcher-kva.example\n');
    expect(await json('account', 'create', '--name', 'Shop')).toEqual({
      id: expect.any(String),
      name: 'Shop',
    });
  });

  test('is changed and removed later, of this account only, and so is the name', async () => {
    const update = (...options: string[]) => json('account', 'update', acme, ...options);
    const name = 'Ärzte 100%_(Nord)';
    expect(await update('--notice-email', 'a@a.example')).toEqual({
      id: acme,
      name,
      notice_email: 'a@a.example',
    });
    expect(await noticeEmail(other)).toBe(null);
    expect(await update('--name', ' Ärzte ')).toMatchObject({ name: 'Ärzte', notice_email: 'a@a.example' });
    expect((await cli('account', 'update', acme, '--notice-email', 'none')).stdout).toBe(
      `${acme}: Ärzte\nnotices go to: nobody\n`,
    );
    expect(await noticeEmail(acme)).toBe(null);
  });

  test.each([
    [['account', 'update', manyId(1), '--name', 'x'], 1, `no account ${manyId(1)}`],
    [['account', 'update', manyId(1)], 2, 'give --name or --notice-email'],
    [
      ['account', 'update', manyId(1), '--notice-email', 'Ops <a@a.example>'],
      2,
      'an e-mail address without a name',
    ],
    [['account', 'create', '--name', 'x', '--notice-email', ''], 2, 'an e-mail address without a name'],
  ])('a mistake is one line: %j', async (args, code, words) => {
    const failed = await cli(...args);
    expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code, stdout: '' });
    expect(failed.stderr).toMatch(/^[^\n]+\n$/);
    expect(failed.stderr).toContain(words);
  });
});

describe('webhooks', () => {
  const RULE = 'rt_01jd0000000000000000000001';

  /** Adds the account's own webhook, and a newer one of a routing rule, which fails. */
  async function makeTwo(accountId: AccountId): Promise<{ own: WebhookId; ofRule: WebhookId }> {
    const own = await rows.webhook({ accountId, events: ['email.bounced', 'email.sent'] });
    const subject = inboundSubject(accountId, RULE);
    const ofRule = await rows.webhook({ accountId, subject });
    await database.query(
      `update webhooks set created_at = '2026-01-01', description = 'CRM', headers_sealed = 'x', domains = '{a.example}', dead_letters_dropped = 7 where id = $1`,
      [own],
    );
    await database.query(
      `update webhooks set created_at = '2026-01-02', failing_since = '2026-01-03' where id = $1`,
      [ofRule],
    );
    return { own, ofRule };
  }

  const ownObject = (id: WebhookId, account: AccountId) => ({
    id,
    account,
    endpoint: 'https://hooks.example/in',
    events: ['email.bounced', 'email.sent'],
    description: 'CRM',
    domains: ['a.example'],
    rule_id: null,
    failing_since: null,
    dead_letters_dropped: 7,
    created_at: '2026-01-01T00:00:00.000Z',
  });

  test("list shows the account's webhooks and those of its routing rules, without the removed ones", async () => {
    const { own, ofRule } = await makeTwo(acme);
    await rows.webhook({ accountId: other });
    await makeRemovedWebhook(acme);
    expect(await json('webhooks', 'list', '--account', acme)).toEqual({
      object: 'list',
      data: [
        {
          ...ownObject(ofRule, acme),
          events: [],
          description: null,
          domains: null,
          rule_id: RULE,
          failing_since: '2026-01-03T00:00:00.000Z',
          dead_letters_dropped: 0,
          created_at: '2026-01-02T00:00:00.000Z',
        },
        ownObject(own, acme),
      ],
    });
    const { stdout } = await cli('webhooks', 'list', '--account', acme);
    expect(stdout.split('\n').slice(1)).toEqual([
      expect.stringMatching(
        new RegExp(`^${ofRule} .* 2026-01-03T00:00:00.000Z +${RULE} +all +https://hooks.example/in$`),
      ),
      expect.stringMatching(
        new RegExp(`^${own} .*Z +- +- +email.bounced,email.sent +https://hooks.example/in$`),
      ),
      '',
    ]);
  });

  test('list shows 100 and continues after one of them', async () => {
    const list = ['webhooks', 'list', '--account', acme];
    await rows.webhook({ accountId: other });
    const { own: last } = await makeTwo(acme);
    await database.query(
      `insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
       select 'wh_01jd' || lpad(n::text, 22, '0'), $1, 'https://hooks.example/in', 'k', '\\x01'
       from generate_series(1, 100) n`,
      [acme],
    );
    const hundredth = 'wh_01jd0000000000000000000001';
    const first = await idsOf(...list);
    expect([first.length, first.at(-1)]).toEqual([100, hundredth]);
    expect((await cli(...list)).stderr).toBe(`postrider: there are more: --after ${hundredth}\n`);
    const rest = await idsOf(...list, '--after', hundredth);
    expect([rest.length, rest.at(-1)]).toEqual([2, last]);
  });

  test('list of a missing account, or after a webhook of another account, fails with one line', async () => {
    const { own } = await makeTwo(other);
    expect(await cli('webhooks', 'list', '--account', acme, '--after', own)).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no webhook ${own}\n`,
    });
    expect(await cli('webhooks', 'list', '--account', manyId(1))).toMatchObject({
      code: 1,
      stderr: `postrider: no account ${manyId(1)}\n`,
    });
    expect((await cli('webhooks', 'list', '--account', acme)).stdout).toBe('no webhooks\n');
  });

  test('show finds the account by the id of a webhook, and shows no secret', async () => {
    await makeTwo(acme);
    const { own, ofRule } = await makeTwo(other);
    await database.query(`update webhooks set description = E'a\\u009b\\u202e' where id = $1`, [ofRule]);
    const nothing = { last_success_at: null, last_error: null, outstanding: 0, dead_letters: 0 };
    expect(await json('webhooks', 'show', own)).toEqual({ ...ownObject(own, other), ...nothing });
    expect((await cli('webhooks', 'show', ofRule)).stdout).toBe(
      `${ofRule} of ${other}\nendpoint: https://hooks.example/in\nevents: all\ndescription: a\\u{9b}\\u{202e}\ndomains: all\nrouting rule: ${RULE}\n` +
        'failing since: 2026-01-03T00:00:00.000Z\nlast success: none is known\nlast error: none is known\n' +
        'outstanding deliveries: 0\ndead letters: 0\ndead letters that retention deleted: 0\nmade: 2026-01-02T00:00:00.000Z\n',
    );
  });

  test('show tells how the endpoint answers, and what waits for it', async () => {
    const id = await rows.webhook({ accountId: acme });
    await rows.deliveries(id, { count: 3 });
    await rows.deadLetter(id, await rows.event());
    await rows.deadLetter(id, await rows.event());
    await database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error)
       select now() - make_interval(mins => n), 1, 'evt_1', $1, 1, 1, case n when 1 then 503 else 200 end,
              case n when 1 then E'HTTP 503\\u202e' end
       from generate_series(1, 2) n`,
      [id],
    );
    // older than the attempts, so that last_error is theirs
    await database.query("update dead_letters set created_at = now() - interval '1 h'");
    expect(await json('webhooks', 'show', id)).toMatchObject({
      last_success_at: expect.stringMatching(/Z$/),
      last_error: 'HTTP 503\u202e',
      outstanding: 3,
      dead_letters: 2,
    });
    expect((await cli('webhooks', 'show', id)).stdout).toMatch(
      /last success: \S+Z\nlast error: HTTP 503\\u\{202e\}\noutstanding deliveries: 3\ndead letters: 2\n/,
    );
  });

  test('show counts up to 10,000 deliveries', async () => {
    const id = await rows.webhook({ accountId: acme });
    const outstanding = async () =>
      /outstanding deliveries: (.*)/.exec((await cli('webhooks', 'show', id)).stdout)?.[1];
    await rows.deliveries(id, { count: 9_999 });
    expect(await outstanding()).toBe('9999');
    await rows.deliveries(id, { count: 2 });
    expect(await outstanding()).toBe('10000 or more');
  });

  test('show of a missing or removed webhook fails with one line', async () => {
    const removed = await makeRemovedWebhook(acme);
    for (const id of ['wh_01jd0000000000000000000009', removed]) {
      const stderr = `postrider: no webhook ${id}\n`;
      expect(await cli('webhooks', 'show', id, '--json')).toEqual({ code: 1, stdout: '', stderr });
    }
  });
});
