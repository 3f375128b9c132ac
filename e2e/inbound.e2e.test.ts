import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import { fetchMetrics, openSmtpClient, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import type { SendMailOptions } from 'nodemailer';
import { callApi } from './call-api.ts';
import { sendMail } from './send-mail.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Mail that comes in over SMTP, through real processes, to a webhook. */

const INBOX = 'support@inbound.postrider.example';
const PATIENCE_MS = 60_000;

let system: System;
let api: SystemProcess;
let inbound: SystemProcess;

beforeAll(async () => {
  system = await startSystem();
  [api, inbound] = await system.startAll(['api', 'inbound', 'relay', 'worker']);
});
afterEach(() => system.reset(), 90_000);
afterAll(() => system.close());

const call = async (method: string, path: string, body?: object) =>
  callApi({ api, key: system.apiKey }, method, path, body);

const send = async (mail: SendMailOptions) => sendMail(await inbound.smtpPort(), mail);

/** @returns the first request that a path of the receiver gets. */
async function arrived(path: string) {
  const [request] = await system.receiver.waitForRequests(1, { path, withinMs: PATIENCE_MS });
  if (request === undefined) throw new Error(`nothing arrived at ${path}`);
  return request;
}

describe('a message to an inbox', () => {
  test('arrives as a signed message.received', async () => {
    const { signingSecret } = await system.webhook('/hook');
    expect(await call('POST', '/v1/inboxes', { email_address: INBOX })).toMatchObject({ status: 201 });
    const answer = await send({
      from: 'Ann <ann@shop.example>',
      to: 'Support <support+42@inbound.postrider.example>',
      subject: 'Where is my order?',
      text: 'It is late.',
      attachments: [
        { filename: 'receipt.pdf', content: Buffer.from('%PDF'), contentType: 'application/pdf' },
      ],
    });
    expect(answer).toMatch(/^250 /);
    const request = await waitFor(() => system.receiver.requests[0], {
      what: 'the event',
      timeoutMs: PATIENCE_MS,
    });
    const signature = request.headers['service-signature'];
    expect(() =>
      verifySignature({ body: request.body, header: String(signature), secret: signingSecret }),
    ).not.toThrow();
    expect(JSON.parse(String(request.body))).toMatchObject({
      type: 'message.received',
      data: {
        object: 'message',
        status: 'received',
        from: 'Ann <ann@shop.example>',
        received_for: ['support+42@inbound.postrider.example'],
        subject: 'Where is my order?',
        text: expect.stringContaining('It is late.') as unknown,
        attachments: [{ filename: 'receipt.pdf', content_type: 'application/pdf', size: 4 }],
        auth: { spf: expect.any(String) as unknown, dkim: 'none', dmarc: expect.any(String) as unknown },
      },
    });
  });

  test('that is unknown is refused at RCPT', async () => {
    await expect(send({ from: 'a@a.example', to: INBOX, text: 'Hi' })).rejects.toThrow('550');
  });
});

test('a message to a rule’s address arrives at the rule’s endpoint, signed with the rule’s own secret', async () => {
  const made = await call('POST', '/v1/inbound/routes', {
    match: INBOX,
    endpoint: system.receiver.url('/rule'),
  });
  expect(made).toMatchObject({ status: 201 });
  const { id, signing_secret: secret } = made.body;
  expect(await send({ from: 'ann@shop.example', to: INBOX, subject: 'By rule', text: 'Hi' })).toMatch(
    /^250 /,
  );
  const { body, headers } = await arrived('/rule');
  const header = String(headers['service-signature']);
  expect(() => verifySignature({ body, header, secret: String(secret) })).not.toThrow();
  const event = JSON.parse(String(body)) as { subject: string; data: object };
  expect(event).toMatchObject({
    type: 'message.received',
    subject: expect.stringMatching(new RegExp(`/inbound/${String(id)}$`)) as unknown,
    data: { rule_id: id, inbox_id: null, thread_id: null, subject: 'By rule' },
  });
});

test('the metrics of the inbound process tell what it received and refused, how long that took, and its sessions', async () => {
  await call('POST', '/v1/inboxes', { email_address: INBOX });
  await call('POST', '/v1/inbound/blocked-senders', { sender: 'spam.example' });
  const before = await fetchMetrics(await inbound.port());
  const idle = await openSmtpClient(await inbound.smtpPort());
  try {
    await idle.answer();
    for (const from of ['ann@shop.example', 'eve@spam.example']) await send({ from, to: INBOX, text: from });
    await expect(send({ from: 'a@a.example', to: `no-${INBOX}`, text: 'Hi' })).rejects.toThrow('550');
    const page = await fetchMetrics(await inbound.port());
    const counted = (sample: string) => page.read(sample) - (before.find(sample) ?? 0);
    const messages = (result: string, reason: string) =>
      counted(`postrider_inbound_messages_total{result="${result}",reason="${reason}"}`);
    expect([messages('received', ''), messages('held', 'blocked_sender')]).toEqual([1, 1]);
    expect(counted('postrider_inbound_refusals_total{code="550",reason="unknown_recipient"}')).toBe(1);
    for (const stage of ['parse', 'authenticate', 'scan', 'blobs', 'store'])
      expect(counted(`postrider_inbound_stage_duration_seconds_count{stage="${stage}"}`)).toBeGreaterThan(1);
    expect(page.read('postrider_inbound_backlog')).toBe(0);
    await waitFor(
      async () => (await fetchMetrics(await inbound.port())).read('postrider_inbound_sessions') === 1,
      { what: 'the idle session alone to be counted' },
    );
  } finally {
    idle.destroy();
  }
});
