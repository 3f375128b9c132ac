import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { verifySignature } from '@postrider/receiver';
import { EICAR, startFakeClamd, startFakeRspamd, startZoneServer, waitFor } from '@postrider/testing';
import type { FakeClamd, FakeRspamd, SystemProcess, ZoneServer } from '@postrider/testing';
import { callApi } from './call-api.ts';
import { sendMail } from './send-mail.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Mail over SMTP that is judged by clamd, rspamd and the sender's own DNS, as the settings wire them. */

const INBOX = 'support@inbound.postrider.example';
const SPAM_THRESHOLD = 8;

let clamd: FakeClamd;
let rspamd: FakeRspamd;
let names: ZoneServer;
let system: System;
let api: SystemProcess;
let inbound: SystemProcess;
let signingSecret: string;

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
  [api, inbound] = await system.startAll(['api', 'inbound', 'relay', 'worker']);
});
beforeEach(async () => {
  ({ signingSecret } = await system.webhook('/hook'));
  const made = await callApi({ api, key: system.apiKey }, 'POST', '/v1/inboxes', { email_address: INBOX });
  expect(made).toMatchObject({ status: 201 });
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

async function send(text = 'Hi', { to = inbound, lmtp = false } = {}): Promise<string> {
  const mail = { from: 'ann@shop.example', to: INBOX, subject: 'Judged', text };
  return sendMail(await to.smtpPort(), mail, { lmtp });
}

/** Runs the test on another inbound process, with these settings. */
async function beside(
  env: Readonly<Record<string, string>>,
  run: (other: SystemProcess) => Promise<void>,
): Promise<void> {
  const other = await system.start('inbound', env);
  try {
    await run(other);
  } finally {
    await other.kill();
  }
}

/** What is stored, and the event that tells of it. */
const stored = async () =>
  system.db.query(
    `select m.status::text, m.held_reason::text as reason, e.type
     from messages m left join events e on e.data::json ->> 'id' = m.id`,
  );
const RECEIVED = { status: 'received', reason: null, type: 'message.received' };
const heldFor = (reason: string) => ({ status: 'held', reason, type: 'message.held' });

describe('with every scanner there', () => {
  test('a message that none of them minds is received', async () => {
    rspamd.behaviour = { score: SPAM_THRESHOLD, action: 'no action' };
    expect(await send()).toMatch(/^250 /);
    expect(await stored()).toEqual([RECEIVED]);
    expect(clamd.streams).toHaveLength(1);
    const client = { ip: ['127.0.0.1'], helo: [expect.any(String)] };
    expect(rspamd.scans).toMatchObject([{ headers: { ...client, from: ['ann@shop.example'] } }]);
  });

  test('one in which clamd finds something is held as virus, and a signed message.held tells of it', async () => {
    expect(await send(EICAR)).toMatch(/^250 /);
    expect(await stored()).toEqual([heldFor('virus')]);
    const { body, headers } = await waitFor(() => system.receiver.requests[0], {
      what: 'the event',
      timeoutMs: 60_000,
    });
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

  test.each(['reject', 'quarantine'])(
    'one that fails DMARC under p=%s is held as auth_failed',
    async (policy) => {
      names.zone.set('shop.example', { TXT: ['v=spf1 -all'] });
      names.zone.set('_dmarc.shop.example', { TXT: [`v=DMARC1; p=${policy}`] });
      expect(await send()).toMatch(/^250 /);
      expect(await stored()).toEqual([heldFor('auth_failed')]);
    },
  );

  test('one that fails DMARC under p=none is received', async () => {
    names.zone.set('shop.example', { TXT: ['v=spf1 -all'] });
    names.zone.set('_dmarc.shop.example', { TXT: ['v=DMARC1; p=none'] });
    expect(await send()).toMatch(/^250 /);
    expect(await stored()).toEqual([RECEIVED]);
  });

  test('one whose author has a policy that is unavailable is received at once: the sandbox does not wait', async () => {
    names.zone.set('_dmarc.shop.example', 'servfail');
    expect(await send()).toMatch(/^250 /);
    expect(await stored()).toEqual([RECEIVED]);
  });

  test.each(['clamd', 'rspamd'])(
    'without an answer of %s: 451, and nothing is stored; later it is taken',
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

test('while the policy of the author is unavailable: 451 twice, and the third try is judged without it', async () => {
  names.zone.set('_dmarc.shop.example', 'servfail');
  await beside({ MAIL_PROVIDER: 'smtp', INBOUND_DOMAINS: 'inbound.postrider.example' }, async (other) => {
    const port = await other.smtpPort();
    const same = { messageId: '<a@shop.example>', date: new Date(0) }; // a repetition has the same bytes
    const again = async () => sendMail(port, { from: 'ann@shop.example', to: INBOX, text: 'Hi', ...same });
    for (let tries = 1; tries <= 2; tries += 1) {
      await expect(again()).rejects.toMatchObject({ responseCode: 451 });
      expect(await stored()).toEqual([]);
    }
    expect(await again()).toMatch(/^250 /);
    expect(await stored()).toEqual([RECEIVED]);
  });
});

test('with INBOUND_SCREENING_REQUIRED=false mail comes through while the scanners are away', async () => {
  clamd.behaviour = 'close';
  rspamd.behaviour = 'close';
  await beside({ INBOUND_SCREENING_REQUIRED: 'false' }, async (other) => {
    expect(await send('Hi', { to: other })).toMatch(/^250 /);
    expect(await stored()).toEqual([RECEIVED]);
    const unjudged = other.log.filter(({ msg }) => String(msg).startsWith('a scanner is away'));
    expect(unjudged).toHaveLength(2);
  });
});

test('over LMTP rspamd is told nothing of the client, which is the mail server in front', async () => {
  await beside({ INBOUND_PROTOCOL: 'lmtp' }, async (other) => {
    await send('Hi', { to: other, lmtp: true });
    expect(await stored()).toEqual([RECEIVED]);
    expect(rspamd.scans).toMatchObject([{ headers: { from: ['ann@shop.example'], rcpt: [INBOX] } }]);
    expect(rspamd.scans[0]?.headers).not.toHaveProperty('ip');
    expect(rspamd.scans[0]?.headers).not.toHaveProperty('helo');
  });
});
