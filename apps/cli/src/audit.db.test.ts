import { userInfo } from 'node:os';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, DeadLetterId, EventId, WebhookId } from '@postrider/domain';
import { runInProcess, setupCli } from '../test/run-in-process.ts';

const { cli, json, database, rows } = setupCli();

let account: AccountId;
let webhook: WebhookId;
let event: EventId;
let letter: DeadLetterId;

beforeEach(async () => {
  account = await rows.account();
  webhook = await rows.webhook({ accountId: account });
  event = await rows.event({ accountId: account });
  letter = await rows.deadLetter(webhook, event);
});

const replay = () => ['dead-letters', 'replay', letter, '--account', account];

async function listed(...args: string[]): Promise<Record<string, unknown>[]> {
  return (await json<{ data: Record<string, unknown>[] }>('audit', 'list', ...args)).data;
}

test('says who replayed a dead letter, and what it said', async () => {
  expect(await json(...replay(), '--as', ' ada ', '--note', 'ticket 4812')).toEqual({
    replayed: 1,
    missing: [],
  });
  const [entry] = await listed();
  expect(entry).toEqual({
    id: expect.any(Number),
    created_at: expect.stringMatching(/Z$/),
    by: { kind: 'cli', name: 'ada' },
    action: 'event.replay',
    account,
    target: event,
    webhook,
    count: 1,
    before: { dead_letter: expect.objectContaining({ id: letter, last_error: 'HTTP 503' }) },
    after: null,
    note: 'ticket 4812',
  });
  const { stdout } = await cli('audit', 'list', '--account', account);
  expect(stdout.split('\n')[1]).toMatch(
    new RegExp(
      `^${String(entry?.['id'])} .* ada \\(cli\\) .*event\\.replay .*${event} .*1 .*"HTTP 503".*; ticket 4812$`,
    ),
  );
});

test('without --as, the person behind sudo acts, else the login', async () => {
  await runInProcess(replay(), { DATABASE_URL: database.url, SUDO_USER: 'ben' });
  letter = await rows.deadLetter(webhook, event);
  await cli(...replay());
  expect((await listed()).map(({ by }) => by)).toEqual([
    { kind: 'cli', name: userInfo().username },
    { kind: 'cli', name: 'ben' },
  ]);
});

test('a terminal gets no control character of a note or a name', async () => {
  await cli(...replay());
  await database.query(`update audit set note = $1, actor = $2`, ['ticket\u001b[2J\u009b1m\nx', 'ada\u202e']);
  const { stdout } = await cli('audit', 'list');
  expect(stdout).toContain('ada\\u{202e} (cli)');
  expect(stdout).toContain('ticket\\u{1b}[2J\\u{9b}1m\\nx');
  expect(/[\p{Cc}\p{Cf}]/u.test(stdout.replaceAll('\n', ''))).toBe(false);
});

test('a count that was cut has a plus', async () => {
  await cli(...replay());
  await database.query(`update audit set count = 500000, before = null, after = '{"has_more":true}'`);
  expect((await cli('audit', 'list')).stdout).toContain(' 500000+  has_more true');
});

test('--all is an entry about the webhook for each batch', async () => {
  await database.query(`update dead_letters set created_at = '2001-01-01'`);
  await json('dead-letters', 'replay', '--all', '--webhook', webhook, '--account', account, '--as', 'ada');
  expect(await listed()).toEqual([
    expect.objectContaining({
      action: 'dead-letters.replay',
      target: webhook,
      count: 1,
      by: { kind: 'cli', name: 'ada' },
    }),
  ]);
});

const by = ['--as', 'ada', '--note', 'ticket 7'];

/** Runs a command as Ada. @returns what it printed, and the one entry that it left */
async function acted(...args: string[]): Promise<[printed: Record<string, unknown>, entry: unknown]> {
  const printed = await json(...args, ...by);
  const [entry, ...others] = await listed();
  expect(others).toEqual([]);
  return [printed, entry];
}

const entryOf = (wish: object) => ({
  id: expect.any(Number),
  created_at: expect.any(String),
  by: { kind: 'cli', name: 'ada' },
  account,
  webhook: null,
  count: 1,
  before: null,
  after: null,
  note: 'ticket 7',
  ...wish,
});

test('key create and key revoke leave an entry, without the key', async () => {
  const args = ['--account', account, '--scopes', 'emails:send', '--rate-limit', '9'];
  const [{ id, key }, created] = await acted('key', 'create', ...args);
  const after = { kind: 'live', scopes: ['emails:send'], rate_limit: 9, expires_at: null };
  expect(created).toEqual(entryOf({ action: 'key.create', target: id, after }));
  expect(JSON.stringify(await database.query('select * from audit'))).not.toContain(key);
  await database.query('delete from audit');
  for (let n = 0; n < 2; n += 1) await json('key', 'revoke', String(id), ...by);
  expect(await listed()).toEqual([
    entryOf({ action: 'key.revoke', target: id, before: { state: 'active' }, after: { state: 'revoked' } }),
  ]);
});

test('account limit leaves the limits before and after, and nothing when it changes none', async () => {
  await json('account', 'limit', account, ...by);
  await json('account', 'limit', account, '--domains', 'default', ...by);
  const [, entry] = await acted('account', 'limit', account, '--domains', '500');
  expect(entry).toEqual(
    entryOf({
      action: 'account.limit',
      target: account,
      before: { webhooks: null, domains: null, unverified_domains: null },
      after: { webhooks: null, domains: 500, unverified_domains: null },
    }),
  );
  await json('account', 'limit', account, '--domains', '500', ...by);
  expect(await listed()).toHaveLength(1);
  expect((await cli('audit', 'list')).stdout).toMatch(/ {2}domains null to domains 500; ticket 7\n$/);
});

test('account create leaves the values of the new account, without the address', async () => {
  const [{ id }, entry] = await acted(
    'account',
    'create',
    '--name',
    'Shop',
    '--notice-email',
    'ops@a.example',
  );
  const after = { name: 'Shop', notice_email: 'an address' };
  expect(entry).toEqual(entryOf({ action: 'account.create', account: id, target: id, after }));
  await json('account', 'create', '--name', 'Quiet', ...by);
  expect(await listed()).toMatchObject([{ after: { name: 'Quiet', notice_email: null } }, entry]);
  expect(JSON.stringify(await database.query('select * from audit'))).not.toContain('a.example');
});

test('account update leaves the values before and after without the address, and nothing when it changes none', async () => {
  const update = (address: string) => ['account', 'update', account, '--notice-email', address] as const;
  await json(...update('none'), ...by);
  const [shown, entry] = await acted(...update('ops@a.example'));
  const name = shown['name'];
  const values = (notice_email: string | null) => ({ name, notice_email });
  const entryWith = (before: string | null, after: string | null) =>
    entryOf({ action: 'account.update', target: account, before: values(before), after: values(after) });
  expect(entry).toEqual(entryWith(null, 'an address'));
  await json(...update('ops@a.example'), ...by);
  await json(...update('dev@a.example'), ...by);
  expect(await listed()).toEqual([entryWith('an address', 'another address'), entry]);
  expect(JSON.stringify(await database.query('select * from audit'))).not.toContain('a.example');
});

test('account erase leaves entries without the address: of the request, and of a notice address', async () => {
  await database.query(`update accounts set name = 'A', notice_email = 'bob@b.example'`);
  const erase = ['account', 'erase', account, '--address', 'bob@b.example', ...by];
  for (let n = 0; n < 2; n += 1) await cli(...erase);
  const request = entryOf({ action: 'account.erase', target: account });
  const [before, after] = ['an address', null].map((notice_email) => ({ name: 'A', notice_email }));
  const update = entryOf({ action: 'account.update', target: account, before, after });
  expect(await listed()).toEqual([request, request, update]);
  expect(JSON.stringify(await database.query('select * from audit'))).not.toContain('bob');
});

test('suppressions remove leaves the id of the suppression, not the address', async () => {
  await database.query(
    `insert into suppressions (id, account_id, address, origin, created_at) values ('sup_1', $1, 'bob@b.example', 'manual', now())`,
    [account],
  );
  const remove = ['suppressions', 'remove', '--account', account, '--address'];
  expect((await cli(...remove, 'ann@b.example')).code).toBe(1);
  const [, entry] = await acted(...remove, 'bob@b.example');
  const before = { suppressions: ['sup_1'] };
  expect(entry).toEqual(entryOf({ action: 'suppression.remove', target: 'sup_1', before }));
});

test('domain release leaves the name of the domain', async () => {
  const id = await rows.domain(account, 'a.example');
  const [, entry] = await acted('domain', 'release', 'a.example');
  expect(entry).toEqual(entryOf({ action: 'domain.release', target: id, before: { name: 'a.example' } }));
});

test('installation set leaves the values before and after, and nothing when it changes none', async () => {
  for (let n = 0; n < 2; n += 1) await json('installation', 'set', 'mail-provider', 'smtp', ...by);
  const inboxes = ['ibx_01jd0000000000000000000001', 'ibx_01jd0000000000000000000002'] as const;
  for (const inbox of inboxes) {
    await rows.inbox({ id: inbox, accountId: account });
    for (let n = 0; n < 2; n += 1) await json('installation', 'set', 'postmaster', inbox, ...by);
  }
  const [first, second] = inboxes;
  const set = { action: 'installation.set', account: null, before: { value: null } };
  expect(await listed()).toEqual([
    entryOf({ ...set, target: 'postmaster', before: { value: first }, after: { value: second } }),
    entryOf({ ...set, target: 'postmaster', after: { value: first } }),
    entryOf({ ...set, target: 'mail-provider', after: { value: 'smtp' } }),
  ]);
});

describe('audit list', () => {
  test('narrows by account, person, action, target and time, and shows 100', async () => {
    await database.query(
      `insert into audit (actor_kind, actor, action, account_id, target, count, created_at)
       select 'key', 'key_' || n % 2, 'event.replay', $1, 'evt_' || n, 1, '2026-01-01Z'::timestamptz + n * interval '1 s'
       from generate_series(1, 130) n`,
      [account],
    );
    const count = async (...args: string[]) => (await listed(...args)).length;
    const all = await cli('audit', 'list', '--json');
    const { data } = JSON.parse(all.stdout) as { data: { id: number }[] };
    expect(data).toHaveLength(100);
    const last = String(data.at(-1)?.id);
    expect(all.stderr).toBe(`postrider: there are more: --after ${last}\n`);
    expect(await count('--after', last)).toBe(30);
    expect(await count('--who', 'key_1')).toBe(65);
    expect(await count('--account', await rows.account())).toBe(0);
    expect(await count('--action', 'key.revoke')).toBe(0);
    expect(await count('--target', 'evt_7')).toBe(1);
    expect(await count('--since', '2026-01-01T00:02:00Z', '--account', account)).toBe(11);
    expect((await cli('audit', 'list', '--target', 'evt_0')).stdout).toBe('no entries\n');
  });

  test.each([
    [2, /not the id of an account/, ['--account', 'me']],
    [2, /not a time/, ['--since', 'yesterday']],
    [2, /Allowed choices/, ['--action', 'key.eat']],
    [2, /not the id of an entry/, ['--after', '0']],
    [1, /no entry 999/, ['--after', '999']],
  ])('fails with %i and %s', async (code, message, args) => {
    const result = await cli('audit', 'list', ...args);
    expect(result).toEqual({ code, stdout: '', stderr: expect.stringMatching(message) });
  });
});

test.each([
  ['--as', ''],
  ['--as', 'a\u001b[31m'],
  ['--as', 'a'.repeat(101)],
  ['--note', 'two\nlines'],
  ['--note', 'for ada@example.com'],
])('%s %j is refused, and nothing is replayed', async (option, value) => {
  expect((await cli(...replay(), option, value)).code).toBe(2);
  expect(await database.query('select from dead_letters')).toHaveLength(1);
  expect(await listed()).toEqual([]);
});
