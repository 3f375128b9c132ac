import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { DIST, runNode, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { Resend } from 'resend';
import { callApi } from './call-api.ts';
import { dataOf } from './resend-setup.ts';
import { signIn } from './sign-in.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* A customer finds an event with Resend's SDK. Support finds a mail and its events by a line of a log. */

const KEY = 'the key of ada';
const CONSOLE_KEYS = `ada:reader:${createHash('sha256').update(KEY).digest('hex')}`;

let system: System;
let all: SystemProcess;
beforeAll(async () => {
  system = await startSystem({ env: { CONSOLE_KEYS } });
  all = await system.start('all');
});
afterAll(() => system.close());
afterEach(() => system.reset());

async function post(path: string, body: object) {
  const answer = await callApi({ api: all, key: system.apiKey }, 'POST', path, body);
  expect(answer).toMatchObject({ status: 200 });
  const { id, data } = answer.body as { id?: string; data?: { id: string }[] };
  const emails = data ?? [{ id: String(id) }];
  return { requestId: answer.headers.get('x-request-id'), emailIds: emails.map((email) => email.id) };
}

/** The request id in the API's log line about the first successful request to this HTTP route. */
async function loggedId(route: string): Promise<string> {
  const line = await waitFor(
    () =>
      all.log.find((each) => each['msg'] === 'request' && each['route'] === route && each['status'] === 200),
    { what: `the line about ${route}` },
  );
  return String(line['request_id']);
}

/** The ids of all events of these messages in Postgres, the newest first. */
async function eventsOf(emailIds: readonly string[]): Promise<string[]> {
  const rows = await system.db.query<{ id: string }>(
    `select id from events where data::json->>'email_id' = any ($1) order by id desc`,
    [emailIds],
  );
  return rows.map(({ id }) => id);
}

async function foundByCli(requestId: string): Promise<{ id: string; email_id: string }[]> {
  const found = await runNode([`${DIST}/cli.js`, 'events', 'find', '--request', requestId, '--json'], {
    env: { DATABASE_URL: system.db.url, POSTRIDER_DATA_DIR: '/nonexistent' },
  });
  expect(found).toMatchObject({ code: 0, stderr: '' });
  return (JSON.parse(found.stdout) as { data: { id: string; email_id: string }[] }).data;
}

/** Signs in and searches. @returns the path of the page that the search leads to, and the page */
async function searchConsole(text: string): Promise<{ path: string; page: string }> {
  const open = await signIn(`http://127.0.0.1:${await all.port('console')}`, KEY);
  const response = await open(`/search?${String(new URLSearchParams({ q: text }))}`);
  expect(response.status).toBe(200);
  return { path: new URL(response.url).pathname, page: await response.text() };
}

test('the request id in the log line of a send finds its mail and its events, in the CLI and in the console', async () => {
  const mail = {
    from: 'shop@example.com',
    to: 'delivered@sandbox.postrider.example',
    subject: 'Hello',
    text: 'Hi',
  };
  const one = await post('/v1/emails', mail);
  const two = await post('/v1/emails/batch', [mail, mail]);
  await waitFor(async () => (await eventsOf([...one.emailIds, ...two.emailIds])).length === 6, {
    what: 'each message to be sent and delivered',
  });

  const [requestOfOne, requestOfTwo] = [await loggedId('/v1/emails'), await loggedId('/v1/emails/batch')];
  expect([requestOfOne, requestOfTwo]).toEqual([one.requestId, two.requestId]);
  const found = await foundByCli(requestOfTwo);
  expect(found.map(({ id }) => id).sort()).toEqual((await eventsOf(two.emailIds)).sort());
  expect(new Set(found.map((each) => each.email_id))).toEqual(new Set(two.emailIds));

  const ofOne = await searchConsole(requestOfOne);
  expect(ofOne.path).toBe(`/emails/${one.emailIds.join()}`);
  for (const id of await eventsOf(one.emailIds)) expect(ofOne.page).toContain(`/events/${id}`);
  const ofTwo = await searchConsole(requestOfTwo);
  for (const id of two.emailIds) expect(ofTwo.page).toContain(`/emails/${id}`);
  expect(ofTwo.page).not.toContain(one.emailIds.join());
});

test('the SDK of Resend lists an event with its status, reads its payload and attempts, and sends it again', async () => {
  const resend = new Resend(system.apiKey, { baseUrl: `http://127.0.0.1:${await all.port('api')}/v1` });
  const { id: webhookId } = await system.webhook('/hook');
  await dataOf(() => resend.suppressions.add({ email: 'ann@example.net' }));
  const { events } = resend.webhooks;
  const [listed] = await waitFor(
    async () => {
      const { data } = await dataOf(() => events.list({ webhookId }));
      return data[0]?.status === 'success' && data;
    },
    { what: 'the event to be delivered' },
  );
  const eventId = listed?.id ?? '';
  const read = await dataOf(() => events.get({ webhookId, eventId }));
  expect(read).toMatchObject({ object: 'webhook_event', status: 'success', next_attempt_at: null });
  const page = await dataOf(() => events.attempts.list({ webhookId, eventId, limit: 1 }));
  expect(page).toMatchObject({ has_more: false, data: [{ http_status_code: 200 }] });
  const replayed = await dataOf(() => events.replay({ webhookId, eventId }));
  expect(replayed).toEqual({ object: 'webhook_event', id: eventId });
  const attempts = () => dataOf(() => events.attempts.list({ webhookId, eventId }));
  await waitFor(async () => (await attempts()).data.length === 2, { what: 'the replay to be delivered' });
  const bodies = system.receiver.requests.map(({ body }) => body.toString());
  expect(bodies).toHaveLength(2);
  expect(new Set(bodies).size).toBe(1);
  expect(JSON.parse(bodies[0] ?? '')).toEqual(read.payload);
});
