import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { periodicTask } from './periodic-task.ts';
import type { NoWork, PeriodicTask } from './periodic-task.ts';

const PAUSE_MS = 60_000;
/** After a run that fails or names no pause. */
const OWN_PAUSE_MS = 500;

/** Each failed run with its `again`, and each recovery. */
let reports: unknown[];
let runs: number;
/** The results of the next runs. Later runs resolve to a pause of a minute. */
let results: (number | undefined | NoWork | Error | Promise<number>)[];
let task: PeriodicTask;

/** Moves the fake timers; promises settle by themselves. */
const elapse = async (ms: number) => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers();
  reports = [];
  runs = 0;
  results = [];
  task = periodicTask({
    run,
    pauseMs: OWN_PAUSE_MS,
    onError: (error, again) => reports.push({ error, again }),
    onRecovery: () => reports.push('recovered'),
  });
});
afterEach(async () => {
  await task.stop();
  jest.useRealTimers();
});

async function run(): Promise<number | NoWork | undefined> {
  runs += 1;
  if (runs > results.length) return PAUSE_MS;
  const result = results[runs - 1];
  if (result instanceof Error) throw result;
  return result;
}

/** A run that lasts until the test calls `end` or `fail`. */
function longRun() {
  let end: (pauseMs: number) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const running = new Promise<number>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { running, end, fail };
}

describe('a periodic task', () => {
  test('does nothing before it is started', async () => {
    task.wake();
    await elapse(PAUSE_MS);
    expect(runs).toBe(0);
  });

  test('runs at once, and again after the pause that the run asked for', async () => {
    results = [100, 200];
    task.start();
    expect(runs).toBe(1);
    await elapse(99);
    expect(runs).toBe(1);
    await elapse(1);
    expect(runs).toBe(2);
    await elapse(200);
    expect(runs).toBe(3);
  });

  test('has one timer at most, however often it is woken', async () => {
    task.start();
    for (let count = 0; count < 3; count += 1) {
      await elapse(1);
      task.wake();
    }
    await elapse(1);
    expect(runs).toBe(4);
    expect(jest.getTimerCount()).toBe(1);
  });

  test('pauses for `pauseMs` after a run that names no pause', async () => {
    results = [undefined];
    task.start();
    await elapse(OWN_PAUSE_MS - 1);
    expect(runs).toBe(1);
    await elapse(1);
    expect(runs).toBe(2);
  });

  test('woken in a pause runs at once, and only once', async () => {
    task.start();
    await elapse(0);
    task.wake();
    task.wake();
    await elapse(0);
    expect(runs).toBe(2);
    await elapse(PAUSE_MS - 1);
    expect(runs).toBe(2);
  });

  test('woken during a run runs again right after it: the wake-up may be too late for that run', async () => {
    const long = longRun();
    results = [long.running];
    task.start();
    task.wake();
    expect(runs).toBe(1);
    long.end(PAUSE_MS);
    await elapse(0);
    expect(runs).toBe(2);
    await elapse(PAUSE_MS - 1);
    expect(runs).toBe(2);
  });

  test('never has two runs at a time', async () => {
    const long = longRun();
    results = [long.running];
    task.start();
    for (let n = 0; n < 5; n += 1) {
      task.wake();
      await elapse(PAUSE_MS);
    }
    expect(runs).toBe(1);
    long.end(PAUSE_MS);
  });
});

describe('a run that fails', () => {
  test('is followed by a pause that no wake-up cuts short', async () => {
    results = [new Error('away')];
    task.start();
    await elapse(1);
    task.wake();
    await elapse(OWN_PAUSE_MS - 2);
    expect(runs).toBe(1);
    await elapse(1);
    expect(runs).toBe(2);
  });

  test('is followed by that pause also when the wake-up came during the run', async () => {
    const long = longRun();
    results = [long.running];
    task.start();
    task.wake();
    long.fail(new Error('away'));
    await elapse(OWN_PAUSE_MS - 1);
    expect(runs).toBe(1);
    await elapse(1);
    expect(runs).toBe(2);
  });

  test('says whether the run before failed, too; the next success is a recovery', async () => {
    const error = new Error('away');
    results = [error, error, error, 10, error];
    task.start();
    await elapse(5 * OWN_PAUSE_MS);
    expect(reports).toEqual([
      { error, again: false },
      { error, again: true },
      { error, again: true },
      'recovered',
      { error, again: false },
      'recovered',
    ]);
  });
});

describe('a run that found no work', () => {
  test('is followed by its pause, and is no recovery after a failure', async () => {
    const error = new Error('away');
    results = [error, { noWorkForMs: 10 }, error, { noWorkForMs: 20 }, 30];
    task.start();
    await elapse(2 * OWN_PAUSE_MS + 10 + 19);
    expect(runs).toBe(4);
    expect(reports).toEqual([
      { error, again: false },
      { error, again: true },
    ]);
    await elapse(1);
    expect(reports.slice(2)).toEqual(['recovered']);
  });

  test('after a failure is followed by a pause that a wake-up cuts short', async () => {
    results = [new Error('away'), { noWorkForMs: PAUSE_MS }];
    task.start();
    await elapse(OWN_PAUSE_MS);
    expect(runs).toBe(2);
    task.wake();
    await elapse(0);
    expect(runs).toBe(3);
  });
});

describe('stop', () => {
  test('in a pause ends it: no further run, also when woken', async () => {
    task.start();
    await elapse(0);
    await task.stop();
    task.wake();
    await elapse(PAUSE_MS);
    expect(runs).toBe(1);
  });

  test('in the pause after a failure ends it, too', async () => {
    results = [new Error('away')];
    task.start();
    await elapse(0);
    await task.stop();
    expect(runs).toBe(1);
  });

  test('during a run waits for its end', async () => {
    const long = longRun();
    results = [long.running];
    task.start();
    const order: string[] = [];
    const stopped = task.stop().then(() => order.push('stopped'));
    await elapse(1_000);
    order.push('run ends');
    long.end(PAUSE_MS);
    await stopped;
    expect(order).toEqual(['run ends', 'stopped']);
    expect(runs).toBe(1);
  });

  test('with a time limit does not wait for a run that hangs', async () => {
    const long = longRun();
    results = [long.running];
    task.start();
    let stopped = false;
    void task.stop(5_000).then(() => (stopped = true));
    await elapse(4_999);
    expect(stopped).toBe(false);
    await elapse(1);
    expect(stopped).toBe(true);
    long.end(PAUSE_MS);
  });
});
