import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { publishKeys, startFakeSes, waitFor } from '@postrider/testing';
import type { FakeSes, SesMessage, SystemProcess } from '@postrider/testing';
import { fetchCounted } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* From a domain that is proved to be one's own to somebody who wants no more of a topic, by real processes. */

const PUBLIC_URL = 'https://mail.example.com/base';
const PATIENCE_MS = 60_000;

let ses: FakeSes;
let system: System;
let api: SystemProcess;

beforeEach(async () => {
  ses = await startFakeSes();
  system = await startSystem({ env: { ...ses.environment, MAIL_PROVIDER: 'ses', PUBLIC_URL } });
  [api] = await system.startAll(['api', 'relay', 'worker']);
  await system.webhook('/hook');
});
afterEach(async () => {
  await system.close();
  await ses.close();
});

/** @returns the id in the answer. */
async function post(path: string, body: object): Promise<string> {
  const url = `http://127.0.0.1:${await api.port()}/v1/${path}`;
  const headers = { authorization: `Bearer ${system.apiKey}` };
  const response = await fetchCounted(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return (JSON.parse(text) as { id: string }).id;
}

async function verifiedDomain(name: string): Promise<void> {
  const id = await post('domains', { name });
  const identity = ses.identities.get(name);
  if (identity === undefined) throw new Error('SES has no such identity');
  publishKeys(identity);
  await post(`domains/${id}/verify`, {});
}

function eventOf(type: string): Promise<{ data: Record<string, unknown> }> {
  return waitFor(
    () =>
      system.receiver.requests
        .map(({ body }) => JSON.parse(String(body)) as { type: string; data: Record<string, unknown> })
        .find((event) => event.type === type),
    { what: `an event ${type}`, timeoutMs: PATIENCE_MS },
  );
}

function headerOf({ mail }: SesMessage, name: string): string | undefined {
  return mail.headers.find(({ key }) => key === name)?.value;
}

test('who unsubscribes with the one click of a message gets no more about its topic', async () => {
  await verifiedDomain('example.com');
  const topicId = await post('topics', { name: 'News', default_subscription: 'opt_in' });
  const mail = { from: 'shop@example.com', to: 'Ann <Ann@Example.net>', subject: 'Hi', text: 'Hi' };
  await post('emails', { ...mail, topic_id: topicId });
  await ses.waitForRequests('SendEmail', 1, PATIENCE_MS);
  const [message] = ses.messages;
  if (message === undefined) throw new Error('SES got no message');
  expect(headerOf(message, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  const url = /^<(https:.*)>$/.exec(headerOf(message, 'list-unsubscribe') ?? '')?.[1] ?? '';
  expect(url.slice(0, PUBLIC_URL.length)).toBe(PUBLIC_URL);

  const here = `http://127.0.0.1:${await api.port()}${url.slice(PUBLIC_URL.length)}`;
  const page = await fetch(here);
  expect(await page.text()).toContain('ann@example.net');
  const clicked = await fetch(here, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  });
  expect(clicked.status).toBe(200);
  expect(await eventOf('email.unsubscribed')).toMatchObject({
    data: { to: 'ann@example.net', topic: topicId, scope: 'topic', source: 'one_click' },
  });

  const left = await post('emails', { ...mail, topic_id: topicId });
  expect(await eventOf('email.failed')).toMatchObject({ data: { email_id: left } });
  await post('emails', mail);
  await ses.waitForRequests('SendEmail', 2, PATIENCE_MS);
  expect(ses.messages[1] && headerOf(ses.messages[1], 'list-unsubscribe')).toBeUndefined();
}, 180_000);
