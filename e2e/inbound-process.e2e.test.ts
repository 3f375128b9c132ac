import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { blobIdOf } from '@postrider/blobs';
import {
  createRows,
  openSmtpClient,
  s3Error,
  startFakeS3,
  startZoneServer,
  untilWaitingForLock,
  waitFor,
} from '@postrider/testing';
import type { SmtpClient, SystemProcess, ZoneServer } from '@postrider/testing';
import { sendMail } from './send-mail.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* The inbound process: its certificate, its blob store, and its end. */

const INBOX = 'support@inbound.postrider.example';
const HOSTNAME = 'mx.postrider.example';
const FROM = 'ann@shop.example';
const HOUR_MS = 3_600_000;

let folder: string;
let names: ZoneServer;
let system: System;
let clients: SmtpClient[];

beforeAll(async () => {
  names = await startZoneServer();
  system = await startSystem({ env: { DNS_SERVERS: names.address } });
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-inbound-'));
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await system.db.query('rollback'); // a test may fail before its commit
  await Promise.all(system.processes.filter(({ running }) => running).map((each) => each.kill()));
  await system.reset();
  rmSync(folder, { recursive: true });
});
afterAll(async () => {
  await system.close();
  await names.close();
});

const makeInbox = () => createRows(system.db).inbox({ accountId: system.accountId, address: INBOX });

async function untilLogged(inbound: SystemProcess, msg: string, times = 1): Promise<void> {
  await waitFor(() => inbound.log.filter((line) => line['msg'] === msg).length >= times, {
    what: `inbound to log "${msg}"`,
  });
}

/** Opens a client and sends EHLO. */
async function greet(inbound: SystemProcess): Promise<SmtpClient> {
  const client = await openSmtpClient(await inbound.smtpPort());
  clients.push(client);
  expect(await client.answer()).toMatch(/^220 /);
  expect(await client.say('EHLO client.example')).toMatch(/^250/);
  return client;
}

/** Sends the commands before the message itself. */
async function beginMessage(client: SmtpClient): Promise<void> {
  for (const line of [`MAIL FROM:<${FROM}>`, `RCPT TO:<${INBOX}>`])
    expect(await client.say(line)).toMatch(/^250 /);
  expect(await client.say('DATA')).toMatch(/^354 /);
}

const stored = async (): Promise<{ subject: string; events: number }[]> =>
  system.db.query(
    `select m.subject, (select count(*)::int from events e where e.data::json ->> 'id' = m.id) as events
     from messages m order by m.subject`,
  );

describe('a certificate', () => {
  const files = () => ({
    INBOUND_TLS_CERT_FILE: join(folder, 'cert.pem'),
    INBOUND_TLS_KEY_FILE: join(folder, 'key.pem'),
  });

  /** Writes a new certificate into the files. @returns its fingerprint */
  async function issue(): Promise<string> {
    const { certPem, keyPem } = await system.authority.issue({ names: [HOSTNAME] });
    const { INBOUND_TLS_CERT_FILE: cert, INBOUND_TLS_KEY_FILE: key } = files();
    writeFileSync(cert, certPem);
    writeFileSync(key, keyPem);
    return new X509Certificate(certPem).fingerprint256;
  }

  /** @returns the fingerprint that a client sees. The client trusts only the test's authority. */
  async function shown(inbound: SystemProcess): Promise<string> {
    const client = await greet(inbound);
    expect(await client.say('STARTTLS')).toMatch(/^220 /);
    await client.secure(system.authority.caPem, HOSTNAME);
    expect(await client.say('EHLO client.example')).toMatch(/^250/);
    return client.fingerprint();
  }

  test('that is the newest is used, also at the start; SIGHUP reads it again; a broken one leaves the former in use', async () => {
    await issue();
    await system.db.query('begin');
    await system.db.query('lock table installation'); // the start of the server waits for it
    const inbound = await system.start('inbound', { ...files(), INBOUND_HOSTNAME: HOSTNAME });
    const first = await issue();
    // Before the certificate is in use, SIGHUP does not end the process.
    inbound.signal('SIGHUP');
    expect(inbound.log.map((line) => line['msg'])).not.toContain('inbound server listens');
    await system.db.query('commit');
    expect(await shown(inbound)).toBe(first);

    const second = await issue();
    inbound.signal('SIGHUP');
    await untilLogged(inbound, 'certificate read again');
    await waitFor(async () => (await shown(inbound)) === second, { what: 'the second certificate' });

    for (const [times, broken] of ['no certificate', ''].entries()) {
      writeFileSync(files().INBOUND_TLS_CERT_FILE, broken);
      inbound.signal('SIGHUP');
      await untilLogged(inbound, 'certificate not taken: the former one stays', times + 1);
      expect(await shown(inbound)).toBe(second);
    }
    rmSync(files().INBOUND_TLS_KEY_FILE);
    inbound.signal('SIGHUP');
    await untilLogged(inbound, 'certificate not taken: the former one stays', 3);
    expect(await shown(inbound)).toBe(second);
    expect(await inbound.stop()).toBe(0);
  });
});

test('with blobs in S3: a due sweep at the start removes blobs of no message; while S3 is away a sender gets 451 and nothing is stored; its retry is stored once', async () => {
  const s3 = await startFakeS3();
  try {
    await makeInbox();
    const bytes = Buffer.from('of no message');
    const lastModified = new Date(Date.now() - 25 * HOUR_MS);
    s3.objects.set(`blobs/mail/${blobIdOf(bytes)}`, { bytes, lastModified });
    await system.db.query(
      'insert into blob_sweeps (due_at) values (now()) on conflict (id) do update set due_at = now()',
    );
    const inbound = await system.start('inbound', { ...s3.environment, BLOB_STORE: 's3://blobs/mail' });
    await untilLogged(inbound, 'blob sweep done');
    expect(inbound.log.find(({ msg }) => msg === 'blob sweep done')).toMatchObject({ removed: 1 });
    expect([...s3.objects.keys()]).toEqual([]);
    const metrics = await fetch(`http://127.0.0.1:${await inbound.port()}/metrics`);
    expect(await metrics.text()).toMatch(/postrider_blobs_swept_total{[^}]*} 1\n/);
    const port = await inbound.smtpPort();
    const mail = { messageId: '<1@shop.example>', from: FROM, to: INBOX, subject: 'Kept', text: 'Hi' };
    s3.fail(s3Error(503, 'SlowDown'), { operation: 'PutObject' });
    await expect(sendMail(port, mail)).rejects.toMatchObject({ responseCode: 451 });
    expect(await stored()).toEqual([]);
    s3.heal();
    expect(await sendMail(port, mail)).toMatch(/^250 /);
    expect(await stored()).toEqual([{ subject: 'Kept', events: 1 }]);
    expect([...s3.objects.keys()]).toEqual([expect.stringMatching(/^blobs\/mail\/[0-9a-f]{64}$/)]);
  } finally {
    await s3.close();
  }
});

test('/readyz is 200 only while the process takes mail: not before it listens, and not while it stops', async () => {
  const readiness = async (inbound: SystemProcess) => {
    const answer = await fetch(`http://127.0.0.1:${await inbound.port()}/readyz`);
    return { code: answer.status, ...((await answer.json()) as { status: string; reason?: string }) };
  };
  const NOT_YET = { code: 503, status: 'not-ready', reason: 'starting, or stopping' };
  await makeInbox();
  await system.db.query('begin');
  await system.db.query('lock table installation'); // the start of the server waits for it
  const inbound = await system.start('inbound');
  expect(await readiness(inbound)).toEqual(NOT_YET);
  await system.db.query('commit');
  await untilLogged(inbound, 'started');
  expect(await readiness(inbound)).toMatchObject({ code: 200, status: 'ready', parts: { postgres: 'ok' } });
  const client = await greet(inbound);
  await beginMessage(client);
  inbound.signal('SIGTERM');
  await untilLogged(inbound, 'stopping');
  expect(await readiness(inbound)).toEqual(NOT_YET);
  expect(inbound.log.filter(({ msg }) => msg === 'not ready').map(({ level }) => level)).toEqual([
    'info',
    'info',
  ]);
  expect(await client.say('Subject: Last\r\n\r\nHi\r\n.')).toMatch(/^250 /);
  expect(await inbound.exited()).toBe(0);
});

describe('SIGTERM', () => {
  test('lets a message in the middle finish with 250, and answers one that waits for its commit after the commit; both are stored with their events, and the exit is 0', async () => {
    await makeInbox();
    const inbound = await system.start('inbound');
    const [client, late, idle] = [await greet(inbound), await greet(inbound), await greet(inbound)];
    await beginMessage(client);
    client.write('Subject: Half\r\n\r\nfirst half\r\n');
    await beginMessage(late);
    await system.db.query('begin');
    await system.db.query('select from inboxes for update');
    const answer = late.say('Subject: Late\r\n\r\nHi\r\n.');
    await untilWaitingForLock(system.db);
    inbound.signal('SIGTERM');
    await untilLogged(inbound, 'stopping');
    expect(await idle.answer()).toMatch(/^421 /);
    await system.db.query('commit');
    expect(await answer).toMatch(/^250 /);
    expect(await client.say('second half\r\n.')).toMatch(/^250 /);
    expect(await client.answer()).toMatch(/^421 /);
    expect(await inbound.exited()).toBe(0);
    expect(await stored()).toEqual([
      { subject: 'Half', events: 1 },
      { subject: 'Late', events: 1 },
    ]);
  });

  test('ends a message that does not finish with 421 at the deadline; nothing is stored, and the exit is 0', async () => {
    await makeInbox();
    const inbound = await system.start('inbound', { SHUTDOWN_DEADLINE_MS: '10000' });
    const client = await greet(inbound);
    await beginMessage(client);
    client.write('Subject: Endless\r\n\r\nfirst half\r\n');
    inbound.signal('SIGTERM');
    expect(await client.rest()).toEqual([expect.stringMatching(/^421 /)]);
    expect(await inbound.exited()).toBe(0);
    expect(inbound.log.at(-1)).toMatchObject({ msg: 'stopped' });
    expect(inbound.log.map((line) => line['msg'])).not.toContain('stop cut short at the deadline');
    expect(await stored()).toEqual([]);
  });
});
