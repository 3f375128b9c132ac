import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { DIST, endsWithUs, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* A customer without a public URL polls the events of the account. */

let system: System;
let url: string;
let folder: string;
let children: ChildProcess[] = [];

beforeAll(async () => {
  system = await startSystem();
  const [api] = await system.startAll(['api']);
  url = `http://127.0.0.1:${await api.port()}`;
  folder = mkdtempSync(join(tmpdir(), 'postrider-poll-'));
});
afterEach(async () => {
  for (const child of children) await kill(child);
  children = [];
});
afterAll(async () => {
  await system.close();
  rmSync(folder, { recursive: true });
});

/** A program of the customer. @returns it, and the ids of events that it has printed so far. */
function start(args: readonly string[]): { child: ChildProcess; ids: () => string[] } {
  const env = { PATH: process.env['PATH'], API: url, KEY: system.apiKey };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  endsWithUs(child);
  children.push(child);
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  return { child, ids: () => [...stdout.matchAll(/^email\.sent (evt_\w{26})/gm)].map(([, id = '']) => id) };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

test('the loop of docs/guide.md gets every event in order, also after it was killed', async () => {
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
