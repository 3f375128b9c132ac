import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createBlobStore } from '@postrider/blobs';
import { LIMITS } from '@postrider/domain';
import { createRows, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { callApi } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** Only Linux shows the peak memory of a process, in /proc. */
const onLinux = process.platform === 'linux' ? test : test.skip;

const MIB_MAX = 600;
/** Answers of each kind that a client leaves unread. */
const UNREAD = 16;
/** Answers that a client reads at a time. */
const READ = 16;
const TIMEOUT_MS = 300_000;
/** JSON writes each of these characters in six bytes. */
const BODY = '\u0001'.repeat(LIMITS.receivedBytes);

let folder: string;
let system: System;
let api: SystemProcess;
/** The paths of the largest answers: a message, its two bodies and its raw bytes. */
let paths: readonly string[];
let sockets: readonly Socket[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-e2e-blobs-'));
  const location = `file:${folder}`;
  system = await startSystem({ env: { BLOB_STORE: location } });
  const blobs = createBlobStore(location);
  const blob = await blobs.put(randomBytes(LIMITS.receivedBytes));
  blobs.close();
  const { accountId, apiKey: key } = system;
  const id = await createRows(system.db).message({ accountId, text: BODY, html: BODY, blob });
  api = await system.start('api');
  const message = `/v1/inbound/messages/${id}`;
  const { body: link } = await callApi({ api, key }, 'GET', `${message}/raw`);
  const raw = new URL(String(link['download_url'])).pathname;
  paths = [message, `${message}/body?part=text`, `${message}/body?part=html`, raw];
});
afterAll(async () => {
  leaveAll();
  await system.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The most memory that the process has had, in MiB. */
function peakMemory({ pid }: SystemProcess): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

const authorization = () => `Bearer ${system.apiKey}`;

/** This many paths. Each path comes as often as the others. */
const inTurn = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => paths[index % paths.length] ?? '');

/** Asks on a connection of its own. Reads no more than the beginning of the answer, and waits for that. */
async function leaveUnread(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  const begun = new Promise((resolve) => socket.once('close', resolve).once('data', resolve));
  socket.once('data', () => socket.pause());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization()}\r\n\r\n`);
  await begun;
  return socket;
}

function leaveAll(): void {
  for (const socket of sockets) socket.destroy();
}

/** Reads a whole answer. @returns its status. */
async function read(port: number, path: string): Promise<number> {
  const headers = { authorization: authorization() };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
  expect(bytes).toBe(Number(response.headers.get('content-length')));
  return response.status;
}

onLinux(
  `the API needs less than ${MIB_MAX} MiB, whatever one key leaves unread or reads`,
  async () => {
    const port = await api.port();
    sockets = await Promise.all(inTurn(UNREAD * paths.length).map(async (path) => leaveUnread(port, path)));
    // Some are refused. How many depends on the machine.
    await Promise.all(inTurn(READ).map(async (path) => read(port, path)));
    leaveAll();
    await Promise.all(inTurn(READ).map(async (path) => read(port, path)));
    for (const path of paths) {
      await waitFor(async () => (await read(port, path)) === 200, { what: `${path} to be served` });
    }
    expect(peakMemory(api)).toBeLessThan(MIB_MAX);
  },
  TIMEOUT_MS,
);
