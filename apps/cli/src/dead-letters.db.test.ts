import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { fakeClock, openClient, streamInto } from '@postrider/testing';
import { setupCli } from '../test/run-in-process.ts';
import { runCli } from './run.ts';

const { cli, json, database } = setupCli();

const makeAccount = () => json<{ id: string }>('account', 'create', '--name', 'Acme').then(({ id }) => id);

describe('dead letters', () => {
  const WEBHOOK = 'wh_01jd0000000000000000000001';
  const OTHER = 'wh_01jd0000000000000000000002';
  const idOf = (number: number) => `dl_01jd${String(number).padStart(22, '0')}`;

  async function bury(account: string, webhook: string, from: number, to: number): Promise<void> {
    await database.query(
      `insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
       values ($1, $2, 'https://customer.example/', 'k', '\\x00') on conflict do nothing`,
      [webhook, account],
    );
    await database.query(
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts,
                                 reason, last_error, status_code, created_at)
       select 'dl_01jd' || lpad(n::text, 22, '0'), $1, $2, 'evt_01jd' || lpad(n::text, 22, '0'), 'email.sent',
              '2025-12-01', '{}', 8, 'attempts_exhausted', 'HTTP 503', 503, '2025-12-01'
       from generate_series($3::int, $4::int) n`,
      [account, webhook, from, to],
    );
  }

  const counted = async (table: string) =>
    Number((await database.query<{ n: string }>(`select count(*) as n from ${table}`))[0]?.n);

  test('are listed as in the contract, all or of one webhook', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 1);
    await bury(account, OTHER, 2, 2);
    const ofOne = await json('dead-letters', 'list', '--account', account, '--webhook', WEBHOOK);
    expect(ofOne).toEqual({
      object: 'list',
      data: [
        {
          id: idOf(1),
          webhook: WEBHOOK,
          event_id: 'evt_01jd0000000000000000000001',
          type: 'email.sent',
          attempts: 8,
          reason: 'attempts_exhausted',
          last_error: 'HTTP 503',
          status_code: 503,
          created_at: '2025-12-01T00:00:00.000Z',
        },
      ],
    });
    const all = await json<{ data: { id: string }[] }>('dead-letters', 'list', '--account', account);
    expect(all.data.map(({ id }) => id)).toEqual([idOf(2), idOf(1)]);
    const wrong = ['--account', await makeAccount(), '--webhook', WEBHOOK];
    const stderr = `postrider: no webhook ${WEBHOOK}\n`;
    expect(await cli('dead-letters', 'list', ...wrong)).toEqual({ code: 1, stdout: '', stderr });
  });

  test('of one webhook are found behind many of another, and by type and reason', async () => {
    const account = await makeAccount();
    await bury(account, OTHER, 1, 2);
    await bury(account, WEBHOOK, 1_001, 1_150);
    await database.query(`update dead_letters set type = 'email.opened', reason = 'rejected' where id = $1`, [
      idOf(1),
    ]);
    const found = async (...options: string[]) => {
      const { code, stdout } = await cli('dead-letters', 'list', '--account', account, ...options, '--json');
      expect(code).toBe(0);
      return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect(await found('--webhook', OTHER)).toEqual([idOf(2), idOf(1)]);
    expect(await found('--type', 'email.opened')).toEqual([idOf(1)]);
    expect(await found('--reason', 'rejected')).toEqual([idOf(1)]);
    expect(await found('--after', idOf(1_001))).toEqual([idOf(2), idOf(1)]);
    expect(await found('--since', '2999-01-01T00:00:00Z')).toEqual([]);
    expect(await found('--until', '2025-01-01T00:00:00Z')).toEqual([]);
    const { stderr } = await cli('dead-letters', 'list', '--account', account);
    expect(stderr).toBe(`postrider: there are more: --after ${idOf(1_051)}\n`);
    const missing = await cli('dead-letters', 'list', '--account', account, '--after', idOf(7));
    expect(missing).toEqual({ code: 1, stdout: '', stderr: `postrider: no dead letter ${idOf(7)}\n` });
  });

  test('--all replays only the given type and reason', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 3);
    await database.query(`update dead_letters set type = 'email.opened' where id = $1`, [idOf(1)]);
    await database.query(`update dead_letters set reason = 'rejected' where id = $1`, [idOf(2)]);
    const all = ['dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--account', account];
    expect(await json(...all, '--since', '2999-01-01T00:00:00Z')).toEqual({ replayed: 0, missing: [] });
    expect(await json(...all, '--until', '2025-01-01T00:00:00Z')).toEqual({ replayed: 0, missing: [] });
    expect(await json(...all, '--type', 'email.sent', '--reason', 'attempts_exhausted')).toEqual({
      replayed: 1,
      missing: [],
    });
    expect(await counted('dead_letters')).toBe(2);
    expect(await json(...all)).toEqual({ replayed: 2, missing: [] });
  });

  test('replay queues the given ones again and names the missing ones', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 3);
    expect(await json('dead-letters', 'replay', idOf(1), idOf(2), idOf(1), '--account', account)).toEqual({
      replayed: 2,
      missing: [],
    });
    const again = await cli('dead-letters', 'replay', idOf(2), idOf(3), '--account', account, '--json');
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toEqual({ replayed: 1, missing: [idOf(2)] });
    expect(again.stderr).toBe(`postrider: no dead letter with a webhook: ${idOf(2)}\n`);
    expect(await counted('deliveries')).toBe(3);
    expect(await counted('dead_letters')).toBe(0);
  });

  test('replay says how many it queued when one fails', async () => {
    await bury(await makeAccount(), WEBHOOK, 1, 3);
    await database.query(`alter table audit add constraint no_second check (target not like '%2')`);
    const failed = await cli('dead-letters', 'replay', ...[1, 2, 3, 4].map(idOf));
    await database.query('alter table audit drop constraint no_second');
    expect(failed).toMatchObject({ code: 1, stdout: 'replayed 2\n' });
    expect(failed.stderr).toMatch(/^postrider: not replayed: \S+2, \S+4: .*no_second/);
    expect(await counted('dead_letters')).toBe(1);
  });

  test("another account's dead letter counts as missing and stays", async () => {
    await bury(await makeAccount(), WEBHOOK, 1, 1);
    const stranger = await makeAccount();
    const { code } = await cli('dead-letters', 'replay', idOf(1), '--account', stranger);
    expect(code).toBe(1);
    const all = ['dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--account', stranger];
    expect(await cli(...all)).toEqual({ code: 1, stdout: '', stderr: `postrider: no webhook ${WEBHOOK}\n` });
    expect(await counted('dead_letters')).toBe(1);
  });

  test('--all replays all of one webhook, more than the list shows, and no other', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 1_100);
    await bury(account, OTHER, 2_001, 2_150);
    expect(await cli('dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--account', account)).toEqual({
      code: 0,
      stdout: 'replayed 1100\n',
      stderr: 'postrider: replayed 1000 so far\n',
    });
    expect(await counted('dead_letters')).toBe(150);
    expect(await counted('deliveries')).toBe(1_100);
  });

  test('--all says how many it replayed when a later batch fails', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 1_100);
    await database.query(
      `alter table audit add constraint no_second_batch check (action <> 'dead-letters.replay' or count = 1000)`,
    );
    const failed = await cli('dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--account', account);
    await database.query('alter table audit drop constraint no_second_batch');
    expect(failed).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^postrider: replayed 1000 so far\npostrider: replayed 1000, then stopped\npostrider: .*no_second_batch.*\n$/,
      ),
    });
    expect(await counted('dead_letters')).toBe(100);
  });

  test('--all --dry-run counts those of every webhook of an account, more than one page of webhooks', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 1);
    await database.query(`update webhooks set created_at = '2026-01-01'`);
    await database.query(
      `insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
       select 'wh_01jd' || lpad(n::text, 22, '0'), $1, 'https://customer.example/', 'k', '\\x00'
       from generate_series(2, 101) n`,
      [account],
    );
    const all = ['dead-letters', 'replay', '--all', '--account', account, '--dry-run'];
    expect(await json(...all)).toMatchObject({ matched: 1, webhooks: [{ webhook: WEBHOOK, matched: 1 }] });
  });

  test('--all --dry-run with a rate says how long the webhook with the most takes', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 5);
    await bury(account, OTHER, 2_001, 2_003);
    const all = ['dead-letters', 'replay', '--all', '--account', account, '--dry-run', '--rate', '2'];
    const { stdout } = await cli(...all);
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      '8 dead letters match; nothing is sent',
      'at 2 a second for each webhook it takes 3 s or longer',
    ]);
  });

  test('--all leaves what another command has locked, and ends', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 3);
    const other = await openClient(database.url);
    await other.query('begin');
    await other.query('select from dead_letters where id = $1 for update', [idOf(2)]);
    const [printed, notes]: [string[], string[]] = [[], []];
    const stderr = new Writable({
      write(chunk, _encoding, done) {
        // A command that goes on finds the rest unlocked, so that it ends.
        if (notes.push(String(chunk)) > 1) void other.query('rollback');
        done();
      },
    });
    const io = { env: { DATABASE_URL: database.url }, dataDir: '/nonexistent', clock: fakeClock() };
    const args = ['dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--account', account];
    const code = await runCli(args, { ...io, stdout: streamInto(printed), stderr });
    await other.end();
    expect({ code, printed, notes }).toEqual({
      code: 0,
      printed: ['replayed 2\n'],
      notes: ['postrider: replayed 2 so far\n'],
    });
    expect(await counted('dead_letters')).toBe(1);
  });

  test('--all of a missing webhook fails with one line', async () => {
    const account = await makeAccount();
    const missing = 'wh_01jd0000000000000000000099';
    expect(
      await cli('dead-letters', 'replay', '--all', '--webhook', missing, '--account', account, '--json'),
    ).toEqual({ code: 1, stdout: '', stderr: `postrider: no webhook ${missing}\n` });
  });

  test('--all replays a dead letter of just now, however slow the clock of this machine is', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 1);
    await database.query('update dead_letters set created_at = clock_timestamp()');
    const all = ['dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--account', account];
    expect(await json(...all)).toEqual({ replayed: 1, missing: [] });
  });

  test('--all skips dead letters made after its start, so that it ends', async () => {
    const account = await makeAccount();
    await bury(account, WEBHOOK, 1, 2);
    await database.query(`update dead_letters set created_at = now() + interval '1 hour' where id = $1`, [
      idOf(2),
    ]);
    const all = ['dead-letters', 'replay', '--all', '--webhook', WEBHOOK, '--account', account];
    expect(await json(...all)).toEqual({ replayed: 1, missing: [] });
    expect(await counted('dead_letters')).toBe(1);
  });
});
