import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { EVENT_TYPES } from '@postrider/domain';
import type { EventType } from '@postrider/domain';
import { verifySignature } from '@postrider/receiver';
import { runs, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { callApi } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** How often the API is killed. */
const KILLS = runs({ usual: 2, long: 5 });

let system: System;
let api: SystemProcess;
let sender: SystemProcess;

beforeAll(async () => {
  system = await startSystem({ env: { MAIL_RETRY_DELAYS_SECONDS: '0.05,0.05' } });
  [api, sender] = await Promise.all([system.start('api'), system.start('all', { ROLES: 'relay,worker' })]);
});
afterAll(() => system.close());
afterEach(() => system.reset());

const call = async (method: string, path: string, body?: object) =>
  callApi({ api, key: system.apiKey }, method, path, body);

function mailTo(to: string): object {
  return { from: 'Shop <shop@example.com>', to, subject: 'Hello', text: 'Hi' };
}

/** Waits for the first event of this type. @returns its body */
async function received(type: string): Promise<Record<string, unknown>> {
  return waitFor(
    () => {
      const request = system.receiver.requests.find((one) => one.headers['service-event-type'] === type);
      return request === undefined ? false : (JSON.parse(String(request.body)) as Record<string, unknown>);
    },
    { what: `${type} to arrive` },
  );
}

test('a customer registers a webhook, sends mail, and gets the signed email.sent', async () => {
  const created = await call('POST', '/v1/webhooks', {
    endpoint: system.receiver.url('/hook'),
    events: ['email.sent'],
  });
  expect(created.status).toBe(201);
  const sent = await call('POST', '/v1/emails', mailTo('ann@example.net'));
  expect(sent.status).toBe(200);
  const [request] = await system.receiver.waitForRequests(1);
  verifySignature({
    header: String(request?.headers['service-signature']),
    body: request?.body ?? '',
    secret: String(created.body['signing_secret']),
  });
  expect(JSON.parse(String(request?.body))).toMatchObject({
    type: 'email.sent',
    subject: system.accountId,
    data: { email_id: sent.body['id'], from: 'Shop <shop@example.com>', subject: 'Hello', error: null },
  });
  const read = await call('GET', `/v1/emails/${String(sent.body['id'])}`);
  expect(read.body).toMatchObject({ object: 'email', id: sent.body['id'], last_event: 'sent' });
  // The sandbox needs no links to unsubscribe.
  expect(sender.log.filter(({ msg }) => String(msg).startsWith('PUBLIC_URL'))).toEqual([]);
});

test('mail that the provider refuses or never accepts ends as email.failed', async () => {
  await system.webhook('/hook', ['email.failed']);
  const refused = await call('POST', '/v1/emails', mailTo('refused@sandbox.postrider.example'));
  expect((await received('email.failed'))['data']).toMatchObject({
    email_id: refused.body['id'],
    error: expect.stringMatching(/refused/i),
  });
  const deferred = await call('POST', '/v1/emails', mailTo('deferred@sandbox.postrider.example'));
  const requests = await system.receiver.waitForRequests(2);
  expect(JSON.parse(String(requests[1]?.body))).toMatchObject({
    data: { email_id: deferred.body['id'], error: expect.stringMatching(/gave up after 3 attempts/) },
  });
});

type MailEvent = Extract<EventType, `email.${string}`>;

/** The sandbox's recipient that causes each event. Null: a suppression causes the event, not a message. */
const RECIPIENT_OF: Record<MailEvent, string | null> = {
  'email.sent': 'anyone',
  'email.failed': 'refused',
  'email.delivered': 'delivered',
  'email.delivery_delayed': 'delayed',
  'email.bounced': 'bounced',
  'email.soft_bounced': 'soft-bounced',
  'email.complained': 'complained',
  'email.rejected': 'rejected',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
  'email.unsubscribed': null,
};

test('the sandbox can cause every type of mail event', async () => {
  await system.webhook('/hook');
  const types = EVENT_TYPES.filter((type): type is MailEvent => type.startsWith('email.'));
  for (const type of types) {
    const name = RECIPIENT_OF[type];
    const made =
      name === null
        ? await call('POST', '/v1/suppressions', { email: 'ann@example.net' })
        : await call('POST', '/v1/emails', mailTo(`${name}@sandbox.postrider.example`));
    expect([type, made.status]).toEqual([type, name === null ? 201 : 200]);
  }
  const found: unknown[] = [];
  for (const type of types) found.push((await received(type))['type']);
  expect(found).toEqual(types);
  expect((await received('email.bounced'))['data']).toMatchObject({
    recipients: ['bounced@sandbox.postrider.example'],
    detail: { bounce_type: 'Permanent' },
  });
});

test('when the API is killed again and again, each acknowledged message exists, and each message has exactly one event', async () => {
  await system.webhook('/hook');
  const acknowledged: string[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const doomed = api;
    const sending = Promise.allSettled(
      Array.from({ length: 40 }, async () => {
        const { status, body } = await call('POST', '/v1/emails', mailTo('ann@example.net'));
        // An API that has just started on a busy machine may refuse some. That is no acknowledgement.
        if (status === 200) acknowledged.push(String(body['id']));
      }),
    );
    await untilMore(acknowledged, 10, sending);
    await doomed.kill();
    await sending;
    api = await system.start('api');
  }
  expect(acknowledged.length).toBeGreaterThan(0);
  await system.mailSent();
  await system.drained();
  const emails = (await system.db.query<{ id: string }>('select id from emails')).map((row) => row.id);
  expect(emails).toEqual(expect.arrayContaining(acknowledged));
  const reported = system.receiver.requests.map((request) => {
    const { data } = JSON.parse(String(request.body)) as { data: { email_id: string } };
    return data.email_id;
  });
  expect(reported.sort()).toEqual(emails.sort());
});

/** Resolves when the list has this many more entries, or when `last` settles: then no more will come. */
async function untilMore(list: readonly unknown[], more: number, last: Promise<unknown>): Promise<void> {
  const enough = list.length + more;
  let over = false;
  void last.then(() => (over = true));
  await waitFor(() => over || list.length >= enough, { what: 'some answers', intervalMs: 1 });
}
