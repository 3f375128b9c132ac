import { expect, test } from '@jest/globals';
import { awayFromNewHour, CLOSED_PORT, createTestRoles, setup } from '@postrider/testing';
import { runInProcess, setupCli } from '../test/run-in-process.ts';

const roles = setup(
  async () => createTestRoles(),
  (made) => made.drop(),
);
const { database, cli, json } = setupCli();

test('status exits 1 when today’s attempts are in the default partition and tomorrow has no partition', async () => {
  await awayFromNewHour();
  await database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
     values (now(), 1, 'evt_1', 'wh_1', 1, 5)`,
  );
  expect(await cli('status', '--stopped')).toMatchObject({
    code: 1,
    stderr:
      'postrider: no relay makes the days of the attempt log: its log line `pass failed` with days_made says why\n',
  });
  await database.query(
    `select make_attempts_day((now() at time zone 'utc')::date + n) from generate_series(0, 1) n`,
  );
  expect(await json('status', '--stopped')).toMatchObject({ ok: true });
});

test('status exits 1 and says so while no relay is active, or no worker announces itself', async () => {
  const noWorker = 'no worker announces itself: nothing is delivered';
  const faults = [`no relay is active: nothing is claimed`, noWorker];
  expect(await cli('status')).toMatchObject({ code: 1, stderr: `postrider: ${faults.join('; ')}\n` });
  await database.query('select pg_advisory_lock(72707373, 0)');
  expect(await cli('status')).toMatchObject({ code: 1, stderr: `postrider: ${noWorker}\n` });
  await database.query(
    `insert into workers (id, number, slots, queue_kind, queue_prefix, queue_id, heard_at)
     values ('1', 1, 1, 'postgres', '', 'postgres', now() + interval '1 hour')`,
  );
  expect(await json('status')).toMatchObject({ ok: true, faults: [] });
  await database.query('select pg_advisory_unlock(72707373, 0)');
});

test('a count that fails is a fault of its own: Postgres is reachable, and the rest is shown', async () => {
  const login = await roles.login();
  await database.query(`grant usage on schema bullmq to ${login}`);
  await database.query(`grant select on all tables in schema public, bullmq to ${login}`);
  const status = async (...options: string[]) =>
    runInProcess(['status', ...options], { DATABASE_URL: roles.url(database.url, login) });
  await database.query(`revoke select on dead_letters from ${login}`);
  const { code, stdout, stderr } = await status('--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    postgres: { reachable: true },
    migrations: { pending: [] },
    backlog: { outstanding: 0, unsent_emails: 0, dead_letters: null },
    failing: [],
    database_role: { name: login, access: 'some' },
  });
  expect(stderr).toContain('the dead letters cannot be counted: permission denied for table dead_letters');
  expect(stderr).toContain('no relay is active: nothing is claimed');
  expect((await status()).stdout).toMatch(/outstanding +0, due now 0\n[^]*dead letters +unknown\n/);
  await database.query(`revoke select on email_sends from ${login}`);
  const { stdout: without, stderr: faults } = await status('--json');
  expect(JSON.parse(without)).toMatchObject({ backlog: null });
  expect(faults).toContain('the backlog cannot be counted: permission denied for table email_sends');
});

test('status with an unreachable Redis prints its document and exits 1', async () => {
  const { code, stdout, stderr } = await runInProcess(['status', '--stopped', '--json'], {
    DATABASE_URL: database.url,
    REDIS_URL: `redis://127.0.0.1:${CLOSED_PORT}`,
  });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    postgres: { reachable: true },
    redis: { reachable: false },
    queue: { backend: 'redis', depth: null },
  });
  expect(stderr).toBe(
    `postrider: the queue is not available: connect ECONNREFUSED 127.0.0.1:${CLOSED_PORT}\n`,
  );
});

test('status with an unreachable Postgres prints its document, with null for each value that it cannot read', async () => {
  const { code, stdout } = await runInProcess(['status', '--stopped', '--json'], {
    DATABASE_URL: `postgres://nobody@127.0.0.1:${CLOSED_PORT}/none`,
  });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    postgres: { reachable: false },
    migrations: null,
    queue: { depth: null },
    backlog: null,
    failing: null,
    mail_provider: null,
    database_role: null,
  });
});
