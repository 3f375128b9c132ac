import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSnsSigner, expectedSesEvents, sesSampleText, snsSamples } from '@postrider/testing';
import type { SnsSigner, SystemProcess } from '@postrider/testing';
import { fetchCounted } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* The way back: what SES reports through SNS, from the API to the customer's endpoint. */

const { notification } = snsSamples();
const SAMPLE_ID = /em_01JD0000000000000000000001/g;
const MESSAGE = { from: 'Shop <shop@example.com>', to: 'jane@example.net', subject: 'Hi', text: 'Hi' };

let folder: string;
let signer: SnsSigner;
let system: System;
let all: SystemProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sns-'));
  signer = await createSnsSigner();
  const certificate = join(folder, 'sns.pem');
  writeFileSync(certificate, signer.certPem);
  system = await startSystem({
    env: { SNS_TOPIC_ARNS: String(notification['TopicArn']), SNS_SIGNING_CERT_FILE: certificate },
  });
  all = await system.start('all', { ROLES: 'api,relay,worker' });
});
afterAll(async () => {
  await system.close();
  rmSync(folder, { recursive: true });
});

async function url(path: string): Promise<string> {
  return `http://127.0.0.1:${await all.port('api')}${path}`;
}

/** To somebody of its own: what one sample says of its recipients must not stop the next message. */
async function send(sample: string): Promise<string> {
  const headers = { authorization: `Bearer ${system.apiKey}` };
  const body = JSON.stringify({
    ...MESSAGE,
    to: `${sample.replaceAll(/[^a-z0-9]/g, '-')}@recipients.example`,
  });
  const answer = await fetchCounted(await url('/v1/emails'), { method: 'POST', headers, body });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { id: string }).id;
}

async function notify(id: string, text: string): Promise<void> {
  const Timestamp = new Date().toISOString();
  const signed = signer.sign({ ...notification, Timestamp, MessageId: id, Message: text });
  const answer = await fetch(await url('/internal/ses/sns'), {
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=UTF-8' },
    body: JSON.stringify(signed),
  });
  expect([answer.status, await answer.text()]).toEqual([200, '{"received":true}']);
}

interface Received {
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly email_id: string };
}

test('every sample of SES, delivered twice, reaches the endpoint as the one event it should be', async () => {
  const samples = Object.entries(expectedSesEvents());
  const expected = samples.flatMap(([name, event]) => (event === null ? [] : [{ name, event }]));
  await system.webhook(
    '/hook',
    expected.map(({ event }) => event.type as 'email.delivered'),
  );
  const emailOf = new Map<string, string>();
  for (const [name] of samples) {
    const emailId = await send(name);
    emailOf.set(name, emailId);
    const text = sesSampleText(name).replaceAll(SAMPLE_ID, emailId);
    await notify(`sns-${name}`, text);
    await notify(`sns-${name}`, text);
  }
  await system.receiver.waitForRequests(expected.length);
  await system.drained();
  const received = system.receiver.requests.map(({ body }) => JSON.parse(String(body)) as Received);
  expect(received).toHaveLength(expected.length);
  for (const { name, event } of expected) {
    const stored = JSON.stringify(event.data)
      .replaceAll(SAMPLE_ID, emailOf.get(name) ?? '')
      .replace('"from":"<stored>"', `"from":"${MESSAGE.from}"`)
      .replace('"subject":"<stored>"', `"subject":"${MESSAGE.subject}"`);
    const one = received.find(({ data }) => data.email_id === emailOf.get(name));
    expect(one).toMatchObject({ type: event.type, subject: system.accountId });
    expect(one?.data).toEqual(JSON.parse(stored));
  }
});
