import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '../logging/create-logger.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import {
  createReadinessHandler,
  databaseReadiness,
  readinessOfAll,
  type ReadinessCheck,
} from './handlers.ts';
import { OperationsServer } from './operations-server.ts';

const log = new PassThrough();
const logger = createLogger({ level: 'info', service: 'test', stream: log });
const { registry, oldestDueAge } = createMetrics('relay', { processMetrics: false });

let readiness: ReadinessCheck;
let server: OperationsServer;

const create = (port = 0) =>
  new OperationsServer({ host: '127.0.0.1', port, registry, readiness: () => readiness(), logger });

async function ask(path: string, method = 'GET') {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

beforeEach(async () => {
  readiness = async () => ({ ready: true });
  server = create();
  await server.start();
});

afterEach(() => server.stop());

test('/healthz answers in any state of the stores', async () => {
  readiness = async () => ({ ready: false, reason: 'no database' });
  expect(await ask('/healthz')).toEqual({ status: 200, type: 'application/json', text: '{"status":"ok"}' });
});

describe('/readyz', () => {
  test('200 when ready', async () => {
    expect(await ask('/readyz')).toEqual({
      status: 200,
      type: 'application/json',
      text: '{"status":"ready"}',
    });
  });

  test('503 with the reason when not', async () => {
    readiness = async () => ({ ready: false, reason: 'migrations are behind' });
    expect(await ask('/readyz')).toEqual({
      status: 503,
      type: 'application/json',
      text: '{"status":"not-ready","reason":"migrations are behind"}',
    });
  });

  test('503 with a cause: the reason is answered, the cause is logged', async () => {
    log.read();
    const cause = new Error('connect ECONNREFUSED 10.1.2.3:5432');
    readiness = async () => ({ ready: false, reason: 'Postgres does not answer', cause });
    expect((await ask('/readyz')).text).toBe('{"status":"not-ready","reason":"Postgres does not answer"}');
    expect(String(log.read())).toContain('10.1.2.3:5432');
  });

  test.each([
    ['a start or a stop', { isExpected: true } as const, 'info'],
    ['a fault', {}, 'warn'],
  ])('the log line about %s has its level', async (_, more, level) => {
    log.read();
    readiness = async () => ({ ready: false, reason: 'starting', ...more });
    expect((await ask('/readyz')).text).toBe('{"status":"not-ready","reason":"starting"}');
    expect(JSON.parse(String(log.read()))).toMatchObject({ level, msg: 'not ready', reason: 'starting' });
  });

  test('503 when the check fails: the cause goes to the log and not to the client', async () => {
    log.read();
    readiness = async () => Promise.reject(new Error('no route to postgres://a:hunter2@db'));
    expect((await ask('/readyz')).text).toBe('{"status":"not-ready","reason":"the check failed"}');
    expect(String(log.read())).toContain('no route to postgres://a:***@db');
    readiness = () => {
      throw new Error('at once');
    };
    expect((await ask('/readyz')).status).toBe(503);
  });
});

test('/metrics shows the registry in the text format of Prometheus', async () => {
  oldestDueAge.set(3);
  const { status, type, text } = await ask('/metrics?name=x');
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  expect(text).toContain('postrider_oldest_due_age_seconds{service="relay"} 3');
});

test('HEAD is answered like GET, without a body', async () => {
  expect(await ask('/readyz', 'HEAD')).toEqual({ status: 200, type: 'application/json', text: '' });
});

test.each([
  ['GET', '/'],
  ['GET', '/healthz/'],
  ['GET', '//'],
  ['POST', '/healthz'],
])('%s %s is 404', async (method, path) => {
  expect(await ask(path, method)).toEqual({
    status: 404,
    type: 'application/json',
    text: '{"status":"not-found"}',
  });
});

test.each(['/healthz', '/readyz', '/metrics', '/'])('no cache may keep the answer of %s', async (path) => {
  const { headers } = await fetch(`http://127.0.0.1:${server.port}${path}`);
  expect(headers.get('cache-control')).toBe('no-store');
});

test('a registry that fails is a 500 and a log line, not a crash', async () => {
  const failing = { contentType: 'x', metrics: async () => Promise.reject(new Error('collect')) };
  await server.stop();
  server = new OperationsServer({
    host: '127.0.0.1',
    port: 0,
    registry: failing as never,
    readiness,
    logger,
  });
  await server.start();
  expect(await ask('/metrics')).toMatchObject({ status: 500, text: '{"status":"internal"}' });
  expect(String(log.read())).toContain('"msg":"operations request failed"');
});

describe('start and stop', () => {
  test('the chosen free port is readable and logged', () => {
    expect(server.port).toBeGreaterThan(0);
    expect(String(log.read())).toContain(`"port":${server.port}`);
  });

  test('a taken port rejects the start', async () => {
    await expect(create(server.port).start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('stop does not wait for a client that holds its connection, and may be repeated', async () => {
    const client = connect(server.port, '127.0.0.1');
    await once(client, 'connect');
    client.write('GET /healthz HTTP/1.1\r\n');
    const closed = new Promise((resolve) => client.on('error', resolve).on('close', resolve));
    await server.stop();
    await server.stop();
    await closed;
    expect(() => server.port).toThrow('does not listen');
  });
});

test('a check of Postgres that hangs counts as not ready, and all parts are named', async () => {
  readiness = readinessOfAll([
    () => databaseReadiness(() => new Promise<never>(() => undefined)),
    async () => ({ ready: true, parts: { queue: 'ok' } }),
  ]);
  const reason = 'no answer within 1900 ms';
  const { status, text } = await ask('/readyz');
  expect({ status, body: JSON.parse(text) as unknown }).toEqual({
    status: 503,
    body: { status: 'not-ready', reason, parts: { postgres: reason, migrations: 'unknown', queue: 'ok' } },
  });
});

test('a readiness check that hangs counts as not ready', async () => {
  const handler = createReadinessHandler(() => new Promise<never>(() => undefined), logger, 10);
  const written: unknown[] = [];
  const response = {
    writeHead: (status: number) => (written.push(status), response),
    end: (body: string) => void written.push(body),
  };
  await handler({} as never, response as never);
  expect(written).toEqual([503, '{"status":"not-ready","reason":"no answer within 10 ms"}']);
});
