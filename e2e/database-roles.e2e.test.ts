import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { makeRoles } from '@postrider/store';
import { createTestDatabase, createTestRoles, waitFor } from '@postrider/testing';
import type { TestRoles } from '@postrider/testing';
import { callApi } from './call-api.ts';
import { sendMail } from './send-mail.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Processes with the database role for processes, in a database that grants nothing to PUBLIC. */

const INBOX = 'support@inbound.postrider.example';
const PATIENCE_MS = 60_000;
/** Days of the attempt log that retention drops, counted from today. */
const OLD_DAYS = [-32, -31];

let roles: TestRoles;
let system: System;

beforeAll(async () => {
  roles = createTestRoles();
  const database = await createTestDatabase();
  await database.query(
    `do $$ begin execute format('revoke all on database %I from public', current_database()); end $$`,
  );
  await database.query('revoke all on schema public from public');
  const { readWrite } = await makeRoles(database.url, {
    prefix: roles.prefix,
    schemas: ['public', 'bullmq'],
  });
  for (const days of OLD_DAYS) {
    await database.query(
      `do $$ declare day date := (now() at time zone 'utc')::date ${days}; begin
         execute format('create table attempts_%s partition of attempts for values from (%L) to (%L)',
                        to_char(day, 'YYYYMMDD'), day || ' 00:00:00+00', day + 1 || ' 00:00:00+00'); end $$`,
    );
  }
  // The second run gives the new tables to the owner role.
  await makeRoles(database.url, { prefix: roles.prefix, schemas: ['public', 'bullmq'] });
  const login = await roles.login(`in role ${readWrite}`);
  system = await startSystem({ database, env: { DATABASE_URL: roles.url(database.url, login) } });
});
afterEach(() => Promise.all(system.processes.map((started) => started.kill())));
afterAll(async () => {
  await system.close();
  await roles.drop();
});

test('processes that may only read and write rows send, deliver, receive, and keep the attempt log', async () => {
  const all = await system.start('all', { ROLES: 'api,inbound,worker' });
  const call = (method: string, path: string, body?: object) =>
    callApi({ api: all, key: system.apiKey }, method, path, body);

  const made = await call('POST', '/v1/webhooks', { endpoint: system.receiver.url('/hook') });
  expect(made).toMatchObject({ status: 201 });
  expect(await call('POST', '/v1/inboxes', { email_address: INBOX })).toMatchObject({ status: 201 });
  await system.record(40); // the relay adds several jobs in another way than one
  const relay = await system.start('relay');
  const mail = { from: 'a@shop.example', to: ['b@example.com'], subject: 's', text: 't' };
  expect(await call('POST', '/v1/emails', mail)).toMatchObject({ status: 200 });
  await sendMail(await all.smtpPort(), { from: 'ann@shop.example', to: INBOX, subject: 's', text: 't' });
  // 40 recorded events, one email.sent and one message.received.
  const requests = await system.receiver.waitForRequests(42, { path: '/hook', withinMs: PATIENCE_MS });
  expect(requests).toHaveLength(42);
  await system.drained();

  const housekeeping = (field: string) =>
    relay.log.flatMap((line) =>
      line['msg'] === 'housekeeping done' ? ((line[field] as string[] | undefined) ?? []) : [],
    );
  await waitFor(() => housekeeping('days_dropped').length === OLD_DAYS.length, {
    what: 'the old days to be dropped',
  });
  expect(housekeeping('days_made')).toHaveLength(8);
  const places = await system.db.query<{ place: string }>(
    'select distinct tableoid::regclass::text as place from attempts',
  );
  expect(places).toEqual([{ place: expect.stringMatching(/^attempts_[0-9]{8}$/) }]);
  for (const { log } of [all, relay]) {
    const faults = log.filter((line) =>
      /permission denied|must be owner|lacks|pass failed/.test(JSON.stringify(line)),
    );
    expect(faults).toEqual([]);
  }
});

// The last test: it takes rights away.
test('every process with fewer rights says at its start what its role lacks', async () => {
  await system.db.query(
    `revoke execute on function make_attempts_day, drop_attempts_day from ${roles.prefix}_readwrite`,
  );
  const processes = await system.startAll(['api', 'inbound', 'relay', 'worker']);
  for (const { log } of processes) {
    const warnings = () => log.filter(({ msg }) => String(msg).includes('lacks'));
    await waitFor(() => warnings().length === 1, { what: 'a line about the role' });
    expect(warnings()).toMatchObject([
      {
        level: 'warn',
        msg: expect.stringMatching(
          /^the database role \w+ lacks execute on drop_attempts_day, execute on make_attempts_day; /,
        ),
      },
    ]);
  }
});
