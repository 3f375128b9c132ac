import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { DIST, endsWithUs, runNode, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * Two programs that a customer writes. One has no public URL, so it polls the events of its account. One uses
 * the types that openapi-typescript makes from docs/openapi.json.
 */

const DOCUMENT = fileURLToPath(new URL('../docs/openapi.json', import.meta.url));
const MODULES = fileURLToPath(new URL('node_modules/', import.meta.url));
const TYPESCRIPT = fileURLToPath(new URL('../node_modules/typescript7/bin/tsc', import.meta.url));

/** The calls of the quickstart, and some that the types must refuse. It prints what the API answers. */
const CLIENT = `
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

declare const process: { argv: string[] };
const [, , baseUrl = '', key = ''] = process.argv;

/** Sends again what a busy limiter could not count. */
async function sent(request: Request): Promise<Response> {
  const response = await fetch(request.clone());
  return response.status === 429 ? sent(request) : response;
}
const client = createClient<paths>({ baseUrl, fetch: sent, headers: { authorization: \`Bearer \${key}\` } });

function dataOf<Data>({ data, error }: { data?: Data; error?: unknown }): Data {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const webhook = dataOf(await client.POST('/v1/webhooks', { body: { endpoint: 'https://shop.example.com/hooks' } }));
const secret: string = webhook.signing_secret;
const email = dataOf(
  await client.POST('/v1/emails', {
    body: {
      from: 'Shop <shop@example.com>',
      to: 'delivered@sandbox.postrider.example',
      subject: 'Your order',
      text: 'Thank you.',
    },
    params: { header: { 'Idempotency-Key': 'order-42' } },
  }),
);
const read = dataOf(await client.GET('/v1/emails/{id}', { params: { path: { id: email.id } } }));
const letters = dataOf(await client.GET('/v1/webhooks/dead-letters', { params: { query: { reason: 'rejected' } } }));
const reasons: ('attempts_exhausted' | 'rejected')[] = letters.data.map(({ reason }) => reason);
const events = dataOf(await client.GET('/v1/events', { params: { query: { limit: 10 } } }));
const counted = dataOf(
  await client.POST('/v1/webhooks/{id}/recover', {
    params: { path: { id: webhook.id } },
    body: { since: '2026-11-20T22:00:00Z', dry_run: true },
  }),
);
const missing = await client.DELETE('/v1/webhooks/{id}', { params: { path: { id: 'wh_none' } } });
const { deleted } = dataOf(await client.DELETE('/v1/webhooks/{id}', { params: { path: { id: webhook.id } } }));

export function refused(): void {
  // @ts-expect-error: a webhook needs an endpoint
  void client.POST('/v1/webhooks', { body: {} });
  // @ts-expect-error: no event has such a type
  void client.POST('/v1/webhooks', { body: { endpoint: 'https://a.example', events: ['email.lost'] } });
  // @ts-expect-error: an email needs a sender and recipients
  void client.POST('/v1/emails', { body: { subject: 'Hello', text: 'Hello' } });
  // @ts-expect-error: a topic has no such field
  void client.PATCH('/v1/topics/{id}', { params: { path: { id: 'top_1' } }, body: { nmae: 'News' } });
  // @ts-expect-error: there is no such route
  void client.GET('/v1/webhook');
  // @ts-expect-error: an email has no such field
  void read.sender;
}

console.log(
  JSON.stringify({
    secret: secret.slice(0, 6),
    subject: read.subject,
    reasons,
    more: events.has_more,
    matched: counted.matched,
    missing: missing.error?.title,
    deleted,
  }),
);
`;

let system: System;
let url: string;
let folder: string;
let children: ChildProcess[] = [];

beforeAll(async () => {
  system = await startSystem();
  const [api] = await system.startAll(['api']);
  url = `http://127.0.0.1:${await api.port()}`;
  folder = mkdtempSync(join(tmpdir(), 'postrider-customer-'));
});
afterEach(async () => {
  for (const child of children) await kill(child);
  children = [];
});
afterAll(async () => {
  await system.close();
  rmSync(folder, { recursive: true });
});

interface Program {
  readonly child: ChildProcess;
  /** The ids of the events that it has printed so far. */
  readonly ids: () => string[];
  readonly stderr: () => string;
}

/** Starts a program of the customer. */
function start(args: readonly string[]): Program {
  const env = { PATH: process.env['PATH'], API: url, KEY: system.apiKey };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  endsWithUs(child);
  children.push(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const ids = () => [...stdout.matchAll(/^email\.sent (evt_\w{26})/gm)].map(([, id = '']) => id);
  return { child, ids, stderr: () => stderr };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

// The first test, because it expects no events and the others record some.
test('the types that openapi-typescript makes from docs/openapi.json fit the calls of the quickstart', async () => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(realpathSync(join(MODULES, 'openapi-fetch')), join(folder, 'node_modules/openapi-fetch'));
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
  };
  for (const [name, content] of [
    ['package.json', '{ "type": "module" }'],
    ['tsconfig.json', JSON.stringify({ compilerOptions, files: ['client.ts'] })],
    ['client.ts', CLIENT],
  ] as const)
    writeFileSync(join(folder, name), content);
  const generator = join(MODULES, 'openapi-typescript/bin/cli.js');
  for (const args of [
    [generator, DOCUMENT, '--output', join(folder, 'api.ts')],
    [TYPESCRIPT, '-p', folder],
  ]) {
    const { code, stdout, stderr } = await runNode(args);
    expect({ code, said: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, said: '' });
  }
  const { code, stdout, stderr } = await runNode([join(folder, 'client.js'), url, system.apiKey]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    secret: 'whsec_',
    subject: 'Your order',
    reasons: [],
    more: false,
    matched: 0,
    missing: 'Not found',
    deleted: true,
  });
});

test('the polling loop of docs/guide.md gets every event in order, also when it is killed and started again', async () => {
  const page = readFileSync(new URL('../docs/guide.md', import.meta.url), 'utf8');
  const [, program = ''] = /```js\n(\/\/ poll\.mjs.*?)```/s.exec(page) ?? [];
  writeFileSync(join(folder, 'poll.mjs'), program);
  const before = await system.record(120); // more than a page
  const first = start(['poll.mjs']);
  await waitFor(() => first.ids().length >= 120, { what: 'the first events' });
  await waitFor(() => readFileSync(join(folder, 'cursor.txt')).length > 0, { what: 'the cursor' });
  expect(first.ids()).toEqual(before);
  await kill(first.child);
  const meanwhile = await system.record(3);
  const second = start(['poll.mjs']);
  const arrived = () => new Set([...first.ids(), ...second.ids()]);
  await waitFor(() => arrived().size >= 123, { what: 'the events recorded meanwhile' });
  expect([...arrived()]).toEqual([...before, ...meanwhile]);
});

test('the polling loop of docs/guide.md says why its cursor is refused after a restore', async () => {
  writeFileSync(join(folder, 'cursor.txt'), Buffer.from('1000000000').toString('base64url'));
  const { stderr } = start(['poll.mjs']);
  await waitFor(() => stderr().includes('HTTP 422'), { what: 'the refusal' });
  expect(stderr()).toContain('Read again with since instead of after.');
});

test('listen with a key prints the new events of the account, and no old ones', async () => {
  const program = join(DIST, 'receiver/esm/cli/main.js');
  await system.record(1);
  await system.db.query("update events set created_at = created_at - interval '1 minute'");
  const listen = start([program, 'listen', '--api', url, '--key', system.apiKey]);
  const fresh: string[] = [];
  const printsFresh = async () => {
    fresh.push(...(await system.record(1)));
    return listen.ids().some((id) => fresh.includes(id));
  };
  await waitFor(printsFresh, { what: 'a new event to be printed', intervalMs: 500 });
  expect(listen.ids().filter((id) => !fresh.includes(id))).toEqual([]);
});
