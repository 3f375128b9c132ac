import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createSecretBox } from '@postrider/domain';
import { openQueueWatch, Producer, queueLocation } from '@postrider/queue';
import { createMetrics, Lifecycle, loadConfig } from '@postrider/runtime';
import {
  cleanUpAfterEach,
  createRows,
  createTestAuthority,
  createTestProcess,
  setupDatabase,
  startFaultProxy,
  startScriptedReceiver,
  startTcpListener,
  waitFor,
} from '@postrider/testing';
import { openTestDatabase, setupWorkerConnection } from '../test/delivery-fixture.ts';
import { keepLog } from '../test/kept-log.ts';
import { addWorker } from './worker.ts';

/* A whole worker in this process, with the queue in Postgres: its settings reach the parts that need them. */

const SECRETS_KEY = Buffer.alloc(32, 1);

const database = setupDatabase();
const rows = createRows(database);
const db = setupWorkerConnection(database);
const log = keepLog();
const atEnd = cleanUpAfterEach();
let producer: Producer;

function configOf(settings: Readonly<Record<string, string>>) {
  return loadConfig('worker', {
    DATABASE_URL: database.url,
    SECRETS_KEY: SECRETS_KEY.toString('base64'),
    NODE_ENV: 'test',
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.1/32',
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: 'smtp://127.0.0.1:2',
    ...settings,
  });
}

beforeAll(async () => {
  producer = new Producer(queueLocation(configOf({})), () => undefined);
});
afterAll(() => producer.close());
beforeEach(() => log.clear());

/** Starts a worker, and stops it after the test as SIGTERM does. @param leases its pool for leases */
async function startWorker(settings: Readonly<Record<string, string>>, leases = db.pool): Promise<void> {
  const config = configOf(settings);
  const { logger } = log;
  const metrics = createMetrics('worker', { processMetrics: false });
  const { control, stop } = createTestProcess();
  const lifecycle = new Lifecycle({ logger, deadlineMs: 10_000, control });
  const queueWatch = openQueueWatch(queueLocation(config), { client: 'worker', logger, metrics });
  const onPostgresError = () => undefined;
  addWorker({
    config,
    lifecycle,
    logger,
    metrics,
    onPostgresError,
    queueWatch,
    database: db,
    leases,
  });
  await lifecycle.run();
  atEnd(async () => expect(await stop()).toBe(0));
}

describe('a delivery', () => {
  const trusted = getCACertificates('default');
  afterEach(() => setDefaultCACertificates(trusted));

  test('has headers by SIGNATURE_HEADER_PREFIX and STANDARD_WEBHOOKS_HEADERS', async () => {
    const authority = await createTestAuthority();
    setDefaultCACertificates([...trusted, authority.caPem]);
    const receiver = await startScriptedReceiver({ authority });
    atEnd(() => receiver.close());
    const webhookId = await rows.webhook();
    const { keyId, sealed } = createSecretBox([SECRETS_KEY]).seal('whsec_AAAA', webhookId);
    await database.query('update webhooks set endpoint = $1, secret_key_id = $2, secret_sealed = $3', [
      receiver.url('/in'),
      keyId,
      sealed,
    ]);
    const [deliveryId = ''] = await rows.deliveries(webhookId);
    await startWorker({ SIGNATURE_HEADER_PREFIX: 'Acme', STANDARD_WEBHOOKS_HEADERS: 'true' });
    await producer.addDeliveries('fast', [{ deliveryId, claim: 0, delayMs: 0 }]);
    const [request] = await receiver.waitForRequests(1);
    expect(Object.keys(request?.headers ?? {})).toEqual(
      expect.arrayContaining(['acme-signature', 'acme-event-id', 'webhook-id', 'webhook-signature']),
    );
    await waitFor(async () => (await database.query('select from deliveries')).length === 0, {
      what: 'the outcome to be recorded',
    });
  });
});

test.each([
  [1, {}],
  [0, { SES_CONFIGURATION_SET: 'events' }],
])('the start warns %d times about SES_CONFIGURATION_SET with %j', async (warnings, settings) => {
  const forgetProvider = () => database.query('delete from installation');
  await forgetProvider();
  atEnd(forgetProvider);
  await startWorker({ MAIL_PROVIDER: 'ses', AWS_REGION: 'eu-central-1', ...settings });
  const lines = log
    .text()
    .split('\n')
    .filter((line) => line.includes('SES_CONFIGURATION_SET is not set'));
  expect(lines).toHaveLength(warnings);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: 'warn' });
});

describe('mail over SMTP', () => {
  const REPLY_MS = 1_000;

  /** A server without TLS. It is silent where `reply` returns null. */
  async function startMailServer(reply: (line: string, answer: (text: string) => void) => string | null) {
    const server = await startTcpListener((socket) => {
      const answer = (text: string) => void socket.write(`${text}\r\n`);
      answer('220 hello');
      let rest = '';
      socket.on('data', (bytes) => {
        const lines = (rest + bytes.toString('latin1')).split('\r\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          const text = reply(line, answer);
          if (text !== null) answer(text);
        }
      });
    });
    atEnd(() => server.close());
    return server;
  }
  function accepts(line: string): string | null {
    if (line === 'DATA') return '354 go on';
    if (line === 'STARTTLS') return '502 no such command';
    return /^(EHLO|MAIL|RCPT|RSET|\.$)/.test(line) ? '250 OK' : null;
  }

  async function queueMessage(): Promise<void> {
    await producer.addMail([{ emailId: await rows.email(), claim: 0, delayMs: 0 }]);
  }

  /** Lets a worker send a message. @returns what it logs about the attempt */
  async function attemptWith(settings: Readonly<Record<string, string>>) {
    await queueMessage();
    await startWorker({ SMTP_REPLY_TIMEOUT_MS: String(REPLY_MS), ...settings });
    const attempts = () => log.lines('mail.attempted');
    await waitFor(() => attempts().length > 0, { what: 'the attempt' });
    const [attempt] = attempts();
    return { outcome: attempt?.['outcome'], error: attempt?.['error'] };
  }

  test.each([
    ['false', 'retry', 0],
    ['true', 'sent', 1],
  ])(
    'without TLS at a server elsewhere and SMTP_ALLOW_PLAINTEXT=%s: %s',
    async (allowPlaintext, outcome, taken) => {
      const server = await startMailServer(accepts);
      const SMTP_URL = `smtp://0.0.0.0:${server.port}`; // not a name of loopback, but it leads there
      const attempt = await attemptWith({ SMTP_URL, SMTP_ALLOW_PLAINTEXT: allowPlaintext });
      expect(attempt).toMatchObject({ outcome });
      expect(server.received.toString().match(/^MAIL/gm) ?? []).toHaveLength(taken);
    },
  );

  test('may wait SMTP_FINAL_REPLY_TIMEOUT_MS for the reply to a whole message', async () => {
    const server = await startMailServer((line, answer) => {
      if (line !== '.') return accepts(line);
      setTimeout(() => answer('250 OK'), 2 * REPLY_MS);
      return null;
    });
    const SMTP_URL = `smtp://127.0.0.1:${server.port}`;
    expect(await attemptWith({ SMTP_URL })).toMatchObject({ outcome: 'sent' });
  });

  test('waits no longer than SMTP_REPLY_TIMEOUT_MS for each other reply', async () => {
    const server = await startMailServer((line) => (line.startsWith('MAIL') ? null : accepts(line)));
    expect(await attemptWith({ SMTP_URL: `smtp://127.0.0.1:${server.port}` })).toEqual({
      outcome: 'retry',
      error: `no answer from the mail server within ${REPLY_MS} ms`,
    });
  });

  test('is not fetched by a worker that cannot announce itself', async () => {
    const server = await startMailServer(accepts);
    const line = await startFaultProxy(database.url);
    const other = openTestDatabase(line.url(database.url));
    atEnd(
      () => line.close(),
      () => other.close(),
    );
    line.takeAway();
    await queueMessage();
    await startWorker({ SMTP_URL: `smtp://127.0.0.1:${server.port}` }, other.pool);
    await waitFor(() => line.refused >= 3, { what: 'three announcements to fail' });
    line.restore();
    await waitFor(() => log.lines('mail.attempted').length > 0, { what: 'the attempt' });
    expect(log.text()).toMatch(/worker announced again.*mail\.attempted/s);
  });
});
