import { describe, expect, test } from '@jest/globals';
import { apiKeyDigest } from '@postrider/domain';
import { startRedis } from '@postrider/embedded';
import { describeWithRedis } from '@postrider/testing';
import { runInProcess, setupCli } from '../test/run-in-process.ts';

const { cli, json, database } = setupCli();

const makeAccount = () => json<{ id: string }>('account', 'create', '--name', 'Acme').then(({ id }) => id);

describe('account limit', () => {
  test('sets the webhooks that an account may have, shows the limit, and resets it to the default', async () => {
    const id = await makeAccount();
    expect(await json('account', 'limit', id)).toMatchObject({ id, webhooks: null });
    expect(await json('account', 'limit', id, '--webhooks', '250')).toMatchObject({ id, webhooks: 250 });
    expect(await json('account', 'limit', id)).toMatchObject({ id, webhooks: 250 });
    expect((await cli('account', 'limit', id)).stdout).toMatch(/^webhooks: 250\n/);
    expect(await json('account', 'limit', id, '--webhooks', 'default')).toMatchObject({ id, webhooks: null });
    expect((await cli('account', 'limit', id)).stdout).toBe(
      'webhooks: WEBHOOKS_PER_ACCOUNT_MAX of the API\n' +
        'domains: DOMAINS_PER_ACCOUNT_MAX of the API\n' +
        'unverified domains: UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX of the API\n',
    );
  });

  test('of a missing account fails with one line', async () => {
    const missing = 'acct_01jd0000000000000000000009';
    expect(await cli('account', 'limit', missing, '--webhooks', '5', '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no account ${missing}\n`,
    });
  });
});

describe('installation', () => {
  test('stores the mail provider for every process, and names the previous one', async () => {
    const set = (value: string) => json('installation', 'set', 'mail-provider', value);
    expect(await set('ses')).toEqual({ mail_provider: 'ses', was: null });
    expect(await set('smtp')).toEqual({ mail_provider: 'smtp', was: 'ses' });
    expect((await cli('installation', 'set', 'mail-provider', 'sandbox')).stdout).toMatch(
      /^the mail provider is sandbox \(was: smtp\)\nrestart every API, worker and inbound process/,
    );
    expect(await database.query('select mail_provider from installation')).toEqual([
      { mail_provider: 'sandbox' },
    ]);
  });

  test.each([
    ['set', 'mail-provider', 'pigeon'],
    ['set', 'mail-sender', 'ses'],
    ['set', 'mail-provider'],
  ])('%s %s %s is wrong usage', async (...args) => {
    const { code, stdout, stderr } = await cli('installation', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^postrider: [^\n]+\n$/);
  });
});

describe('account list', () => {
  test('shows all accounts, newest first', async () => {
    expect((await cli('account', 'list')).stdout).toBe('no accounts\n');
    const made: { id: string }[] = [];
    for (const name of ['First', 'Second']) made.push(await json('account', 'create', '--name', name));
    await database.query(`update accounts set created_at = '2020-01-01' where name = 'First'`);
    const created = { created_at: expect.stringMatching(/Z$/) };
    expect(await json('account', 'list')).toEqual({
      object: 'list',
      data: [
        { id: made[1]?.id, name: 'Second', ...created },
        { id: made[0]?.id, name: 'First', ...created },
      ],
    });
    expect((await cli('account', 'list')).stdout).toMatch(/^ID +MADE +NAME\nacct_\S+ +\S+Z +Second\nacct_/);
  });
});

describe('account and key', () => {
  test('a key has the requested scopes, kind and limit, and only its digest is stored', async () => {
    const account = await json('account', 'create', '--name', ' Acme ');
    expect(account).toEqual({ id: expect.stringMatching(/^acct_/), name: 'Acme' });
    const id = String(account['id']);
    const scopes = 'emails:read, emails:send,emails:read';
    const made = await json(
      ...['key', 'create', '--account', id, '--scopes', scopes, '--kind', 'test', '--rate-limit', '7'],
    );
    expect(made).toEqual({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^pr_test_/),
      account: id,
      kind: 'test',
      scopes: ['emails:read', 'emails:send'],
      rate_limit: 7,
      name: null,
      expires_at: null,
      last_used_at: null,
      created_at: '2026-01-01T00:00:00.000Z',
      revoked_at: null,
    });
    const [row] = await database.query<{ digest: Buffer }>('select digest from api_keys');
    expect(row?.digest.equals(apiKeyDigest(String(made['key'])))).toBe(true);
    expect((await cli('key', 'list', '--account', id, '--json')).stdout).not.toContain(String(made['key']));
  });

  test('by default a key is live and has no limit of its own', async () => {
    const made = await json('key', 'create', '--account', await makeAccount(), '--scopes', 'emails:read');
    expect(made).toMatchObject({ key: expect.stringMatching(/^pr_live_/), kind: 'live', rate_limit: null });
  });

  test('a revocation is final, can be repeated and keeps its first time', async () => {
    const account = await makeAccount();
    const { id } = await json<{ id: string }>(
      'key',
      'create',
      '--account',
      account,
      '--scopes',
      'emails:read',
    );
    const revoked = await json('key', 'revoke', id);
    expect(revoked).toMatchObject({ id, revoked_at: '2026-01-01T00:00:00.000Z' });
    expect(await json('key', 'revoke', id)).toEqual(revoked);
    expect(await json('key', 'list', '--account', account)).toEqual({ object: 'list', data: [revoked] });
    expect((await cli('key', 'list', '--account', account)).stdout).toMatch(
      /live +KEY_RATE_LIMIT_PER_MINUTE .*emails:read/,
    );
  });

  test.each([
    ['key create', ['key', 'create', '--scopes', 'emails:send', '--account']],
    ['key list', ['key', 'list', '--account']],
    ['dead-letters list', ['dead-letters', 'list', '--account']],
    ['dead-letters replay', ['dead-letters', 'replay', 'dl_01jd0000000000000000000001', '--account']],
  ])('%s of an account that is not there fails in one line', async (_, args) => {
    const missing = 'acct_01jd0000000000000000000009';
    expect(await cli(...args, missing, '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no account ${missing}\n`,
    });
  });

  test('revoking a missing key fails with one line', async () => {
    const missing = 'key_01jd0000000000000000000009';
    expect(await cli('key', 'revoke', missing, '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no key ${missing}\n`,
    });
  });
});

describe('account erase', () => {
  test('removes a person, and names what it erased and what must end first', async () => {
    const id = await makeAccount();
    await database.query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, $1, 'email.unsubscribed', '2026-01-01', '{"to":"Bob@b.example"}' from generate_series(1, 2) n`,
      [id],
    );
    await database.query(`insert into deliveries (event_id, webhook_id) values ('evt_1', 'wh_1')`);
    await database.query(`update accounts set notice_email = 'bob@b.example' where id = $1`, [id]);
    const stored = 'postrider: the request is stored: a relay goes on with it, also if this command stops\n';
    const printed = await cli('account', 'erase', id, '--address', 'BOB@b.example', '--json');
    expect(printed.stderr).toBe(`postrider: the account's notice address is removed\n${stored}`);
    const first = JSON.parse(printed.stdout) as Record<string, unknown>;
    expect(first).toEqual({
      account: id,
      address: 'bob@b.example',
      requested_at: expect.stringMatching(/^20.*Z$/) as unknown,
      erased: { emails: 0, messages: 0, events: 1, attempts: 0, dead_letters: 0 },
      pending: { emails: 0, messages: 0, events: 1, dead_letters: 0, ses_mail: 0 },
      pending_ids: ['evt_1'],
    });
    const waiting = await cli('account', 'erase', id, '--address', 'bob@b.example');
    const [request] = await database.query<{ at: Date }>('select requested_at as at from erasures');
    expect(request?.at.toISOString()).not.toBe(first['requested_at']);
    expect(waiting.stderr).toBe(stored);
    expect(waiting.stdout).toBe(
      'bob@b.example: erased 0 emails, 0 received messages, 0 events, 0 attempts, 0 dead letters\n' +
        'pending: 0 emails to be sent, 0 messages in use, 1 events to be delivered, 0 dead letters being replayed, 0 messages of SES to be read\namong them: evt_1\n' +
        `requested at ${String(request?.at.toISOString())}: a relay erases these when they have ended, and ends the request ten minutes after it or later\n`,
    );
    await database.query('delete from deliveries');
    const last = await cli('account', 'erase', id, '--address', 'bob@b.example');
    expect(last.stdout).toContain(
      ': erased 0 emails, 0 received messages, 1 events, 0 attempts, 0 dead letters\n',
    );
    expect(await database.query('select from events')).toEqual([]);
  });

  test('of a missing account fails; a malformed address is wrong usage', async () => {
    const id = 'acct_01arz3ndektsv4rrffq69g5fav';
    const missing = await cli('account', 'erase', id, '--address', 'b@b.example');
    expect(missing).toEqual({ code: 1, stdout: '', stderr: `postrider: no account ${id}\n` });
    for (const address of ['bob', 'Bob <bob@b.example>']) {
      const wrong = await cli('account', 'erase', await makeAccount(), '--address', address);
      expect(wrong).toEqual({
        code: 2,
        stdout: '',
        stderr: `postrider: "${address}" is not an e-mail address\n`,
      });
    }
  });
});

describe('status', () => {
  test('shows the backlog', async () => {
    await database.query(
      `insert into deliveries (event_id, webhook_id, due_at)
       values ('evt_1', 'wh_1', now() - interval '1 minute'), ('evt_2', 'wh_1', now() + interval '1 hour')`,
    );
    const none = { waiting: 0, delayed: 0 };
    expect(await json('status', '--stopped')).toEqual({
      failing: [],
      ok: true,
      postgres: { reachable: true },
      redis: null,
      migrations: { pending: [] },
      queue: { backend: 'postgres', depth: { fast: none, slow: none, mail: none } },
      backlog: {
        outstanding: 2,
        due_now: 1,
        oldest_due_seconds: expect.any(Number),
        oldest_first_attempt_seconds: expect.any(Number),
        unsent_emails: 0,
        dead_letters: { attempts_exhausted: 0, rejected: 0 },
        failing_webhooks: 0,
      },
      mail_provider: 'sandbox',
      database_role: { name: expect.any(String), access: 'all', lacks: [] },
      faults: [],
    });
    expect((await cli('status')).stdout).toMatch(/mail provider +sandbox: mail goes to a folder/);
    await json('installation', 'set', 'mail-provider', 'ses');
    expect(await json('status', '--stopped')).toMatchObject({ mail_provider: 'ses' });
    const { stdout } = await cli('status');
    expect(stdout).toMatch(/mail provider +ses/);
    expect(stdout).toMatch(/Postgres +reachable/);
    expect(stdout).toMatch(/deliveries outstanding +2, due now 1/);
  });

  describeWithRedis('with Redis', (redisUrl) => {
    test('shows the queues in Redis', async () => {
      const { code, stdout } = await runInProcess(['status', '--stopped', '--json'], {
        DATABASE_URL: database.url,
        REDIS_URL: redisUrl,
        QUEUE_PREFIX: 'cli-status',
      });
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ redis: { reachable: true }, queue: { backend: 'redis' } });
    });

    test('workers that all use another queue are a fault that names both', async () => {
      const env = { DATABASE_URL: database.url, REDIS_URL: redisUrl, QUEUE_PREFIX: 'cli-status' };
      const announce = (kind: string, prefix: string, id: string) =>
        database.query(
          `insert into workers (id, number, slots, queue_kind, queue_prefix, queue_id, heard_at)
           values ($3, 7, 1, $1, $2, $3, now() + interval '1 hour')`,
          [kind, prefix, id],
        );
      await announce('postgres', '', 'postgres');
      const { code, stdout, stderr } = await runInProcess(['status', '--stopped', '--json'], env);
      expect(code).toBe(1);
      const id = /prefix cli-status, id ([\w-]+)/.exec(stderr)?.[1] ?? 'none';
      const fault = `no worker takes jobs from the queue in Redis (prefix cli-status, id ${id}): the workers use Postgres`;
      expect(JSON.parse(stdout)).toMatchObject({ ok: false, faults: [fault] });
      expect(stderr).toBe(`postrider: ${fault}\n`);

      await announce('redis', 'cli-status', id);
      expect((await runInProcess(['status', '--stopped'], env)).code).toBe(0);
      await database.query('delete from workers');
    });

    test('a Redis that may evict jobs is a fault', async () => {
      const redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
      const env = { DATABASE_URL: database.url, REDIS_URL: redis.url };
      const { code, stdout, stderr } = await runInProcess(['status', '--stopped', '--json'], env);
      await redis.stop();
      const fault = 'Redis may evict jobs (maxmemory-policy allkeys-lru): set it to noeviction';
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ ok: false, redis: { reachable: true }, faults: [fault] });
      expect(stderr).toBe(`postrider: ${fault}\n`);
    });
  });
});
