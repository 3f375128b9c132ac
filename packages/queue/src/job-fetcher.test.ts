import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import type { Job } from 'bullmq';
import { JobFetcher } from './job-fetcher.ts';
import type { JobSource } from './job-fetcher.ts';

/** BullMQ rejects with such an error when a job is gone. */
const GONE = Object.assign(new Error('Missing key for job'), { code: -1 });

/** A queue that the test controls. A job carries one number, or several: then the first names the job. */
class FakeQueue implements JobSource {
  readonly waiting: (number | number[])[] = [];
  readonly ended: number[] = [];
  readonly returned: number[] = [];
  /** Fetches in flight. */
  fetches = 0;
  /** The highest number of fetches in flight so far. */
  fetchesMax = 0;
  #wake: (() => void)[] = [];
  #fault: Error | null = null;

  /** The queue's answer to a completion. */
  end: (n: number) => Promise<void> = async (n) => void this.ended.push(n);

  add(...jobs: (number | number[])[]): void {
    this.waiting.push(...jobs);
    this.wake();
  }

  wake(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Fails every fetch that waits. */
  breakFetches(fault: Error): void {
    this.#fault = fault;
    this.wake();
  }

  async getNextJob(): Promise<Job | undefined> {
    this.fetches += 1;
    this.fetchesMax = Math.max(this.fetchesMax, this.fetches);
    if (this.waiting.length === 0) await new Promise<void>((resolve) => this.#wake.push(resolve));
    else await Promise.resolve();
    this.fetches -= 1;
    if (this.#fault !== null) throw this.#fault;
    const data = this.waiting.shift();
    return data === undefined ? undefined : this.#job(data);
  }

  #job(data: number | number[]): Job {
    const n = nameOf(data);
    const job = {
      data,
      moveToCompleted: () => this.end(n),
      moveToWait: async () => void this.returned.push(n),
    };
    return job as unknown as Job;
  }
}

function nameOf(data: number | number[]): number {
  return [data].flat()[0] ?? 0;
}

/** The largest batch: 16 numbers, from `first` on. */
function full(first: number): number[] {
  return Array.from({ length: 16 }, (_, n) => first + n);
}

let queue: FakeQueue;
let stop: AbortController;
let errors: Error[];
let begun: number[];
let endWork: Map<number, () => void>;
let run: Promise<void>;
let fetcher: JobFetcher;
let mayFetch: boolean;

beforeEach(() => {
  queue = new FakeQueue();
  stop = new AbortController();
  errors = [];
  begun = [];
  endWork = new Map();
  mayFetch = true;
});
afterEach(async () => {
  stop.abort();
  queue.wake();
  await run;
});

function start(jobsMax: number): void {
  fetcher = new JobFetcher({
    jobsMax,
    mayFetch: () => mayFetch,
    stopped: stop.signal,
    onError: (error) => errors.push(error),
    start(data) {
      const pieces = [data as number | number[]].flat();
      begun.push(...pieces);
      return pieces.map((n) => new Promise<void>((resolve) => endWork.set(n, resolve)));
    },
  });
  run = fetcher.run(queue);
}

const until = (isTrue: () => boolean, what: string) => waitFor(isTrue, { what, intervalMs: 1 });

describe('a job fetcher', () => {
  test('fetches four at once while every answer brings a job', async () => {
    queue.add(...Array.from({ length: 140 }, (_, n) => n));
    start(100);
    await until(() => begun.length === 100, 'all slots to be in use');
    expect(queue.fetchesMax).toBe(4);
    expect(queue.waiting).toHaveLength(40);
  });

  test('fetches fewer at once when few slots are free', async () => {
    queue.add(...Array.from({ length: 40 }, (_, n) => n));
    start(21);
    await until(() => begun.length === 21, 'all slots to be in use');
    expect(queue.fetchesMax).toBe(2);
    expect(queue.waiting).toHaveLength(19);
  });

  test('fetches one at a time while the queue is empty', async () => {
    start(64);
    await until(() => queue.fetches === 1, 'the first fetch');
    queue.wake();
    await until(() => queue.fetches === 1, 'the next fetch');
    expect(queue.fetchesMax).toBe(1);
  });

  test('fetches nothing while it may not, and returns the job that a waiting fetch brings', async () => {
    start(64);
    await until(() => queue.fetches === 1, 'the first fetch');
    mayFetch = false;
    queue.add(1);
    await until(() => queue.returned.length === 1, 'the job to be returned');
    queue.add(2);
    expect(queue).toMatchObject({ fetches: 0, returned: [1], waiting: [2] });
    mayFetch = true;
    await until(() => begun.length === 1, 'the next job');
    expect(begun).toEqual([2]);
  });

  test('fetches one at a time after a single job', async () => {
    start(64);
    for (const n of [0, 1, 2]) {
      await until(() => queue.fetches === 1, 'the next fetch');
      queue.add(n);
      await until(() => begun.length === n + 1, 'the work to begin');
      endWork.get(n)?.();
      await until(() => queue.fetches > 0, 'the fetch after it');
      queue.wake(); // an empty answer: BullMQ gives one before it waits
    }
    expect(queue.fetchesMax).toBe(1);
  });

  test('fetches again at once after two empty answers, as BullMQ gives them after a job', async () => {
    const getNextJob = queue.getNextJob.bind(queue);
    let fetches = 0;
    queue.getNextJob = async () => {
      fetches += 1;
      return fetches <= 2 ? undefined : getNextJob();
    };
    start(1);
    for (let n = 0; n < 10; n += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(fetches).toBe(3);
  });

  test('paces fetches when the queue answers at once', async () => {
    let fetches = 0;
    queue.getNextJob = async () => {
      fetches += 1;
      return undefined;
    };
    start(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(fetches).toBeLessThan(1_000);
  });

  test('continues after failed fetches, with one pause for all of them', async () => {
    queue.add(1, 2);
    const getNextJob = queue.getNextJob.bind(queue);
    let failures = 0;
    queue.getNextJob = async () => {
      if (failures === 1) return getNextJob();
      failures += 1;
      throw new Error('connection lost');
    };
    start(4);
    await until(() => begun.length === 2, 'both jobs');
    expect(errors.map(({ message }) => message)).toEqual(['connection lost']);
  });

  test('pauses after a failed fetch', async () => {
    queue.getNextJob = async () => {
      throw new Error('connection lost');
    };
    start(4);
    await new Promise((resolve) => setImmediate(resolve)); // without a pause, several fetches have failed
    expect(errors).toHaveLength(1);
  });

  test('reports a job that it cannot complete, and goes on', async () => {
    const fault = Object.assign(new Error('terminating connection'), { code: '57P01' });
    queue.end = async () => {
      throw fault;
    };
    queue.add(1, 2);
    start(1);
    await until(() => begun.length === 1, 'the first');
    endWork.get(1)?.();
    await until(() => begun.length === 2, 'the second');
    expect(errors).toEqual([fault]);
  });

  test('frees the slot at once when the queue no longer knows the job', async () => {
    queue.end = async () => {
      throw GONE;
    };
    queue.add(1, 2);
    start(1);
    await until(() => begun.length === 1, 'the first');
    endWork.get(1)?.();
    await until(() => begun.length === 2, 'the second');
    expect(errors).toEqual([]);
  });
});

describe('a batch', () => {
  test('takes a slot per job, and frees each when its job ends', async () => {
    queue.add([1, 2, 3], [4], [5], [6]);
    start(3);
    await until(() => begun.length === 3, 'the first job');
    endWork.get(2)?.();
    await until(() => begun.length === 4, 'one in the free slot');
    endWork.get(1)?.();
    await until(() => begun.length === 5, 'one in the next');
    for (let n = 0; n < 10; n += 1) await new Promise((resolve) => setImmediate(resolve));
    expect([begun, queue.ended]).toEqual([[1, 2, 3, 4, 5], []]);
  });

  test('is completed when its last job ends', async () => {
    queue.add([1, 2], [3]);
    start(2);
    await until(() => begun.length === 2, 'the job');
    endWork.get(2)?.();
    endWork.get(1)?.();
    await until(() => begun.length === 3, 'the next one');
    expect(queue.ended).toEqual([1]);
  });

  test('may exceed the slots by one batch', async () => {
    queue.add(...Array.from({ length: 40 }, (_, n) => [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3]));
    start(21);
    await until(() => begun.length >= 21, 'all slots to be in use');
    for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toHaveLength(24);
    for (const n of begun.slice()) endWork.get(n)?.();
    await until(() => begun.length >= 45, 'all slots to be in use again');
    for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toHaveLength(48);
  });
});

test.each([16, 24, 100])(
  'with %d slots, batches and lone jobs never exceed them by a batch',
  async (slots) => {
    const jobs = Array.from({ length: 200 }, (_, n) => 1_000 * (n + 1)).flatMap((first) => [
      ...Array.from({ length: first % 3_000 === 0 ? 20 : 1 }, (_, n) => first + n),
      full(first + 100),
    ]);
    queue.add(...jobs);
    let inFlight = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    fetcher = new JobFetcher({
      jobsMax: slots,
      mayFetch: () => true,
      stopped: stop.signal,
      onError: (error) => errors.push(error),
      start(data) {
        const pieces = [data as number | number[]].flat();
        begun.push(...pieces);
        inFlight += pieces.length;
        most = Math.max(most, inFlight);
        return pieces.map(() =>
          new Promise<void>((resolve) => ends.push(resolve)).then(() => {
            inFlight -= 1;
          }),
        );
      },
    });
    run = fetcher.run(queue);
    const endSome = () => {
      for (const end of ends.splice(0, 1 + ends.length / 2)) end();
      return begun.length >= jobs.flat().length;
    };
    await waitFor(endSome, { what: 'all work to begin', intervalMs: 1 });
    for (const end of ends) end();
    expect(most).toBeGreaterThanOrEqual(slots);
    expect(most).toBeLessThan(slots + 16);
    expect(begun).toEqual(jobs.flat());
    expect([queue.returned, errors]).toEqual([[], []]);
  },
);

describe('a stopped job fetcher', () => {
  test('has handled its jobs although they cannot be completed', async () => {
    queue.end = () => new Promise(() => undefined);
    queue.add(1);
    start(2);
    await until(() => begun.length === 1, 'the job');
    stop.abort();
    let ended = false;
    void fetcher.untilCompleted().then(() => (ended = true));
    endWork.get(1)?.();
    await fetcher.untilHandled();
    expect(ended).toBe(false);
  });

  test('reports no error, and tries nothing again, when the queue is already gone', async () => {
    let tries = 0;
    queue.end = async () => {
      tries += 1;
      throw new Error('Connection is closed.');
    };
    queue.add(1);
    start(2);
    await until(() => begun.length === 1 && queue.fetches === 1, 'the job, and the next fetch');
    stop.abort();
    queue.breakFetches(new Error('Connection is closed.'));
    endWork.get(1)?.();
    await run;
    await fetcher.untilCompleted();
    expect([tries, errors]).toEqual([1, []]);
  });

  test('returns a job that was being fetched', async () => {
    start(1);
    await until(() => queue.fetches === 1, 'a fetch');
    stop.abort();
    queue.add(7);
    await run;
    expect([begun, queue.returned]).toEqual([[], [7]]);
  });
});
