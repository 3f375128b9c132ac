import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import {
  EICAR,
  fetchMetrics,
  openSmtpClient,
  startFakeClamd,
  startFakeRspamd,
  startZoneServer,
  waitFor,
} from '@postrider/testing';
import type { FakeClamd, FakeRspamd, SystemProcess, ZoneServer } from '@postrider/testing';
import type { SendMailOptions } from 'nodemailer';
import { callApi } from './call-api.ts';
import { sendMail } from './send-mail.ts';
import { startSystem, untilStarted } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * Mail comes in over SMTP or LMTP and reaches a webhook, through real processes. clamd, rspamd and the
 * sender's DNS judge it, as the settings say.
 */

const INBOX = 'support@inbound.postrider.example';
const FROM = 'ann@shop.example';
const PATIENCE_MS = 60_000;
const SPAM_THRESHOLD = 8;

let clamd: FakeClamd;
let rspamd: FakeRspamd;
let names: ZoneServer;
let system: System;
let all: SystemProcess;

beforeAll(async () => {
  [clamd, rspamd, names] = await Promise.all([startFakeClamd(), startFakeRspamd(), startZoneServer()]);
  system = await startSystem({
    env: {
      INBOUND_CLAMD: clamd.address,
      INBOUND_RSPAMD: rspamd.address,
      INBOUND_SPAM_THRESHOLD: String(SPAM_THRESHOLD),
      DNS_SERVERS: names.address,
    },
  });
  all = await system.start('all');
});
afterEach(async () => {
  await system.reset();
  clamd.reset();
  rspamd.reset();
  names.zone.clear();
});
afterAll(async () => {
  await system.close();
  await Promise.all([clamd.close(), rspamd.close(), names.close()]);
});

const call = async (method: string, path: string, body?: object) =>
  callApi({ api: all, key: system.apiKey }, method, path, body);

async function makeInbox(): Promise<void> {
  expect(await call('POST', '/v1/inboxes', { email_address: INBOX })).toMatchObject({ status: 201 });
}

async function send(mail: SendMailOptions = {}, { to = all, lmtp = false } = {}): Promise<string> {
  const whole = { from: FROM, to: INBOX, subject: 'Judged', text: 'Hi', ...mail };
  return sendMail(await to.smtpPort(), whole, { lmtp });
}

/** @returns the first request that a path of the receiver gets. */
async function arrived(path: string) {
  const [request] = await system.receiver.waitForRequests(1, { path, withinMs: PATIENCE_MS });
  if (request === undefined) throw new Error(`nothing arrived at ${path}`);
  return request;
}

describe('a message to an inbox', () => {
  test('arrives as a signed message.received', async () => {
    const { signingSecret } = await system.webhook('/hook');
    await makeInbox();
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

  test('is refused at RCPT with 550 when the inbox does not exist', async () => {
    await expect(send({ from: 'a@a.example' })).rejects.toThrow('550');
  });
});

test('a message to a rule’s address arrives at the rule’s endpoint, signed with the rule’s own secret', async () => {
  const made = await call('POST', '/v1/inbound/routes', {
    match: INBOX,
    endpoint: system.receiver.url('/rule'),
  });
  expect(made).toMatchObject({ status: 201 });
  const { id, signing_secret: secret } = made.body;
  expect(await send({ subject: 'By rule' })).toMatch(/^250 /);
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

test('the metrics show what was received and refused, how long that took, and the open sessions', async () => {
  await makeInbox();
  await call('POST', '/v1/inbound/blocked-senders', { sender: 'spam.example' });
  const before = await fetchMetrics(await all.port());
  const idle = await openSmtpClient(await all.smtpPort());
  try {
    await idle.answer();
    for (const from of [FROM, 'eve@spam.example']) await send({ from, text: from });
    await expect(send({ from: 'a@a.example', to: `no-${INBOX}` })).rejects.toThrow('550');
    const page = await fetchMetrics(await all.port());
    const increase = (sample: string) => page.read(sample) - (before.find(sample) ?? 0);
    const messages = (result: string, reason: string) =>
      increase(`postrider_inbound_messages_total{result="${result}",reason="${reason}"}`);
    expect([messages('received', ''), messages('held', 'blocked_sender')]).toEqual([1, 1]);
    expect(increase('postrider_inbound_refusals_total{code="550",reason="unknown_recipient"}')).toBe(1);
    for (const stage of ['parse', 'authenticate', 'scan', 'blobs', 'store'])
      expect(increase(`postrider_inbound_stage_duration_seconds_count{stage="${stage}"}`)).toBeGreaterThan(1);
    expect(page.read('postrider_inbound_backlog')).toBe(0);
    await waitFor(
      async () => (await fetchMetrics(await all.port())).read('postrider_inbound_sessions') === 1,
      { what: 'only the idle session to be counted' },
    );
  } finally {
    idle.destroy();
  }
});

test('mail to postmaster is refused, and the start warns, until the operator names an inbox', async () => {
  await makeInbox();
  const port = await all.smtpPort();
  const warnings = ({ log }: SystemProcess) =>
    log.filter(({ msg }) => String(msg).startsWith('mail to postmaster is refused'));
  // The process warns after its SMTP server listens.
  await untilStarted(all);
  expect(warnings(all)).toMatchObject([
    {
      msg: 'mail to postmaster is refused: `postrider installation set postmaster ibx_…` names the inbox that gets it',
    },
  ]);
  const client = await openSmtpClient(port);
  try {
    expect(await client.answer()).toMatch(/^220 /);
    expect(await client.say('EHLO client.example')).toMatch(/^250/);
    await client.say(`MAIL FROM:<${FROM}>`);
    expect(await client.say('RCPT TO:<postmaster>')).toMatch(/^550 /);
    await system.db.query('update inboxes set postmaster = true');
    expect(await client.say('RCPT TO:<postmaster>')).toMatch(/^250 /);
  } finally {
    client.destroy();
  }
  const second = await system.start('inbound');
  await untilStarted(second);
  expect(warnings(second)).toEqual([]);
  await second.kill();
});

/** The stored messages, each with the type of its event. */
const stored = async () =>
  system.db.query(
    `select m.status::text, m.held_reason::text as reason, e.type
     from messages m left join events e on e.data::json ->> 'id' = m.id`,
  );
const RECEIVED = { status: 'received', reason: null, type: 'message.received' };
const heldFor = (reason: string) => ({ status: 'held', reason, type: 'message.held' });

describe('a message that is screened', () => {
  beforeEach(makeInbox);

  describe('with all scanners configured', () => {
    test('one that no scanner objects to is received', async () => {
      rspamd.behaviour = { score: SPAM_THRESHOLD, action: 'no action' };
      expect(await send()).toMatch(/^250 /);
      expect(await stored()).toEqual([RECEIVED]);
      expect(clamd.streams).toHaveLength(1);
      const client = { ip: ['127.0.0.1'], helo: [expect.any(String)] };
      expect(rspamd.scans).toMatchObject([{ headers: { ...client, from: [FROM] } }]);
    });

    test('one in which clamd finds something is held as virus, and a signed message.held reports it', async () => {
      const { signingSecret } = await system.webhook('/hook');
      expect(await send({ text: EICAR })).toMatch(/^250 /);
      expect(await stored()).toEqual([heldFor('virus')]);
      const { body, headers } = await arrived('/hook');
      const header = String(headers['service-signature']);
      expect(() => verifySignature({ body, header, secret: signingSecret })).not.toThrow();
      expect(JSON.parse(String(body))).toMatchObject({
        type: 'message.held',
        data: { status: 'held', held_reason: 'virus' },
      });
    });

    test('one over INBOUND_SPAM_THRESHOLD is held as spam', async () => {
      rspamd.behaviour = { score: SPAM_THRESHOLD + 0.1, action: 'no action' };
      expect(await send()).toMatch(/^250 /);
      expect(await stored()).toEqual([heldFor('spam')]);
    });

    test('one that fails DMARC under p=reject is held as auth_failed', async () => {
      names.zone.set('shop.example', { TXT: ['v=spf1 -all'] });
      names.zone.set('_dmarc.shop.example', { TXT: ['v=DMARC1; p=reject'] });
      expect(await send()).toMatch(/^250 /);
      expect(await stored()).toEqual([heldFor('auth_failed')]);
    });

    test('one that fails DMARC under p=none is received', async () => {
      names.zone.set('shop.example', { TXT: ['v=spf1 -all'] });
      names.zone.set('_dmarc.shop.example', { TXT: ['v=DMARC1; p=none'] });
      expect(await send()).toMatch(/^250 /);
      expect(await stored()).toEqual([RECEIVED]);
    });

    test('one with an unavailable DMARC policy is received at once: the sandbox does not wait', async () => {
      names.zone.set('_dmarc.shop.example', 'servfail');
      expect(await send()).toMatch(/^250 /);
      expect(await stored()).toEqual([RECEIVED]);
    });

    test.each(['clamd', 'rspamd'])(
      'one without an answer of %s gets 451 and is not stored; its retry is received',
      async (name) => {
        const scanner = name === 'clamd' ? clamd : rspamd;
        scanner.behaviour = 'close';
        await expect(send()).rejects.toMatchObject({ responseCode: 451 });
        expect(await stored()).toEqual([]);

        if (name === 'clamd') clamd.behaviour = 'scan';
        else rspamd.behaviour = { score: 0, action: 'no action' };
        expect(await send()).toMatch(/^250 /);
        expect(await stored()).toEqual([RECEIVED]);
      },
    );
  });

  /** Starts another inbound process with these settings, for the tests of a `describe`. */
  function startBeside(env: Readonly<Record<string, string>>): () => SystemProcess {
    let other: SystemProcess;
    beforeAll(async () => {
      other = await system.start('inbound', env);
    });
    afterAll(() => other.kill());
    return () => other;
  }

  describe('where mail is really sent, with INBOUND_SCREENING_REQUIRED=false', () => {
    const other = startBeside({
      MAIL_PROVIDER: 'smtp',
      INBOUND_DOMAINS: 'inbound.postrider.example',
      INBOUND_SCREENING_REQUIRED: 'false',
    });

    test('while the DMARC policy is unavailable: 451 twice, and the third try is judged without it', async () => {
      names.zone.set('_dmarc.shop.example', 'servfail');
      const same = { messageId: '<a@shop.example>', date: new Date(0) }; // a repetition has the same bytes
      for (let tries = 1; tries <= 2; tries += 1) {
        await expect(send(same, { to: other() })).rejects.toMatchObject({ responseCode: 451 });
        expect(await stored()).toEqual([]);
      }
      expect(await send(same, { to: other() })).toMatch(/^250 /);
      expect(await stored()).toEqual([RECEIVED]);
    });

    test('mail comes through while the scanners are away', async () => {
      clamd.behaviour = 'close';
      rspamd.behaviour = 'close';
      expect(await send({}, { to: other() })).toMatch(/^250 /);
      expect(await stored()).toEqual([RECEIVED]);
      const unjudged = other().log.filter(({ msg }) => String(msg).startsWith('a scanner is away'));
      const ofSession = { session_id: expect.any(String), client_address: '127.0.0.1' };
      expect(unjudged).toMatchObject([ofSession, ofSession]);
    });
  });

  describe('over LMTP, where the client is the mail server in front', () => {
    const server = startBeside({ INBOUND_PROTOCOL: 'lmtp' });

    test('the server speaks only LMTP, judges no SPF, and lets no message fail DMARC', async () => {
      names.zone.set('shop.example', { TXT: ['v=spf1 -all'] });
      names.zone.set('_dmarc.shop.example', { TXT: ['v=DMARC1; p=reject'] });
      const client = await openSmtpClient(await server().smtpPort());
      try {
        expect(await client.answer()).toMatch(/^220 .*LMTP/);
        expect(await client.say('EHLO client.example')).toMatch(/^500 /);
      } finally {
        client.destroy();
      }
      await send({ subject: 'By LMTP' }, { to: server(), lmtp: true });
      expect(
        await system.db.query('select subject, status::text, spf::text, dmarc::text from messages'),
      ).toEqual([{ subject: 'By LMTP', status: 'received', spf: 'none', dmarc: 'none' }]);
    });

    test('rspamd gets neither the address nor the name of the client', async () => {
      await send({}, { to: server(), lmtp: true });
      expect(await stored()).toEqual([RECEIVED]);
      expect(rspamd.scans).toMatchObject([{ headers: { from: [FROM], rcpt: [INBOX] } }]);
      expect(rspamd.scans[0]?.headers).not.toHaveProperty('ip');
      expect(rspamd.scans[0]?.headers).not.toHaveProperty('helo');
    });
  });
});
