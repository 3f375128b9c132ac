import { Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, DeadLetterId, EventId, WebhookId } from '@postrider/domain';
import { createPool, createRecoveryWork } from '@postrider/store';
import { fakeClock, waitFor } from '@postrider/testing';
import { setupCli } from '../test/run-in-process.ts';
import { runCli } from './run.ts';

const { cli, json, database, rows } = setupCli();

let pool: ReturnType<typeof createPool>;
beforeAll(() => {
  pool = createPool({
    databaseUrl: database.url,
    size: 2,
    applicationName: 'recover-test',
    durableCommits: false,
    plans: 'each time',
    onError: () => undefined,
  });
});
afterAll(() => pool.end());

let account: AccountId;
let webhook: WebhookId;

beforeEach(async () => {
  account = await rows.account();
  webhook = await rows.webhook({ accountId: account });
  await database.query(`update webhooks set created_at = now() - interval '20 days'`);
});

/** Events that the endpoint failed to take an hour ago. The last ones still have a dead letter. */
async function outage(
  events: number,
  letters: number,
): Promise<{ events: EventId[]; letters: DeadLetterId[] }> {
  const made: { events: EventId[]; letters: DeadLetterId[] } = { events: [], letters: [] };
  for (let n = events; n > 0; n -= 1) {
    const id = await rows.event({ accountId: account });
    made.events.push(id);
    await database.query(
      `update events set created_at = now() - make_interval(secs => 3600 + $2) where id = $1`,
      [id, n],
    );
    await database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       select created_at, 1, id, $2, 1, 1, 503 from events where id = $1`,
      [id, webhook],
    );
    if (n > letters) continue;
    made.letters.push(await rows.deadLetter(webhook, id));
  }
  await database.query(`update dead_letters set created_at = now() - interval '1 hour'`);
  return made;
}

const anHourAgo = () => new Date(Date.now() - 2 * 3_600_000).toISOString();

/**
 * Does the steps of the recoveries that run until none is left, as a relay does, with a worker beside it.
 *
 * @param delivers whether the endpoint takes the events. @returns the events that were queued
 */
async function relay({ delivers = true } = {}): Promise<EventId[]> {
  const work = createRecoveryWork(pool);
  await waitFor(async () => (await running()).length > 0, { what: 'a recovery' });
  for (let ids = await running(); ids.length > 0; ids = await running())
    for (const id of ids) {
      await database.query('update recoveries set next_step_at = now()');
      await work.step(id as never, 500);
      await database.query('update deliveries set taken_at = now()'); // so that none waits
    }
  const events = await queued();
  if (delivers) await deliver();
  return events;
}

async function deliver(): Promise<void> {
  await database.query(
    `with gone as (delete from deliveries returning recovery_id)
     insert into recovery_outcomes (recovery_id, delivered, failed) select recovery_id, 1, 0 from gone`,
  );
}

async function running(): Promise<string[]> {
  const found = await database.query<{ id: string }>('select id from recoveries where ended_at is null');
  return found.map(({ id }) => id);
}

const queued = async () =>
  (await database.query<{ id: EventId }>('select event_id as id from deliveries order by due_at, id')).map(
    ({ id }) => id,
  );

async function audited(action: string): Promise<Record<string, unknown>[]> {
  const { data } = await json<{ data: Record<string, unknown>[] }>('audit', 'list', '--action', action);
  return data;
}

/** A command whose streams are a file's, or a terminal's. */
function start(args: readonly string[], isTTY = false) {
  const texts = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof texts) =>
    Object.assign(
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          texts[name] += chunk.toString();
          done();
        },
      }),
      { isTTY },
    );
  const streams = { stdout: stream('stdout'), stderr: stream('stderr') };
  const env = { DATABASE_URL: database.url };
  const ended = runCli(args, { env, dataDir: '/nonexistent', clock: fakeClock(), ...streams });
  return { texts, ended };
}

describe('recover', () => {
  test('--dry-run says how many events match, and sends nothing', async () => {
    await outage(3, 1);
    expect(await json('recover', webhook, '--since', anHourAgo(), '--dry-run')).toEqual({
      ...{ webhook, account, dry_run: true, types: [], only: 'undelivered', rate: 200 },
      since: expect.stringMatching(/Z$/),
      until: expect.stringMatching(/Z$/),
      ...{ matched: 3, dead_letters: 1, unknown: 0, has_more: false },
      oldest: expect.stringMatching(/Z$/),
      newest: expect.stringMatching(/Z$/),
    });
    const { stdout } = await cli('recover', webhook, '--since', anHourAgo(), '--dry-run', '--rate', '2');
    expect(stdout).toMatch(
      /^3 events match, recorded .*Z to .*Z; 1 have a dead letter\nat 2 a second it takes 2 s or longer\n$/,
    );
    expect(await running()).toEqual([]);
  });

  test('--dry-run says which events it leaves out', async () => {
    await database.query(`select make_attempts_day((now() at time zone 'utc')::date)`);
    await rows.event({ accountId: account, ageDays: 2 });
    await database.query("update webhooks set created_at = created_at - interval '1 day'");
    const since = new Date(Date.now() - 3 * 86_400_000).toISOString();
    const { stdout } = await cli('recover', webhook, '--since', since, '--dry-run');
    expect(stdout).toContain('0 events match; 0 have a dead letter\n');
    expect(stdout).toContain('1 are left out, because nobody knows how they ended: --only all\n');
  });

  test('sends the events of the time span, the types and the kind that it names, and prints the end', async () => {
    const { events } = await outage(3, 1);
    await database.query(`update events set type = 'email.bounced' where id = $1`, [events[0]]);
    await database.query(`update attempts set status = 200 where event_id = $1`, [events[1]]);
    const since = anHourAgo();
    const until = new Date().toISOString();
    const args = ['--since', since, '--until', until, '--types', 'email.sent, email.opened', '--only', 'all'];
    const ended = cli(
      'recover',
      webhook,
      ...args,
      '--rate',
      '300',
      '--as',
      'ada',
      '--note',
      'INC-7',
      '--json',
    );
    expect(await relay()).toEqual(events.slice(1));
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      id: expect.stringMatching(/^rec_/),
      ...{ webhook, account, status: 'finished', since, until, types: ['email.sent', 'email.opened'] },
      ...{ only: 'all', reason: null, rate: 300, matched: 2, dead_letters: 1, has_more: false },
      ...{ queued: 2, delivered: 2, failed: 0, in_progress: 0, left: 0 },
      created_at: expect.stringMatching(/Z$/),
      ended_at: expect.stringMatching(/Z$/),
    });
    expect(stderr).toMatch(/^postrider: rec_\w+: 2 match, at most 300 a second\n/);
    expect(await audited('recovery.start')).toMatchObject([
      { by: { kind: 'cli', name: 'ada' }, note: 'INC-7', account, webhook, count: 2 },
    ]);
  });

  test('sends what is undelivered when nothing else is said, 200 a second', async () => {
    const { events } = await outage(2, 0);
    await database.query(`update attempts set status = 200 where event_id = $1`, [events[0]]);
    const ended = cli('recover', webhook, '--since', anHourAgo());
    await relay();
    expect((await ended).stdout).toMatch(
      new RegExp(
        `^rec_\\w+ of ${webhook} finished at \\S+Z: 1 of 1 queued: 1 delivered, 0 failed, 0 in progress\n$`,
      ),
    );
    expect(await database.query('select rate from recoveries')).toEqual([{ rate: 200 }]);
  });

  test('is not finished while its last event is on its way, and shows the end afterwards', async () => {
    await outage(1, 0);
    const { texts, ended } = start(['recover', webhook, '--since', anHourAgo()], true);
    await relay({ delivers: false });
    await waitFor(() => texts.stderr.includes('1 in progress'), { what: 'the last event' });
    const { stdout } = await cli('recover', webhook);
    expect(stdout).toMatch(/^rec_\w+ of \w+ has queued all at \S+Z: 1 of 1 queued: .* 1 in progress\n$/);
    await deliver();
    expect(await ended).toBe(0);
    expect(texts.stdout).toMatch(/ finished at \S+Z: 1 of 1 queued: 1 delivered, 0 failed, 0 in progress\n$/);
    expect((await cli('recover', webhook)).stdout).toBe(texts.stdout);
  });

  test('shows a terminal one line that changes, until Ctrl+C, which leaves the recovery', async () => {
    await outage(4, 0);
    const { texts, ended } = start(['recover', webhook, '--since', anHourAgo(), '--rate', '8'], true);
    const line = (count: number) =>
      `\r\u001b[K${count} of 4 queued: 0 delivered, 0 failed, ${count} in progress`;
    await waitFor(() => texts.stderr.includes(line(0)), { what: 'the first line' });
    const [id] = await running();
    await createRecoveryWork(pool).step(id as never, 500);
    await database.query('update webhooks set failing_since = now()');
    await waitFor(() => texts.stderr.includes(`${line(2)}; it fails: 1 a second`), { what: 'progress' });
    process.emit('SIGINT');
    expect(await ended).toBe(0);
    expect(
      texts.stderr.endsWith(
        `\npostrider: ${id} goes on. To look: postrider recover ${webhook}; to stop it: postrider recover ${webhook} --stop\n`,
      ),
    ).toBe(true);
    expect(texts.stdout).toContain(`${id} of ${webhook} runs: 2 of 4 queued`);
    expect(await running()).toEqual([id]);
  });

  test('writes few lines to a log', async () => {
    await outage(4, 0);
    const { texts, ended } = start(['recover', webhook, '--since', anHourAgo(), '--rate', '8']);
    await waitFor(() => texts.stderr.includes('0 of 4 queued'), { what: 'the first line' });
    await relay();
    expect(await ended).toBe(0);
    expect(texts.stderr.split('\n').slice(1)).toEqual([
      'postrider: 0 of 4 queued: 0 delivered, 0 failed, 0 in progress',
      '',
    ]);
  });

  test('without options shows the one that runs or ran last, and --stop stops it', async () => {
    await outage(2, 0);
    const first = start(['recover', webhook, '--since', anHourAgo()]);
    await waitFor(() => first.texts.stderr.includes('0 of 2 queued'), { what: 'the recovery' });
    process.emit('SIGINT');
    await first.ended;
    const again = await cli('recover', webhook, '--since', anHourAgo());
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain(` of ${webhook} runs. To look: postrider recover`);
    const looking = start(['recover', webhook]);
    await waitFor(() => looking.texts.stderr.includes('0 of 2 queued'), { what: 'the recovery again' });
    expect(await json('recover', webhook, '--stop', '--as', 'ben')).toMatchObject({
      status: 'stopped',
      left: 2,
    });
    expect(await looking.ended).toBe(0);
    expect(looking.texts.stdout).toMatch(/ stopped at \S+Z: 0 of 2 queued/);
    expect(await audited('recovery.stop')).toMatchObject([{ by: { name: 'ben' }, webhook }]);
    expect(await cli('recover', webhook)).toMatchObject({ code: 0, stdout: looking.texts.stdout });
    expect(await cli('recover', webhook, '--stop')).toMatchObject({
      code: 1,
      stderr: `postrider: no recovery of ${webhook} runs\n`,
    });
  });

  test('without options says that a webhook never had one', async () => {
    const stderr = `postrider: ${webhook} never had a recovery; --since starts one\n`;
    expect(await cli('recover', webhook)).toEqual({ code: 1, stdout: '', stderr });
  });

  test('says that a suspended account waits', async () => {
    await outage(1, 0);
    await database.query('update accounts set suspended_at = now()');
    const { texts, ended } = start(['recover', webhook, '--since', anHourAgo()]);
    await waitFor(() => texts.stderr.includes('0 of 1 queued'), { what: 'the recovery' });
    expect(texts.stderr).toContain(`postrider: ${account} is suspended: it waits for account resume\n`);
    process.emit('SIGINT');
    await ended;
  });

  test('ends when the webhook is deleted', async () => {
    await outage(1, 0);
    const { texts, ended } = start(['recover', webhook, '--since', anHourAgo()]);
    await waitFor(() => texts.stderr.includes('0 of 1 queued'), { what: 'the recovery' });
    await database.query('update webhooks set removed_at = now()');
    expect(await ended).toBe(1);
    expect(texts.stderr).toMatch(new RegExp(`postrider: ${webhook} is deleted, so rec_\\w+ has ended\n$`));
  });

  test('says that it goes on when the database fails', async () => {
    await outage(1, 0);
    const { texts, ended } = start(['recover', webhook, '--since', anHourAgo()]);
    await waitFor(() => texts.stderr.includes('0 of 1 queued'), { what: 'the recovery' });
    await database.query('alter table recoveries rename to away');
    const code = await ended;
    await database.query('alter table away rename to recoveries');
    expect(code).toBe(1);
    expect(texts.stderr).toMatch(/\npostrider: rec_\w+ goes on\. To look: .*\npostrider: .*recoveries.*\n$/);
  });

  test('a webhook that is not there fails with one line', async () => {
    const missing = 'wh_01jd0000000000000000000099';
    const wanted = { code: 1, stdout: '', stderr: `postrider: no webhook ${missing}\n` };
    for (const options of [[], ['--stop'], ['--since', anHourAgo()], ['--since', anHourAgo(), '--dry-run']])
      expect(await cli('recover', missing, ...options)).toEqual(wanted);
  });
});

describe('dead-letters replay', () => {
  let other: WebhookId;
  beforeEach(async () => void (other = await rows.webhook({ accountId: await rows.account() })));
  const all = (...options: string[]) => ['dead-letters', 'replay', '--all', '--webhook', webhook, ...options];

  test('finds the account of dead letters and of a webhook', async () => {
    const { letters } = await outage(2, 2);
    const foreign = await rows.deadLetter(other, await rows.event());
    await database.query(`update dead_letters set created_at = '2025-12-01'`); // before the clock of the command
    expect(await json('dead-letters', 'replay', letters[0] ?? '', foreign)).toEqual({
      replayed: 2,
      missing: [],
    });
    expect(await json(...all())).toEqual({ replayed: 1, missing: [] });
    expect(await queued()).toHaveLength(3);
  });

  test('--dry-run counts the named ones by webhook, and replays none', async () => {
    const { letters } = await outage(2, 2);
    const foreign = await rows.deadLetter(other, await rows.event());
    const [{ id: owner } = { id: '' }] = await database.query<{ id: string }>(
      'select account_id as id from webhooks where id = $1',
      [other],
    );
    const webhooks = [
      { webhook, account, matched: 2, has_more: false },
      { webhook: other, account: owner, matched: 1, has_more: false },
    ];
    const counted = await json<{ webhooks: object[] }>(
      'dead-letters',
      'replay',
      ...letters,
      foreign,
      '--dry-run',
    );
    expect(counted).toMatchObject({ dry_run: true, matched: 3, has_more: false, missing: [] });
    expect(counted.webhooks).toEqual(expect.arrayContaining(webhooks));
    const narrowed = await cli(
      'dead-letters',
      'replay',
      ...letters,
      foreign,
      '--dry-run',
      '--account',
      account,
    );
    expect(narrowed).toMatchObject({
      code: 1,
      stderr: `postrider: no dead letter with a webhook: ${foreign}\n`,
    });
    expect(narrowed.stdout).toMatch(
      new RegExp(`^2 dead letters match; nothing is sent\nWEBHOOK .*\n${webhook}  ${account}  2\n$`),
    );
    expect(await queued()).toEqual([]);
  });

  test('--all --dry-run counts those of a webhook, or of each webhook of an account', async () => {
    await outage(2, 2);
    await rows.deadLetter(other, await rows.event());
    const second = await rows.webhook({ accountId: account });
    const letter = await rows.deadLetter(second, await rows.event());
    await database.query(
      `update dead_letters set reason = 'rejected', created_at = now() - interval '1 h' where id = $1`,
      [letter],
    );
    await rows.webhook({ accountId: account });
    const ofOne = { webhook, account, matched: 2, has_more: false };
    expect(await json(...all('--dry-run'))).toMatchObject({ matched: 2, webhooks: [ofOne], missing: [] });
    expect(await json(...all('--dry-run', '--reason', 'rejected'))).toMatchObject({
      matched: 0,
      webhooks: [],
    });
    const ofAccount = ['dead-letters', 'replay', '--all', '--account', account, '--dry-run'];
    const { webhooks } = await json<{ webhooks: object[] }>(...ofAccount);
    expect(webhooks).toHaveLength(2);
    expect(webhooks).toEqual(
      expect.arrayContaining([ofOne, { webhook: second, account, matched: 1, has_more: false }]),
    );
    expect(await json(...ofAccount, '--since', '2999-01-01T00:00:00Z')).toMatchObject({ matched: 0 });
    expect(await queued()).toEqual([]);
  });

  test('--rate starts a recovery of the dead letters that match', async () => {
    const { events, letters } = await outage(3, 2);
    await database.query(`update dead_letters set reason = 'rejected' where id = $1`, [letters[0]]);
    const ended = cli(
      ...all('--rate', '50', '--reason', 'attempts_exhausted', '--type', 'email.sent', '--json'),
    );
    expect(await relay()).toEqual([events[2]]);
    expect(JSON.parse((await ended).stdout)).toMatchObject({
      ...{ only: 'dead_letters', reason: 'attempts_exhausted', types: ['email.sent'], rate: 50 },
      ...{ status: 'finished', matched: 1, queued: 1, since: '1970-01-01T00:00:00.000Z' },
    });
    const since = ['--since', new Date(Date.now() - 60_000).toISOString()];
    const none = cli(...all('--rate', '50', ...since, '--json'));
    await relay();
    expect(JSON.parse((await none).stdout)).toMatchObject({ matched: 0, queued: 0, reason: null, types: [] });
  });

  test('--stop stops what runs', async () => {
    await outage(1, 1);
    const { texts, ended } = start(all('--rate', '1'));
    await waitFor(() => texts.stderr.includes('0 of 1 queued'), { what: 'the recovery' });
    const stop = ['dead-letters', 'replay', '--stop', '--webhook', webhook];
    const stranger = await rows.account();
    expect(await cli(...stop, '--account', stranger)).toMatchObject({
      code: 1,
      stderr: `postrider: no webhook ${webhook}\n`,
    });
    expect(await json(...stop, '--account', account)).toMatchObject({
      status: 'stopped',
      queued: 0,
      left: 1,
    });
    expect(await ended).toBe(0);
    expect(await database.query('select from dead_letters')).toHaveLength(1);
  });

  test('the list needs no account when it has a webhook', async () => {
    const { letters } = await outage(1, 1);
    const { data } = await json<{ data: object[] }>('dead-letters', 'list', '--webhook', webhook);
    expect(data).toMatchObject([{ id: letters[0] }]);
    const missing = 'wh_01jd0000000000000000000099';
    expect((await cli('dead-letters', 'list', '--webhook', missing)).stderr).toBe(
      `postrider: no webhook ${missing}\n`,
    );
  });
});
