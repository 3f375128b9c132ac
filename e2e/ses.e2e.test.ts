import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  createSnsSigner,
  publishKeys,
  sesDrop,
  sesError,
  sesHang,
  sesSampleText,
  sesThrottle,
  snsSamples,
  startFakeSes,
  waitFor,
} from '@postrider/testing';
import type { FakeSes, SesReaction, SnsSigner, SystemProcess } from '@postrider/testing';
import { fetchCounted } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* The whole way of a message through Amazon SES, of which only the far end is not real. */

const { notification } = snsSamples();

let folder: string;
let signer: SnsSigner;
let ses: FakeSes;
let system: System;
let api: SystemProcess;

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
    },
  });
  [api] = await system.startAll(['api', 'relay', 'worker']);
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

/**
 * @returns the id in the answer.
 */
async function post(path: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${system.apiKey}` };
  const url = `http://127.0.0.1:${await api.port()}/v1/${path}`;
  const answer = await fetchCounted(url, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { id: string }).id;
}

async function eventOf(emailId: string, type?: string): Promise<unknown> {
  return waitFor(
    () =>
      system.receiver.requests
        .map(({ body }) => JSON.parse(String(body)) as { type: string; data: { email_id: string } })
        .find((event) => event.data.email_id === emailId && event.type === (type ?? event.type)),
    { what: `the event of ${emailId}`, timeoutMs: 60_000 },
  );
}

/** What SES reports of a message of this id, as an identity has it: without tags. */
async function reportBounceOf(messageId: string): Promise<void> {
  const { eventType, mail, ...rest } = JSON.parse(sesSampleText('05-bounce-permanent-general')) as {
    eventType: string;
    mail: { tags?: object };
  };
  delete mail.tags;
  const Message = JSON.stringify({ ...rest, notificationType: eventType, mail: { ...mail, messageId } });
  const Timestamp = new Date().toISOString();
  const signed = signer.sign({ ...notification, Timestamp, MessageId: `of-${messageId}`, Message });
  const answer = await fetch(`http://127.0.0.1:${await api.port()}/internal/ses/sns`, {
    method: 'POST',
    body: JSON.stringify(signed),
  });
  expect(answer.status).toBe(200);
}

test('mail is handed to SES as asked for, after a throttle, a silence and a lost connection, and its event arrives', async () => {
  ses.script('SendEmail', [sesThrottle, sesHang, sesDrop]);
  const id = await send('Grüße');
  expect(await eventOf(id)).toMatchObject({ type: 'email.sent', data: { error: null } });
  expect(ses.messages).toHaveLength(4);
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

test('a report that is faster than the answer of SES makes its event once the answer is there', async () => {
  let answered = (): void => undefined;
  const late: SesReaction = (response) => {
    answered = () => response.end(JSON.stringify({ MessageId: 'early-1' }));
    response.writeHead(200, { 'content-type': 'application/json' });
  };
  // Where the answer is later than the limit, the next claim has it at once.
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
