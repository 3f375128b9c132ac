import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ThreadPool } from './thread-pool.ts';

/** Answers each job with the id of its thread, or ends it. Like `answerJobs`, it says that it has loaded. */
const SCRIPT = `
import { parentPort, threadId, workerData } from 'node:worker_threads';
workerData[0] = 1;
parentPort.on('message', (job) => {
  if (job === 'crash') throw new Error('a crash');
  parentPort.postMessage(threadId);
});
`;
const NEVER_MS = 600_000;

let folder: string;
let script: string;
let pool: ThreadPool<string, number>;
let lost: [string, string | null][];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'thread-pool-'));
  script = join(folder, 'thread.mjs');
  lost = [];
});

afterEach(async () => {
  await pool.close();
  rmSync(folder, { recursive: true });
});

function open(idleMs: number, threads: number): void {
  writeFileSync(script, SCRIPT);
  const onThreadLost = ({ message }: Error, client: string | null): void => void lost.push([message, client]);
  pool = new ThreadPool({ threads, idleMs, timeoutMs: NEVER_MS, memoryMb: 64, script, onThreadLost });
}

async function threadOfJob(): Promise<number | null> {
  return pool.run('a', () => ({ value: 'job', transferList: [] }));
}

test('a thread without a job ends, the next job starts another, and no thread counts as lost', async () => {
  open(1, 1);
  const first = await threadOfJob();
  while (pool.running > 0) await nextTurn();
  const second = await threadOfJob();
  expect(second).toBeGreaterThan(first ?? NaN);
  expect(lost).toEqual([]);
});

test('a thread that is lost to a job names the client of that job', async () => {
  open(NEVER_MS, 1);
  expect(await pool.run('a', () => ({ value: 'crash', transferList: [] }))).toBeNull();
  expect(lost).toEqual(Array(2).fill(['a crash', 'a']));
});

test('a job that cannot be prepared rejects, and costs no thread', async () => {
  open(NEVER_MS, 1);
  const thread = await threadOfJob();
  const unprepared = pool.run('a', () => {
    throw new Error('no memory for a copy');
  });
  await expect(unprepared).rejects.toThrow('no memory for a copy');
  expect(lost).toEqual([]);
  expect(await threadOfJob()).toBe(thread);
});

test('jobs one after another use one thread, so that the other may end', async () => {
  open(NEVER_MS, 2);
  const both = await Promise.all([threadOfJob(), threadOfJob()]);
  expect(new Set(both).size).toBe(2);
  const later = [await threadOfJob(), await threadOfJob(), await threadOfJob()];
  expect(new Set(later).size).toBe(1);
  expect(pool.running).toBe(2);
});

test('clients take turns: a job does not wait for all jobs that another client sent before', async () => {
  open(NEVER_MS, 1);
  const begun: string[] = [];
  const run = async (client: string, name: string) =>
    pool.run(client, () => {
      begun.push(name);
      return { value: name, transferList: [] };
    });
  await Promise.all([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1')]);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('a job for which no thread starts rejects, and no thread counts as lost to it; the next job runs', async () => {
  open(NEVER_MS, 1);
  rmSync(script); // an operator replaces the files of the release
  await expect(threadOfJob()).rejects.toThrow('a worker thread did not start');
  expect(lost).toEqual([]);
  writeFileSync(script, SCRIPT);
  expect(await threadOfJob()).toEqual(expect.any(Number));
});
