import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { reconnectOnError, watchRedis } from './redis-watch.ts';

const NOT_CONNECTED = new Error("Stream isn't writeable and enableOfflineQueue options is false");

let lines: unknown[];
/** Undefined: the counter has no sample. */
let counted: number | undefined;
let checks: number;
/** The error of each check, or null. */
let refusal: Error | null;
/** Each check waits for it. */
let answered: Promise<void>;
let watch: ReturnType<typeof watchRedis>;

const elapse = async (ms: number) => jest.advanceTimersByTimeAsync(ms);

beforeEach(async () => {
  jest.useFakeTimers();
  lines = [];
  counted = undefined;
  checks = 0;
  refusal = null;
  answered = Promise.resolve();
  watch = watchRedis({
    client: 'queue',
    async check() {
      checks += 1;
      await answered;
      if (refusal !== null) throw refusal;
    },
    logger: {
      debug: () => undefined,
      info: (msg) => void lines.push(msg),
      warn: (msg, fields) => void lines.push([msg, fields?.['reason']]),
    },
    errors: { inc: (_labels, by = 1) => void (counted = (counted ?? 0) + Number(by)) },
  });
  await watch.start();
});
afterEach(async () => {
  await watch.stop();
  jest.useRealTimers();
});

test('it counts 0 before the first error, so an alert sees that one', () => {
  expect(counted).toBe(0);
});

test('a client that is still connecting is no outage, unless it takes 5 s', async () => {
  refusal = NOT_CONNECTED;
  await elapse(5_000); // the next check
  await elapse(4_900);
  expect(lines).toEqual([]);
  await elapse(1_100);
  expect(lines).toEqual([['redis error', NOT_CONNECTED.message]]);
  expect(watch.isFailing()).toBe(true);
});

test('an error of the client is one line with its words, and each error is counted', async () => {
  refusal = NOT_CONNECTED;
  for (let n = 0; n < 10; n += 1) {
    watch.onError(new Error('WRONGPASS'));
    for (const saysNoReason of [
      'Connection is closed.',
      'Reached the max retries per request limit',
      NOT_CONNECTED.message,
    ])
      watch.onError(new Error(saysNoReason));
    await elapse(2_000);
  }
  expect(lines).toEqual([['redis error', 'WRONGPASS']]);
  expect(counted).toBe(40);
});

test('a Redis that answers and refuses is one line with its words, and each check counts after 5 s', async () => {
  refusal = new Error("OOM command not allowed when used memory > 'maxmemory'");
  await elapse(5_000); // the next check
  await elapse(4_900);
  expect(counted).toBe(0);
  await elapse(3_000);
  expect(lines).toEqual([['redis error', refusal.message]]);
  expect(counted).toBe(3);
});

test('it works again when no error came for 5 s and a check succeeds', async () => {
  watch.onError(new Error('NOPERM'));
  await elapse(4_900);
  expect(lines).toEqual([['redis error', 'NOPERM']]);
  await elapse(1_100);
  expect(lines).toEqual([['redis error', 'NOPERM'], 'redis works again']);
  expect(watch.isFailing()).toBe(false);
});

test('a check that never ends delays no stop', async () => {
  answered = new Promise(() => undefined);
  await elapse(5_000); // the next check
  const stopped = watch.stop().then(() => 'stopped');
  expect(await Promise.race([stopped, elapse(60_000)])).toBe('stopped');
});

test('it asks every 5 s while all is well, and every second during an outage', async () => {
  await elapse(20_000);
  expect(checks).toBe(5);
  refusal = NOT_CONNECTED;
  await elapse(5_000);
  expect(checks).toBe(6);
  await elapse(4_000);
  expect(checks).toBe(10);
});

test.each([
  "READONLY You can't write against a read only replica.",
  'LOADING Redis is loading the dataset in memory',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'NOREPLICAS Not enough good replicas to write.',
  'MISCONF Redis is configured to save RDB snapshots',
  'ERR Error running script: READONLY You can',
])('a client connects again after %s', (message) => {
  expect(reconnectOnError(new Error(message))).toBe(true);
});

test('a client keeps its connection after another refusal', () => {
  expect(reconnectOnError(new Error("OOM command not allowed when used memory > 'maxmemory'."))).toBe(false);
});
