import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { keepingLogger } from '../test/log-lines.ts';
import type { LoggedLine } from '../test/log-lines.ts';
import { createPacemaker } from './pacemaker.ts';
import type { Pacemaker } from './pacemaker.ts';

const PAUSE_MS = 60_000;
const PAUSE_AFTER_ERROR_MS = 500;

let lines: LoggedLine[];
let turns: number;
/** What the next turns come to; past the end: a pause of a minute. */
let results: (number | Error | Promise<number>)[];
let pacemaker: Pacemaker;

/** Timers stand still until they are told; promises run on. */
const elapse = async (ms: number) => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  turns = 0;
  results = [];
  pacemaker = createPacemaker({
    name: 'a pass',
    turn,
    pauseAfterErrorMs: PAUSE_AFTER_ERROR_MS,
    logger: keepingLogger(lines),
  });
});
afterEach(async () => {
  await pacemaker.stop();
  jest.useRealTimers();
});

async function turn(): Promise<number> {
  turns += 1;
  const result = results[turns - 1] ?? PAUSE_MS;
  if (result instanceof Error) throw result;
  return result;
}

/** A turn that lasts until it is told how it ends. */
function longTurn() {
  let end: (pauseMs: number) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const running = new Promise<number>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { running, end, fail };
}

describe('a pacemaker', () => {
  test('does nothing before it is started', async () => {
    pacemaker.wake();
    await elapse(PAUSE_MS);
    expect(turns).toBe(0);
  });

  test('makes a turn at once, and the next after the pause the turn asked for', async () => {
    results = [100, 200];
    pacemaker.start();
    expect(turns).toBe(1);
    await elapse(99);
    expect(turns).toBe(1);
    await elapse(1);
    expect(turns).toBe(2);
    await elapse(200);
    expect(turns).toBe(3);
  });

  test('woken in a pause makes the next turn at once, and only one', async () => {
    pacemaker.start();
    await elapse(0);
    pacemaker.wake();
    pacemaker.wake();
    await elapse(0);
    expect(turns).toBe(2);
    await elapse(PAUSE_MS - 1);
    expect(turns).toBe(2);
  });

  test('woken during a turn makes another right after it: the news may have come too late for that one', async () => {
    const long = longTurn();
    results = [long.running];
    pacemaker.start();
    pacemaker.wake();
    expect(turns).toBe(1);
    long.end(PAUSE_MS);
    await elapse(0);
    expect(turns).toBe(2);
    await elapse(PAUSE_MS - 1);
    expect(turns).toBe(2);
  });

  test('never makes two turns at a time', async () => {
    const long = longTurn();
    results = [long.running];
    pacemaker.start();
    for (let n = 0; n < 5; n += 1) {
      pacemaker.wake();
      await elapse(PAUSE_MS);
    }
    expect(turns).toBe(1);
    long.end(PAUSE_MS);
  });
});

describe('a turn that fails', () => {
  test('is followed by a pause that no wake-up cuts short', async () => {
    results = [new Error('away')];
    pacemaker.start();
    await elapse(1);
    pacemaker.wake();
    await elapse(PAUSE_AFTER_ERROR_MS - 2);
    expect(turns).toBe(1);
    await elapse(1);
    expect(turns).toBe(2);
  });

  test('is followed by that pause also when the wake-up came during the turn', async () => {
    const long = longTurn();
    results = [long.running];
    pacemaker.start();
    pacemaker.wake();
    long.fail(new Error('away'));
    await elapse(PAUSE_AFTER_ERROR_MS - 1);
    expect(turns).toBe(1);
    await elapse(1);
    expect(turns).toBe(2);
  });

  test('is told once an outage, and so is the recovery', async () => {
    const error = new Error('away');
    results = [error, error, error, 10, error];
    pacemaker.start();
    await elapse(5 * PAUSE_AFTER_ERROR_MS);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ['warn', 'pass failed'],
      ['debug', 'pass failed again'],
      ['debug', 'pass failed again'],
      ['info', 'pass recovered'],
      ['warn', 'pass failed'],
      ['info', 'pass recovered'],
    ]);
    expect(lines[0]?.fields).toEqual({ pass: 'a pass', error });
  });
});

describe('stop', () => {
  test('in a pause ends it: no further turn, also when woken', async () => {
    pacemaker.start();
    await elapse(0);
    await pacemaker.stop();
    pacemaker.wake();
    await elapse(PAUSE_MS);
    expect(turns).toBe(1);
  });

  test('in the pause after a failure ends it, too', async () => {
    results = [new Error('away')];
    pacemaker.start();
    await elapse(0);
    await pacemaker.stop();
    expect(turns).toBe(1);
  });

  test('during a turn waits for its end', async () => {
    const long = longTurn();
    results = [long.running];
    pacemaker.start();
    const order: string[] = [];
    const stopped = pacemaker.stop().then(() => order.push('stopped'));
    await elapse(1_000);
    order.push('turn ends');
    long.end(PAUSE_MS);
    await stopped;
    expect(order).toEqual(['turn ends', 'stopped']);
    expect(turns).toBe(1);
  });

  test('does not wait for a turn that hangs', async () => {
    const long = longTurn();
    results = [long.running];
    pacemaker.start();
    let stopped = false;
    void pacemaker.stop().then(() => (stopped = true));
    await elapse(4_999);
    expect(stopped).toBe(false);
    await elapse(1);
    expect(stopped).toBe(true);
    long.end(PAUSE_MS);
  });
});
