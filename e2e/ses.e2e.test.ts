import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  createSnsSigner,
  publishKeys,
  serviceDrop,
  serviceHang,
  sesError,
  sesSampleText,
  sesThrottle,
  snsSamples,
  startFakeSes,
  waitFor,
} from '@postrider/testing';
import type { FakeSes, ServiceReaction, SesMessage, SnsSigner, SystemProcess } from '@postrider/testing';
import { callApi } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* The whole way of a message through Amazon SES. Only SES itself is a fake. */

const { notification } = snsSamples();
const PUBLIC_URL = 'https://mail.example.com/base';

let folder: string;
let signer: SnsSigner;
let ses: FakeSes;
let system: System;
let all: SystemProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sns-'));
  signer = await createSnsSigner();
  const certificate = join(folder, 'sns.pem');
  writeFileSync(certificate, signer.certPem);
  ses = await startFakeSes();
  system = await startSystem({
    env: {
      ...ses.environment,
      MAIL_PROVIDER: 'ses',
      SES_CONFIGURATION_SET: 'events',
      MAIL_RETRY_DELAYS_SECONDS: '0.05,0.05,0.05',
      MAIL_TIMEOUT_MS: '10000',
      SNS_TOPIC_ARNS: String(notification['TopicArn']),
      SNS_SIGNING_CERT_FILE: certificate,
      PUBLIC_URL,
    },
  });
  all = await system.start('all', { ROLES: 'api,relay,worker' });
});
beforeEach(async () => {
  await system.webhook('/hook');
  await verifyDomain('example.com');
});
afterEach(async () => {
  await system.reset();
  ses.reset();
});
afterAll(async () => {
  await system.close();
  await ses.close();
  rmSync(folder, { recursive: true });
});

/** Live mail leaves only from a domain that the account has verified. */
async function verifyDomain(name: string): Promise<void> {
  const id = await post('domains', { name });
  const identity = ses.identities.get(name);
  if (identity === undefined) throw new Error('SES has no such identity');
  publishKeys(identity);
  await post(`domains/${id}/verify`, {});
}

function send(subject: string): Promise<string> {
  return post('emails', { from: 'Shop <shop@example.com>', to: 'ann@example.net', subject, text: 'Hi' });
}

/** Posts to the API. @returns the id in the answer */
async function post(path: string, body: object): Promise<string> {
  const answer = await callApi({ api: all, key: system.apiKey }, 'POST', `/v1/${path}`, body);
  expect(answer).toMatchObject({ status: 200 });
  return String(answer.body['id']);
}

/** An event that the webhook got. */
interface MailEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Waits for the first event that fits. */
async function eventWhere(fits: (event: MailEvent) => boolean, what: string): Promise<MailEvent> {
  return waitFor(
    () => system.receiver.requests.map(({ body }) => JSON.parse(String(body)) as MailEvent).find(fits),
    { what, timeoutMs: 60_000 },
  );
}

async function eventOf(emailId: string, ofType?: string): Promise<MailEvent> {
  return eventWhere(
    ({ type, data }) => data['email_id'] === emailId && type === (ofType ?? type),
    `the event of ${emailId}`,
  );
}

/** Reports a bounce as SES does for an identity: with the message's id at SES, and without tags. */
async function reportBounceOf(messageId: string): Promise<void> {
  const { eventType, mail, ...rest } = JSON.parse(sesSampleText('05-bounce-permanent-general')) as {
    eventType: string;
    mail: { tags?: object };
  };
  delete mail.tags;
  const Message = JSON.stringify({ ...rest, notificationType: eventType, mail: { ...mail, messageId } });
  const Timestamp = new Date().toISOString();
  const signed = signer.sign({ ...notification, Timestamp, MessageId: `of-${messageId}`, Message });
  const answer = await fetch(`http://127.0.0.1:${await all.port('api')}/internal/ses/sns`, {
    method: 'POST',
    body: JSON.stringify(signed),
  });
  expect(answer.status).toBe(200);
}

test('mail reaches SES as the customer wrote it, after throttles, a hang and a lost connection, and its event arrives', async () => {
  // The schedule has four attempts. Throttled ones do not count.
  ses.script('SendEmail', [sesThrottle, sesThrottle, serviceHang, serviceDrop]);
  const id = await send('Grüße');
  expect(await eventOf(id)).toMatchObject({ type: 'email.sent', data: { error: null } });
  expect(ses.messages).toHaveLength(5);
  for (const message of ses.messages) {
    expect(message).toMatchObject({
      destination: { ToAddresses: ['ann@example.net'] },
      tags: { email_id: id },
      configurationSet: 'events',
      mail: { from: { name: 'Shop', address: 'shop@example.com' }, subject: 'Grüße' },
    });
  }
});

test("a refusal ends at once as email.failed, in SES's words", async () => {
  ses.script('SendEmail', [sesError(400, 'MessageRejected', 'Email address is not verified.')]);
  expect(await eventOf(await send('No'))).toMatchObject({
    type: 'email.failed',
    data: { error: 'MessageRejected: Email address is not verified.' },
  });
  expect(ses.messages).toHaveLength(1);
});

test('a report that comes before the answer of SES makes its event after the answer', async () => {
  let answered = (): void => undefined;
  const late: ServiceReaction = (response) => {
    answered = () => response.end(JSON.stringify({ MessageId: 'early-1' }));
    response.writeHead(200, { 'content-type': 'application/json' });
  };
  // If the answer comes after the time limit, the next attempt gets the same answer at once.
  ses.script('SendEmail', [late]);
  ses.always('SendEmail', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ MessageId: 'early-1' }));
  });
  const id = await send('Early');
  await ses.waitForRequests('SendEmail', 1, 60_000);
  await reportBounceOf('early-1');
  answered();
  expect(await eventOf(id, 'email.sent')).toMatchObject({ data: { error: null } });
  expect(await eventOf(id, 'email.bounced')).toMatchObject({ data: { recipients: ['jane@example.net'] } });
});

function headerOf({ mail }: SesMessage, name: string): string | undefined {
  return mail.headers.find(({ key }) => key === name)?.value;
}

test('a recipient who unsubscribes with one click gets no more mail of that topic', async () => {
  const topicId = await post('topics', { name: 'News', default_subscription: 'opt_in' });
  const mail = { from: 'shop@example.com', to: 'Ann <Ann@Example.net>', subject: 'Hi', text: 'Hi' };
  await post('emails', { ...mail, topic_id: topicId });
  await ses.waitForRequests('SendEmail', 1, 60_000);
  const [message] = ses.messages;
  if (message === undefined) throw new Error('SES got no message');
  expect(headerOf(message, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  const url = /^<(https:.*)>$/.exec(headerOf(message, 'list-unsubscribe') ?? '')?.[1] ?? '';
  expect(url.slice(0, PUBLIC_URL.length)).toBe(PUBLIC_URL);
  expect(all.log.filter(({ msg }) => String(msg).startsWith('PUBLIC_URL'))).toEqual([]);

  const here = `http://127.0.0.1:${await all.port('api')}${url.slice(PUBLIC_URL.length)}`;
  const page = await fetch(here);
  expect(await page.text()).toContain('ann@example.net');
  const clicked = await fetch(here, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  });
  expect(clicked.status).toBe(200);
  expect(await eventWhere(({ type }) => type === 'email.unsubscribed', 'the unsubscription')).toMatchObject({
    data: { to: 'ann@example.net', topic: topicId, scope: 'topic', source: 'one_click' },
  });

  const left = await post('emails', { ...mail, topic_id: topicId });
  expect(await eventOf(left)).toMatchObject({ type: 'email.failed' });
  await post('emails', mail);
  await ses.waitForRequests('SendEmail', 2, 60_000);
  expect(ses.messages[1] && headerOf(ses.messages[1], 'list-unsubscribe')).toBeUndefined();
});
