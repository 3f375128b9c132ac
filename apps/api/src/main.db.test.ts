import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newApiKey, SCOPES } from '@postrider/domain';
import type { Scope } from '@postrider/domain';
import {
  cleanUpAfterEach,
  DIST,
  setupDatabase,
  startFakeSes,
  startTcpListener,
  waitFor,
  withClient,
} from '@postrider/testing';
import request from 'supertest';

const SECRETS_KEY = Buffer.alloc(32, 5).toString('base64');

const OWN_ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

/** The slots of an account on routes without a rate limit. */
const UNMETERED = { inFlightMax: 4, waitingMax: 32 };

const BLOCKED = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

const database = setupDatabase();
const atEnd = cleanUpAfterEach();
let children: RunningApi[] = [];

afterEach(async () => {
  for (const { child, exited } of children) {
    child.kill('SIGKILL');
    await exited;
  }
  children = [];
});

interface RunningApi {
  readonly child: ChildProcess;
  readonly exited: Promise<[code: number | null, signal: string | null]>;
  /** All of stderr, after its end. */
  readonly errors: Promise<string>;
  readonly log: () => string;
}

function startProcess(env: Record<string, string>): RunningApi {
  const child = spawn(process.execPath, [join(DIST, 'api.js')], {
    env: { SECRETS_KEY, PORT: '0', LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk.toString('utf8')));
  const errors = text(child.stderr);
  const exited = once(child, 'exit') as RunningApi['exited'];
  const started = { child, exited, errors, log: () => out.join('') };
  children.push(started);
  return started;
}

async function listening(env: Record<string, string>) {
  const started = startProcess(env);
  const port = await waitFor(() => /"msg":"listening".*"port":(\d+)/.exec(started.log())?.[1], {
    what: 'the API to listen',
  });
  return { ...started, port: Number(port), url: `http://127.0.0.1:${port}` };
}

async function expectRefusesToStart(env: Record<string, string>, line: string): Promise<void> {
  const { exited, errors } = startProcess(env);
  const [code] = await exited;
  expect(code).toBe(1);
  expect(await errors).toBe(`${line}\n`);
}

describe('the process', () => {
  test('serves, charges requests with the limiter in Postgres, looks keys up on their own connections, even when the routes use all others, and on SIGTERM finishes and exits with 0', async () => {
    const env = { DATABASE_URL: database.url, DATABASE_POOL_SIZE: '5' };
    const { url, child, exited, errors, log } = await listening(env);
    expect((await request(url).get('/readyz')).body).toEqual({
      status: 'ready',
      parts: { postgres: 'ok', migrations: 'ok', limiter: 'ok' },
    });
    expect((await request(url).get('/v1/webhooks')).status).toBe(401);
    const authorization = await newKey(['webhooks:manage']);
    await expectCharged(url, authorization);
    await expectKeysLookedUp(url, authorization);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    expect(await errors).toBe('');
    expect(log()).not.toContain(SECRETS_KEY);
  });

  test('logs at its start which mail provider it uses, and the origin of that setting; the sandbox in production is a warning', async () => {
    const logOf = async (env: Record<string, string>) =>
      (await listening({ DATABASE_URL: database.url, ...env })).log();
    const line = (log: string) => /"msg":"mail provider".*/.exec(log)?.[0];
    const warning = /"level":"warn","msg":"the mail provider is the sandbox: [^"]+ Set MAIL_PROVIDER"/;
    const production = await logOf({ NODE_ENV: 'production' });
    expect(line(production)).toContain('"provider":"sandbox","origin":"default"');
    expect(production).toMatch(warning);
    expect(await logOf({ NODE_ENV: 'development' })).not.toMatch(warning);
    expect(line(await logOf({ MAIL_PROVIDER: 'smtp' }))).toContain(
      '"provider":"smtp","origin":"environment"',
    );
    expect(line(await logOf({}))).toContain('"provider":"smtp","origin":"kept"');
  });

  // Loopback is exempt from the limit: this needs another address of the machine.
  (OWN_ADDRESS === undefined ? test.skip : test)(
    'has HTTP_CONNECTIONS_PER_ADDRESS_MAX connections of one address',
    async () => {
      const env = { DATABASE_URL: database.url, HOST: '0.0.0.0', HTTP_CONNECTIONS_PER_ADDRESS_MAX: '1' };
      const { port } = await listening(env);
      const silent = connect({ port, host: OWN_ADDRESS });
      await once(silent, 'connect');
      const closed = once(silent, 'close');
      const url = `http://${OWN_ADDRESS}:${port}`;
      expect((await request(url).get('/readyz')).status).toBe(200);
      await closed;
    },
  );

  test('starts with a silent Redis, is ready, refuses with 429, and exits with 0', async () => {
    const silent = await startTcpListener();
    const env = { DATABASE_URL: database.url, REDIS_URL: `redis://127.0.0.1:${silent.port}` };
    const { url, child, exited } = await listening(env);
    const authorization = await newKey();
    expect((await request(url).get('/v1/webhooks').set('authorization', authorization)).status).toBe(429);
    expect((await request(url).get('/readyz')).status).toBe(200);
    const metrics = (await request(url).get('/metrics')).text;
    expect(metrics).toMatch(/postrider_redis_errors_total\{client="limiter",service="api"\} [1-9]/);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await silent.close();
  });

  test('obeys the settings of inboxes, webhooks and outstanding deliveries', async () => {
    const { url } = await listening({
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '20', // so that an account has four slots
      INBOUND_DOMAINS: 'in.example',
      INBOUND_RESERVED_NAMES: 'billing-desk',
      SIGNATURE_HEADER_PREFIX: 'Acme',
      OUTSTANDING_DELIVERIES_PER_ACCOUNT_MAX: '1',
    });
    const post = posting(url, await newKey(SCOPES));
    expect((await post('inboxes', { email_address: 'sales-desk@in.example' })).status).toBe(201);
    expect(await post('inboxes', { email_address: 'billing-desk@in.example' })).toMatchObject(
      refusal('billing-desk@in.example is reserved: no account may have it on a shared domain.'),
    );
    const webhook = (header: string) => ({ endpoint: 'https://hooks.example/', headers: { [header]: 'x' } });
    expect(await post('webhooks', webhook('Acme-Signature'))).toMatchObject(
      refusal('headers.Acme-Signature is set by the service.'),
    );
    expect((await post('webhooks', webhook('Service-Signature'))).status).toBe(201);
    const suppress = async () => post('suppressions/batch/add', { emails: [`${randomUUID()}@b.example`] });
    for (let n = 0; n < UNMETERED.inFlightMax; n += 1) expect((await suppress()).status).toBe(201);
    const waiting = Array.from({ length: UNMETERED.waitingMax + 1 }, suppress);
    for (const each of waiting) each.catch(() => undefined); // the process is killed meanwhile
    expect((await Promise.race(waiting)).status).toBe(503);
  });

  test('obeys the settings of domains, and takes no address beyond ASCII for SES', async () => {
    const ses = await startFakeSes();
    atEnd(() => ses.close());
    const { url, log } = await listening({
      DATABASE_URL: database.url,
      MAIL_PROVIDER: 'ses',
      ...ses.environment,
      DOMAINS_PER_ACCOUNT_MAX: '2',
      UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX: '1',
      DOMAIN_CLAIM_DAYS: '2',
      SES_CONFIGURATION_SET: 'events',
    });
    const post = posting(url, await newKey(SCOPES));
    expect((await post('domains', { name: 'a.example' })).status).toBe(200);
    expect(ses.identities.get('a.example')?.FeedbackForwardingStatus).toBe(false);
    expect(await post('domains', { name: 'b.example' })).toMatchObject(
      refusal('The account has as many domains that are not verified as it may have: 1.'),
    );
    const email = { from: 'a@a.example', to: 'jürgen@b.example', subject: 'Hi', text: 'Hi' };
    expect((await post('emails', email)).status).toBe(422);
    await database.query(`update domains set claimed_at = now() - interval '3 days'`);
    await waitFor(() => log().includes('domain taken back: it was never verified'), {
      what: 'the domain to be taken back',
      timeoutMs: 60_000,
    });
  });

  test('refuses to start in one line when SNS_SIGNING_CERT_FILE holds no certificate', async () => {
    await expectRefusesToStart(
      {
        DATABASE_URL: database.url,
        NODE_ENV: 'test',
        SNS_SIGNING_CERT_FILE: fileURLToPath(import.meta.url),
      },
      'postrider: cannot start SNS_SIGNING_CERT_FILE: it holds no RSA certificate in PEM',
    );
  });

  test('refuses to start on a used port, in one line', async () => {
    const taken = await startTcpListener();
    await expectRefusesToStart(
      { DATABASE_URL: database.url, PORT: String(taken.port) },
      `postrider: cannot start HTTP server: listen EADDRINUSE: address already in use 127.0.0.1:${taken.port}`,
    );
    await taken.close();
  });
});

function posting(url: string, authorization: string) {
  return async (path: string, body: object) =>
    waitFor(
      async () => {
        const response = await request(url)
          .post(`/v1/${path}`)
          .set('authorization', authorization)
          .send(body);
        return response.status !== 429 && response; // 429: the limiter had no answer in time
      },
      { what: 'the request to be charged' },
    );
}

const refusal = (detail: string) => ({ status: 422, body: { detail } });

async function expectCharged(url: string, authorization: string): Promise<void> {
  const used = async () => {
    // Repeat when the machine was too busy to count the last request in time.
    await request(url).get('/v1/webhooks').set('authorization', authorization);
    const [row] = await database.query<{ used: number }>('select used from rate_limits');
    return row?.used;
  };
  expect(await waitFor(used, { what: 'a charge' })).toBeGreaterThan(0);
}

/** The routes use all their connections meanwhile. */
async function expectKeysLookedUp(url: string, authorization: string): Promise<void> {
  await withClient(database.url, async (session) => {
    await session.query('begin; lock table webhooks in access exclusive mode');
    const taken: Promise<unknown>[] = [];
    const take = async () => request(url).get('/v1/webhooks').set('authorization', authorization);
    await waitFor(
      async () => {
        taken.push(take()); // again, where the limiter had no answer in time
        return (await database.query(BLOCKED)).length === 2;
      },
      { what: 'both connections of the routes to be taken', intervalMs: 500 },
    );
    const stranger = await request(url)
      .get('/v1/webhooks')
      .set('authorization', `Bearer ${newApiKey('live')}`);
    expect(stranger.status).toBe(401);
    await session.query('rollback');
    await Promise.all(taken);
  });
}

/** Creates an account with a key that has only these scopes. @returns the Authorization header. */
async function newKey(scopes: readonly Scope[] = []): Promise<string> {
  const key = `pr_live_${'k'.repeat(43)}`;
  await database.query(`insert into accounts (id, name) values ('acct_1', 'Test')`);
  await database.query(
    `insert into api_keys (id, account_id, digest, kind, scopes)
     values ('key_1', 'acct_1', sha256($1::text::bytea), 'live', $2)`,
    [key, scopes],
  );
  return `Bearer ${key}`;
}
