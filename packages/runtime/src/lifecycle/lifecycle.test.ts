import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { LogFields, Logger } from '../logging/logger.ts';
import { Lifecycle, settleHeap } from './lifecycle.ts';
import type { ProcessControl, StopSignal } from './process-control.ts';

/** A process whose signals the test sends and whose exit is only recorded. */
class FakeProcess implements ProcessControl {
  readonly complaints: string[] = [];
  readonly exitCodes: number[] = [];
  readonly exited: Promise<number>;
  readonly #events = new EventEmitter();

  constructor() {
    this.exited = new Promise((resolve) => this.#events.once('exit', resolve));
  }

  onSignal(listener: (signal: StopSignal) => void): void {
    this.#events.on('signal', listener);
  }

  onFatal(listener: (error: unknown) => void): void {
    this.#events.on('fatal', listener);
  }

  complain(line: string): void {
    this.complaints.push(line);
  }

  exit(code: number): void {
    this.exitCodes.push(code);
    this.#events.emit('exit', code);
  }

  signal(signal: StopSignal): void {
    this.#events.emit('signal', signal);
  }

  fail(error: unknown): void {
    this.#events.emit('fatal', error);
  }
}

class ListLogger implements Logger {
  readonly lines: string[] = [];

  debug(msg: string, fields?: LogFields): void {
    this.#add('debug', msg, fields);
  }

  info(msg: string, fields?: LogFields): void {
    this.#add('info', msg, fields);
  }

  warn(msg: string, fields?: LogFields): void {
    this.#add('warn', msg, fields);
  }

  error(msg: string, fields?: LogFields): void {
    this.#add('error', msg, fields);
  }

  #add(level: string, msg: string, fields: LogFields = {}): void {
    const part = typeof fields['part'] === 'string' ? ` (${fields['part']})` : '';
    this.lines.push(`${level}: ${msg}${part}`);
  }
}

let control: FakeProcess;
let logger: ListLogger;
let steps: string[];

beforeEach(() => {
  control = new FakeProcess();
  logger = new ListLogger();
  steps = [];
});

const forever = () => new Promise<never>(() => undefined);
const lifecycle = (deadlineMs = 5000) => new Lifecycle({ logger, deadlineMs, control });
const recorded = (name: string) => ({
  start: async () => void steps.push(`start ${name}`),
  stop: async () => void steps.push(`stop ${name}`),
});

describe('a graceful stop', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s stops in reverse order and exits 0', async (signal) => {
    await lifecycle().add('a', recorded('a')).add('b', recorded('b')).add('c', recorded('c')).run();
    expect(logger.lines).toEqual(['info: started']);
    control.signal(signal);
    await expect(control.exited).resolves.toBe(0);
    expect(steps).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
    expect(logger.lines).toEqual(['info: started', 'info: stopping', 'info: stopped']);
  });

  test('a part that only starts, or only stops, keeps its place in the order', async () => {
    const { start, stop } = recorded('b');
    await lifecycle().add('a', { stop }).add('b', { start }).run();
    control.signal('SIGTERM');
    await expect(control.exited).resolves.toBe(0);
    expect(steps).toEqual(['start b', 'stop b']);
  });

  test('a part may be an object with methods of its own', async () => {
    class Server {
      #state = 'new';

      async start(): Promise<void> {
        steps.push(this.#state);
        this.#state = 'started';
      }

      async stop(): Promise<void> {
        steps.push(this.#state);
      }
    }
    await lifecycle().add('server', new Server()).run();
    control.signal('SIGTERM');
    await control.exited;
    expect(steps).toEqual(['new', 'started']);
  });

  test('a stop that hangs is cut short at the deadline; the rest still stops, and the exit is 0', async () => {
    await lifecycle(20).add('a', recorded('a')).add('redis', { stop: forever }).run();
    control.signal('SIGTERM');
    await expect(control.exited).resolves.toBe(0);
    expect(steps).toEqual(['start a', 'stop a']);
    expect(logger.lines).toContain('warn: stop cut short at the deadline (redis)');
  });

  test('each stop gets the rest of the deadline', async () => {
    const left: number[] = [];
    const remember = async (remainingMs: number) => void left.push(remainingMs);
    await lifecycle(20)
      .add('a', { stop: remember })
      .add('b', { stop: forever })
      .add('c', { stop: remember })
      .run();
    control.signal('SIGTERM');
    await control.exited;
    expect(left[0]).toBeGreaterThan(0);
    expect(left[0]).toBeLessThanOrEqual(20);
    // Not 0: a timer may fire a fraction of a millisecond early.
    expect(left[1]).toBeLessThanOrEqual(1);
  });

  test('after a failed stop, sync or async, the other parts still stop', async () => {
    const throws = () => {
      throw new Error('at once');
    };
    await lifecycle()
      .add('a', recorded('a'))
      .add('b', { stop: throws })
      .add('c', { stop: async () => Promise.reject(new Error('later')) })
      .run();
    control.signal('SIGTERM');
    await expect(control.exited).resolves.toBe(0);
    expect(steps).toContain('stop a');
    expect(logger.lines).toEqual(expect.arrayContaining(['warn: stop failed (b)', 'warn: stop failed (c)']));
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second signal (%s) exits at once with %i', async (signal, code) => {
    let release: () => void = () => undefined;
    const stop = () => new Promise<void>((resolve) => (release = resolve));
    await lifecycle().add('a', { stop }).run();
    control.signal('SIGTERM');
    control.signal(signal);
    expect(control.exitCodes).toEqual([code]);
    release();
  });

  test('a signal while a part starts begins no further part and stops that one too', async () => {
    let started: () => void = () => undefined;
    const slow = { ...recorded('b'), start: () => new Promise<void>((resolve) => (started = resolve)) };
    const running = lifecycle().add('a', recorded('a')).add('b', slow).add('c', recorded('c')).run();
    await Promise.resolve();
    control.signal('SIGTERM');
    await expect(control.exited).resolves.toBe(0);
    started();
    await running;
    expect(steps).toEqual(['start a', 'stop b', 'stop a']);
    expect(logger.lines).not.toContain('info: started');
  });

  test('a start that fails because it was stopped is no failure', async () => {
    let fail: (error: Error) => void = () => undefined;
    const start = () => new Promise<void>((_resolve, reject) => (fail = reject));
    const running = lifecycle()
      .add('a', { start, stop: async () => fail(new Error('closed')) })
      .run();
    control.signal('SIGTERM');
    await running;
    await control.exited;
    expect(control.exitCodes).toEqual([0]);
    expect(control.complaints).toEqual([]);
  });
});

test('parts that a start adds begin after those added before, and stop in their place', async () => {
  const list = lifecycle();
  await list
    .add('a', { start: async () => void list.add('c', recorded('c')) })
    .add('b', recorded('b'))
    .run();
  control.signal('SIGTERM');
  await control.exited;
  expect(steps).toEqual(['start b', 'start c', 'stop c', 'stop b']);
});

describe('a start that fails', () => {
  const refused = { start: async () => Promise.reject(new Error('connect ECONNREFUSED\n 127.0.0.1:5432')) };

  test('stops what had started, in reverse, and exits 1 with one line that names the part', async () => {
    await lifecycle()
      .add('a', recorded('a'))
      .add('b', recorded('b'))
      .add('database', refused)
      .add('d', recorded('d'))
      .run();
    expect(steps).toEqual(['start a', 'start b', 'stop b', 'stop a']);
    expect(control.complaints).toEqual([
      'postrider: cannot start database: connect ECONNREFUSED 127.0.0.1:5432',
    ]);
    expect(control.exitCodes).toEqual([1]);
    expect(logger.lines).toContain('error: start failed (database)');
  });

  test('hides the password in the address that it could not reach', async () => {
    const start = async () => Promise.reject(new Error('no answer from redis://:hunter2@r:6379'));
    await lifecycle().add('redis', { start }).run();
    expect(control.complaints).toEqual(['postrider: cannot start redis: no answer from redis://:***@r:6379']);
  });

  test('gives the reason even when Node’s error has no message', async () => {
    const error = new AggregateError(
      [new Error('connect ECONNREFUSED ::1:5432'), new Error('and 127.0.0.1')],
      '',
    );
    await lifecycle()
      .add('database', { start: async () => Promise.reject(error) })
      .run();
    expect(control.complaints).toEqual([
      'postrider: cannot start database: connect ECONNREFUSED ::1:5432; and 127.0.0.1',
    ]);
  });
});

test('an uncaught exception is logged, stops gracefully and exits 1', async () => {
  await lifecycle().add('a', recorded('a')).run();
  control.fail(new Error('boom'));
  control.fail(new Error('again, while stopping'));
  await expect(control.exited).resolves.toBe(1);
  expect(steps).toEqual(['start a', 'stop a']);
  expect(control.exitCodes).toEqual([1]);
  expect(logger.lines.filter((line) => line === 'error: an exception that nobody caught')).toHaveLength(2);
});

describe('a signal while the process already stops for another reason', () => {
  /** The second signal must end the process at once, the first one must not. */
  function expectSecondToEnd(): void {
    control.signal('SIGTERM');
    expect(control.exitCodes).toEqual([]);
    control.signal('SIGTERM');
    expect(control.exitCodes).toEqual([143]);
  }

  test('lets it drain after an uncaught exception', async () => {
    await lifecycle().add('a', { stop: forever }).run();
    control.fail(new Error('boom'));
    expectSecondToEnd();
  });

  test('lets it drain after a failed start', async () => {
    const stopping = new Promise<void>((begin) => {
      const slow = { stop: () => (begin(), forever()) };
      const refused = { start: async () => Promise.reject(new Error('refused')) };
      void lifecycle().add('a', slow).add('b', refused).run();
    });
    await stopping;
    expectSecondToEnd();
  });

  test('leaves the exit code at 1', async () => {
    await lifecycle().add('a', recorded('a')).run();
    control.fail(new Error('boom'));
    control.signal('SIGTERM');
    await expect(control.exited).resolves.toBe(1);
    expect(steps).toEqual(['start a', 'stop a']);
    expect(control.exitCodes).toEqual([1]);
  });
});

test('a start settles the heap', async () => {
  const garbage = letGo();
  await new Promise(setImmediate); // as below
  await lifecycle().run();
  expect(garbage.deref()).toBeUndefined();
});

/** A separate function, so that no reference stays on the stack. */
function letGo(): WeakRef<object> {
  return new WeakRef({ garbage: true });
}

test('the heap is settled: it collects objects without references', async () => {
  const garbage = letGo();
  await new Promise(setImmediate); // a new WeakRef keeps its target until the end of the current task
  await settleHeap();
  expect(garbage.deref()).toBeUndefined();
});
