import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import { after, answer, fetchMetrics, startTcpListener, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { expectNoneLost } from './arrivals.ts';
import { callApi } from './call-api.ts';
import { sendMail } from './send-mail.ts';
import { signIn } from './sign-in.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Several roles in one process: dist/all.js. */

const INBOX = 'support@inbound.postrider.example';
const CONSOLE_KEYS = `ada:operator:${createHash('sha256').update('key').digest('hex')}`;

let system: System;

const roleOf = (line: Readonly<Record<string, unknown>>) => String(line['service']);

/** Waits for the first event of a type, and verifies its signature. @returns its body */
async function arrived(type: string, secret: string): Promise<Record<string, unknown>> {
  const request = await waitFor(
    () => system.receiver.requests.find(({ headers }) => headers['service-event-type'] === type),
    { what: `${type} to arrive` },
  );
  verifySignature({ header: String(request.headers['service-signature']), body: request.body, secret });
  return JSON.parse(String(request.body)) as Record<string, unknown>;
}

async function expectConsoleSignsIn(all: SystemProcess): Promise<void> {
  const open = await signIn(`http://127.0.0.1:${await all.port('console')}`, 'key');
  const page = await open(`/accounts/${system.accountId}`);
  // Without a session, the console redirects to the sign-in page, which is a 200.
  expect([page.status, page.redirected]).toEqual([200, false]);
}

/** The names of the metrics on a port's page. No sample may have another service than `all`. */
async function metricsOn(port: number): Promise<string[]> {
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(page).not.toMatch(/service="(?!all")/);
  return page.split('\n').flatMap((line) => /^# TYPE (postrider_\S+)/.exec(line)?.[1] ?? []);
}

beforeAll(async () => {
  system = await startSystem({ env: { CONSOLE_KEYS } });
});
afterEach(async () => {
  await system.reset();
  await Promise.all(system.processes.map((started) => started.stop()));
});
afterAll(() => system.close());

test('all roles in one process: mail goes out and comes in, signed events arrive, the console answers, one page has all metrics', async () => {
  const all = await system.start('all');
  const api = { api: all, key: system.apiKey };
  const { signingSecret } = await system.webhook('/hook');
  const mail = { from: 'shop@example.com', to: 'ann@example.net', subject: 'Hello', text: 'Hi' };
  const { body } = await callApi(api, 'POST', '/v1/emails', mail);
  expect(await arrived('email.sent', signingSecret)).toMatchObject({ data: { email_id: body['id'] } });
  expect((await callApi(api, 'POST', '/v1/inboxes', { email_address: INBOX })).status).toBe(201);
  await sendMail(await all.smtpPort(), { from: 'ann@shop.example', to: INBOX, subject: 'Late', text: '?' });
  expect(await arrived('message.received', signingSecret)).toMatchObject({ data: { subject: 'Late' } });
  await expectConsoleSignsIn(all);

  const [own, ofApi] = [await metricsOn(await all.port()), await metricsOn(await all.port('api'))];
  expect(own).toEqual(ofApi);
  for (const name of ['http_requests_total', 'queue_jobs', 'delivery_attempts_total', 'inbound_sessions'])
    expect(own.filter((each) => each === `postrider_${name}`)).toHaveLength(1);
  expect(new Set(all.log.map(roleOf))).toEqual(
    new Set(['all', 'api', 'relay', 'worker', 'inbound', 'console']),
  );
  await system.mailSent();
  await system.drained();
  expect(await all.stop()).toBe(0);
  expect(all.stderr).toEqual([]);
});

test('SIGTERM with attempts in flight and a backlog: the attempts end and are recorded, the exit is 0, and nothing is lost', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const roles = { ROLES: 'api,relay,worker' };
  system.receiver.always('/hook', after(opened, answer(200)));
  await system.webhook('/hook');
  const all = await system.start('all', roles);
  const ids = await system.record(100);
  await system.receiver.waitForRequests(1);
  all.signal('SIGTERM');
  await waitFor(() => all.log.some(({ msg }) => msg === 'stopping'), { what: 'the stop' });
  open();
  expect(await all.exited()).toBe(0);
  const attempted = new Set(system.receiver.requests.map(({ headers }) => headers['service-event-id'])).size;
  const recorded = await system.db.query('select distinct event_id from attempts where status = 200');
  expect(recorded).toHaveLength(attempted);
  expect(await system.outstanding()).toBe(100 - attempted);
  await system.start('all', roles);
  await system.drained();
  expectNoneLost(system, ids);
});

test('ROLES=api,relay runs only these two roles, and a worker process beside it delivers', async () => {
  const both = await system.start('all', { ROLES: 'api,relay' });
  expect((await callApi({ api: both, key: system.apiKey }, 'GET', '/v1/webhooks')).status).toBe(200);
  await system.webhook('/hook');
  const ids = await system.record(3);
  const claimed = async () =>
    (await system.db.query('select from deliveries where leased_until is not null')).length;
  await waitFor(async () => (await claimed()) === 3, { what: 'the relay to claim' });
  expect(system.receiver.requests).toEqual([]);
  const page = await fetchMetrics(await both.port());
  expect(page.find('postrider_queue_workers')).toBe(0);
  for (const name of ['postrider_delivery_attempts_total', 'postrider_inbound_sessions'])
    expect(page.find(name)).toBeNull();
  expect(both.log.filter((line) => ['worker', 'inbound', 'console'].includes(roleOf(line)))).toEqual([]);
  await system.start('worker');
  await system.drained();
  expectNoneLost(system, ids);
  expect(await both.stop()).toBe(0);
});

test('a role that cannot start ends the whole process with one line and exit code 1', async () => {
  const taken = await startTcpListener();
  const all = await system.start('all', { INBOUND_SMTP_PORT: String(taken.port) });
  expect(await all.exited()).toBe(1);
  expect(all.stderr).toEqual([
    expect.stringMatching(/^postrider: cannot start intake of mail: listen EADDRINUSE/),
  ]);
  await taken.close();
});
