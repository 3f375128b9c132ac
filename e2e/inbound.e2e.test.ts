import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import { startSystem, waitFor } from '@postrider/testing';
import type { System, SystemProcess } from '@postrider/testing';
import type { SendMailOptions } from 'nodemailer';
import { callApi } from './call-api.ts';
import { sendMail } from './send-mail.ts';

/* Mail that comes in over SMTP, through real processes, to a webhook. */

const INBOX = 'support@inbound.postrider.example';
const PATIENCE_MS = 60_000;

let system: System;
let api: SystemProcess;
let inbound: SystemProcess;

beforeEach(async () => {
  system = await startSystem();
  api = await system.start('api');
  inbound = await system.start('inbound');
  await system.start('relay');
  await system.start('worker');
}, 90_000);
afterEach(() => system.close());

const call = async (method: string, path: string, body?: object) =>
  callApi({ api, key: system.apiKey }, method, path, body);

const send = async (mail: SendMailOptions) => sendMail(await inbound.smtpPort(), mail);

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
