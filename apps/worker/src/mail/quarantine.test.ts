import { beforeEach, describe, expect, test } from '@jest/globals';
import { quarantineFaulty } from './quarantine.ts';

interface TestJob {
  readonly name: string;
  readonly faults?: number;
}

let started: string[];
let ends: Map<string, (error?: Error) => void>;
let handle: (job: TestJob) => Promise<void>;

beforeEach(() => {
  [started, ends] = [[], new Map<string, never>()];
  handle = quarantineFaulty(
    ({ name }) =>
      new Promise((resolve, reject) => {
        started.push(name);
        ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
      }),
  );
});

/** Adds jobs in this order. @returns what started. */
async function add(...jobs: TestJob[]): Promise<string> {
  for (const job of jobs) handle(job).catch(() => undefined);
  return startedBy();
}

async function end(name: string, error?: Error): Promise<string> {
  ends.get(name)?.(error);
  return startedBy();
}

async function startedBy(): Promise<string> {
  await new Promise((resolve) => setImmediate(resolve)); // lets the resolved promises run
  return started.join(' ');
}

describe('a message with two faults', () => {
  const faulty = { name: 'faulty', faults: 2 };

  test('starts after all earlier messages, and before any later one', async () => {
    expect(await add({ name: 'a' }, { name: 'b', faults: 1 }, faulty, { name: 'c' })).toBe('a b');
    expect(await end('a')).toBe('a b');
    expect(await end('b')).toBe('a b faulty');
    expect(await end('faulty')).toBe('a b faulty c');
  });

  test('runs beside no other one', async () => {
    expect(await add(faulty, { name: 'more faulty', faults: 7 })).toBe('faulty');
    expect(await end('faulty')).toBe('faulty more faulty');
  });

  test('holds up nobody when it fails, or when an earlier one does', async () => {
    await add({ name: 'a' }, faulty, { name: 'b' });
    expect(await end('a', new Error('a bug'))).toBe('a faulty');
    expect(await end('faulty', new Error('a bug'))).toBe('a faulty b');
  });
});

test('the fault of a message reaches its caller', async () => {
  const handled = expect(handle({ name: 'a' })).rejects.toThrow('a bug');
  await startedBy();
  await end('a', new Error('a bug'));
  await handled;
});
