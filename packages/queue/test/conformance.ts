import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { Consumer } from '../src/index.ts';
import type { DeliveryJob, MailJob, QueueLocation } from '../src/index.ts';
import { jobs, openQueue, reaches } from './queue-under-test.ts';
import type { QueueUnderTest } from './queue-under-test.ts';

/** A new, empty back-end for one test. */
export interface Backend {
  readonly location: QueueLocation;
  /** Adds data to a BullMQ queue without the producer. */
  addForeign(queueName: string, jobId: string, data: object): Promise<void>;
  close(): Promise<void>;
}

/** BullMQ counts in whole milliseconds of the wall clock: it may round a job up to a millisecond early. */
const ROUNDING_MS = 2;
const EMPTY = { waiting: 0, delayed: 0 };

/** The parts of a test; new for each test. */
interface Bench {
  backend: Backend;
  queue: QueueUnderTest;
}

/** The promises that the relay and the worker rely on, on each back-end. */
export function queueConformance(openBackend: () => Promise<Backend>): void {
  const bench = {} as Bench;

  beforeEach(async () => {
    bench.backend = await openBackend();
    bench.queue = openQueue(bench.backend.location);
    await waitFor(() => bench.queue.producer.depth(), { what: 'the queue to be connected' });
  });
  afterEach(async () => {
    await bench.queue.close();
    await bench.backend.close();
  });

  describe('a job', () => {
    jobTests(bench);
    delayTests(bench);
    duplicateTests(bench);
    batchTests(bench);
  });
  describe('the producer', () => producerTests(bench));
  describe('consumers', () => {
    sharingTests(bench);
    slotTests(bench);
    startTests(bench);
    errorTests(bench);
  });
  describe('a consumer that is stopped', () => {
    stopTests(bench);
    fetchAfterStopTests(bench);
  });
}

/** Adds a job behind all others and waits until a consumer gets it. All jobs before it have been fetched. */
async function untilAllFetched(queue: QueueUnderTest, seen: readonly DeliveryJob[]): Promise<void> {
  await queue.producer.addDeliveries('fast', [{ deliveryId: '999', claim: 0, delayMs: 0 }]);
  await waitFor(() => seen.some((job) => job.deliveryId === '999'), { what: 'the last job' });
}

function jobTests(bench: Bench): void {
  test('reaches a consumer of its lane, with its id and claim only', async () => {
    const slow = bench.queue.noting({ lane: 'slow' });
    const fast = bench.queue.noting();
    await bench.queue.producer.addDeliveries('slow', [
      { deliveryId: '9007199254740993', claim: 7, delayMs: 0 },
    ]);
    await reaches(slow, 1);
    expect(slow).toEqual([{ deliveryId: '9007199254740993', claim: 7 }]);
    expect(fast).toEqual([]);
  });

  test('for a message reaches the consumer of mail', async () => {
    const seen: MailJob[] = [];
    const handle = async (job: MailJob) => void seen.push(job);
    const mail = new Consumer(bench.backend.location, 'mail', {
      concurrency: 1,
      handle,
      lockSeconds: 30,
      onError: () => undefined,
    });
    mail.start();
    await bench.queue.producer.addMail([{ emailId: 'em_1', claim: 2, delayMs: 0 }]);
    await reaches(seen, 1);
    await mail.stop(1_000);
    expect(seen).toEqual([{ emailId: 'em_1', claim: 2 }]);
  });

  test('with another claim is another job', async () => {
    await bench.queue.producer.addDeliveries('fast', [...jobs(1), ...jobs(1, { claim: 1 })]);
    const seen = bench.queue.noting();
    await reaches(seen, 2);
    expect(seen.map((job) => job.claim).sort()).toEqual([0, 1]);
  });

  test('of an expired lease is another job of the same claim', async () => {
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    for (let n = 0; n < 2; n += 1) {
      await bench.queue.producer.addDeliveries('fast', jobs(1, { leaseExpired: true }));
    }
    const seen = bench.queue.noting();
    await reaches(seen, 3);
    expect(seen).toEqual(Array(3).fill({ deliveryId: '1', claim: 0 }));
  });
}

function delayTests(bench: Bench): void {
  test.each([0.5, 250, 300.7])('with a delay of %d ms arrives, and not early', async (delayMs) => {
    const arrivedAtMs: number[] = [];
    bench.queue.consume(async () => void arrivedAtMs.push(performance.now()));
    const addedAtMs = performance.now();
    await bench.queue.producer.addDeliveries('fast', jobs(1, { delayMs }));
    await reaches(arrivedAtMs, 1);
    expect((arrivedAtMs[0] ?? 0) - addedAtMs).toBeGreaterThanOrEqual(delayMs - ROUNDING_MS);
  });

  test('with a negative delay arrives at once', async () => {
    const seen = bench.queue.noting();
    await bench.queue.producer.addDeliveries('fast', jobs(1, { delayMs: -1_500.5 }));
    await reaches(seen, 1);
  });
}

function duplicateTests(bench: Bench): void {
  test('that is added twice runs once', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const seen: DeliveryJob[] = [];
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    bench.queue.consume(
      async (job) => {
        seen.push(job);
        await opened;
      },
      { concurrency: 2 },
    );
    await reaches(seen, 1);
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await untilAllFetched(bench.queue, seen);
    open();
    expect(seen.filter((job) => job.deliveryId === '1')).toHaveLength(1);
  });

  test.each(['well', 'with a rejection'])('that ended %s can be added again', async (end) => {
    const seen: DeliveryJob[] = [];
    bench.queue.consume(async (job) => {
      seen.push(job);
      if (end !== 'well') throw new Error('the handler failed');
    });
    for (let times = 1; times <= 3; times += 1) {
      // The queue drops the same id as a duplicate until the job before is completed. So add it repeatedly.
      await waitFor(
        async () => {
          await bench.queue.producer.addDeliveries('fast', jobs(1));
          return seen.length >= times;
        },
        { what: `time ${times}` },
      );
    }
  });
}

function batchTests(bench: Bench): void {
  test('of a batch runs once, and counts in the depth while it waits', async () => {
    const all = jobs(150);
    await bench.queue.producer.addDeliveries('fast', all);
    await bench.queue.producer.addDeliveries('fast', all); // duplicates
    expect((await bench.queue.producer.depth()).fast).toEqual({ waiting: 150, delayed: 0 });
    const seen = bench.queue.noting({ concurrency: 10 });
    await reaches(seen, 150);
    await untilAllFetched(bench.queue, seen); // a duplicate would arrive before that
    const names = seen.map(({ deliveryId, claim }) => `${deliveryId} ${claim}`);
    const expected = all.map(({ deliveryId, claim }) => `${deliveryId} ${claim}`);
    expect(names.sort()).toEqual([...expected, '999 0'].sort());
  });

  test('whose handler rejects does not stop the others of its batch', async () => {
    const seen: DeliveryJob[] = [];
    bench.queue.consume(async (job) => {
      seen.push(job);
      if (job.deliveryId === '2') throw new Error('the handler failed');
    });
    await bench.queue.producer.addDeliveries('fast', jobs(3));
    await untilAllFetched(bench.queue, seen);
    expect(seen.map(({ deliveryId }) => deliveryId)).toEqual(['1', '2', '3', '999']);
  });
}

function producerTests(bench: Bench): void {
  test('a thousand jobs in one call run once each', async () => {
    await bench.queue.producer.addDeliveries('fast', jobs(1_000));
    expect((await bench.queue.producer.depth()).fast).toEqual({ waiting: 1_000, delayed: 0 });
    const seen = bench.queue.noting({ concurrency: 50 });
    await reaches(seen, 1_000);
    await waitFor(async () => (await bench.queue.producer.depth()).fast.waiting === 0, {
      what: 'the queue to be empty',
    });
    expect(new Set(seen.map((job) => job.deliveryId)).size).toBe(1_000);
    expect(seen).toHaveLength(1_000);
  });

  test('a call without jobs changes nothing', async () => {
    await bench.queue.producer.addDeliveries('fast', []);
    expect((await bench.queue.producer.depth()).fast).toEqual(EMPTY);
  });

  test('the depth counts waiting and delayed jobs per queue', async () => {
    await bench.queue.producer.addDeliveries('fast', jobs(3));
    await bench.queue.producer.addDeliveries('slow', jobs(2, { delayMs: 60_000 }));
    await bench.queue.producer.addMail([{ emailId: 'em_1', claim: 0, delayMs: 60_000 }]);
    expect(await bench.queue.producer.depth()).toEqual({
      fast: { waiting: 3, delayed: 0 },
      slow: { waiting: 0, delayed: 2 },
      mail: { waiting: 0, delayed: 1 },
    });
  });
}

function sharingTests(bench: Bench): void {
  test('share the jobs: each uses its slots, and no job runs twice', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const handled: DeliveryJob[][] = [[], []];
    for (const mine of handled) {
      const handle = async (job: DeliveryJob) => {
        mine.push(job);
        await opened;
      };
      bench.queue.consume(handle, { concurrency: 5 });
    }
    await bench.queue.producer.addDeliveries('fast', jobs(10, { alone: true }));
    await waitFor(() => handled.every((mine) => mine.length === 5), { what: 'both to use all slots' });
    open();
    expect(new Set(handled.flat().map((job) => job.deliveryId)).size).toBe(10);
  });
}

function slotTests(bench: Bench): void {
  test('never handle more single jobs than they have slots', async () => {
    // Holds the first jobs until all slots are used.
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    let inFlight = 0;
    let most = 0;
    let ended = 0;
    const handle = async () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      if (inFlight === 3) open();
      await opened;
      await new Promise((resolve) => setTimeout(resolve, 1));
      inFlight -= 1;
      ended += 1;
    };
    bench.queue.consume(handle, { concurrency: 3 });
    await bench.queue.producer.addDeliveries('fast', jobs(200, { alone: true }));
    await waitFor(() => ended === 200, { what: 'all to end' });
    expect(most).toBe(3);
  });

  test('exceed their slots by at most one batch, when single jobs and batches alternate', async () => {
    const [slots, batchSize, times] = [20, 16, 4];
    const seen: DeliveryJob[] = [];
    let inFlight = 0;
    let most = 0;
    const handle = async (job: DeliveryJob) => {
      seen.push(job);
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inFlight -= 1;
    };
    for (let time = 0; time < times; time += 1) {
      await bench.queue.producer.addDeliveries('fast', jobs(60, { claim: 2 * time, alone: true }));
      await bench.queue.producer.addDeliveries('fast', jobs(20 * batchSize, { claim: 2 * time + 1 }));
    }
    bench.queue.consume(handle, { concurrency: slots });
    await reaches(seen, times * (60 + 20 * batchSize));
    await untilAllFetched(bench.queue, seen); // a duplicate would arrive before that
    expect(most).toBeLessThan(slots + batchSize);
    expect(new Set(seen.map(({ deliveryId, claim }) => `${deliveryId} ${claim}`)).size).toBe(seen.length);
  });
}

function startTests(bench: Bench): void {
  test('start a job as soon as it arrives, while there are more to fetch', async () => {
    await bench.queue.producer.addDeliveries('fast', jobs(1_000));
    const depths: Promise<{ fast: { waiting: number } }>[] = [];
    const handle = async () => {
      if (depths.length === 0) depths.push(bench.queue.producer.depth());
    };
    bench.queue.consume(handle, { concurrency: 1_000 });
    await reaches(depths, 1);
    expect((await depths[0])?.fast.waiting).toBeGreaterThan(0);
  });
}

function errorTests(bench: Bench): void {
  test('continue after a handler that rejects, and do not repeat its job', async () => {
    const seen: DeliveryJob[] = [];
    bench.queue.consume(async (job) => {
      seen.push(job);
      if (Number(job.deliveryId) % 2 === 0) throw new Error('the handler failed');
    });
    await bench.queue.producer.addDeliveries('fast', jobs(20));
    await untilAllFetched(bench.queue, seen);
    expect(seen).toHaveLength(21);
  });

  test('ignore data that is not a job', async () => {
    const nonsense = [
      {},
      { deliveryId: 1, claim: 0 },
      { deliveryId: '1; drop', claim: 0 },
      { deliveryId: '1' },
      { jobs: [{ deliveryId: '1' }] },
    ];
    for (const [index, data] of nonsense.entries()) {
      await bench.backend.addForeign('deliveries-fast', `foreign-${index}`, data);
    }
    const seen = bench.queue.noting();
    await untilAllFetched(bench.queue, seen);
    expect(seen).toEqual([{ deliveryId: '999', claim: 0 }]);
  });

  test('lose and repeat no delayed job: 600 over two consumers', async () => {
    const handled = [bench.queue.noting({ concurrency: 8 }), bench.queue.noting({ concurrency: 8 })];
    const delayed = jobs(600).map((job, index) => ({ ...job, delayMs: (index * 1.37) % 1_000 }));
    for (let first = 0; first < 600; first += 100) {
      await bench.queue.producer.addDeliveries('fast', delayed.slice(first, first + 100));
    }
    await waitFor(() => handled.flat().length >= 600, { what: 'all to arrive' });
    await waitFor(async () => (await bench.queue.producer.depth()).fast.waiting === 0, {
      what: 'nothing to wait',
    });
    expect(new Set(handled.flat().map((job) => job.deliveryId)).size).toBe(600);
    expect(handled.flat()).toHaveLength(600);
  });
}

function stopTests(bench: Bench): void {
  test('waits for its running jobs, and completes them', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const steps: string[] = [];
    const consumer = bench.queue.consume(async () => {
      steps.push('begun');
      await opened;
      steps.push('ended');
    });
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await reaches(steps, 1);
    const stopped = consumer.stop(20_000).then(() => steps.push('stopped'));
    const other = bench.queue.noting();
    await untilAllFetched(bench.queue, other); // a stop that does not wait would have returned by now
    open();
    await stopped;
    expect(steps).toEqual(['begun', 'ended', 'stopped']);
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await reaches(other, 2);
  });

  test('returns at the deadline while a handler continues', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    let begun = false;
    let ended = false;
    const consumer = bench.queue.consume(async () => {
      begun = true;
      await opened;
      ended = true;
    });
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await waitFor(() => begun, { what: 'the job' });
    await consumer.stop(50);
    expect(ended).toBe(false);
    open();
    await waitFor(() => ended, { what: 'the handler to end' });
  });
}

function fetchAfterStopTests(bench: Bench): void {
  test('leaves an uncompleted job to another consumer when its lock expires', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    let begun = false;
    const consumer = bench.queue.consume(
      async () => {
        begun = true;
        await opened;
      },
      { lockSeconds: 1 },
    );
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await waitFor(() => begun, { what: 'the job' });
    await consumer.stop(0);
    const other = bench.queue.noting({ lockSeconds: 1 });
    await reaches(other, 1);
    expect(other).toEqual([{ deliveryId: '1', claim: 0 }]);
    open();
  });

  test('takes no new job, although it has a free slot', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    const seen: string[] = [];
    const consumer = bench.queue.consume(
      async (job) => {
        seen.push(job.deliveryId);
        await opened;
      },
      { concurrency: 2 },
    );
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await reaches(seen, 1);
    const stopped = consumer.stop(20_000);
    await bench.queue.producer.addDeliveries('fast', [{ deliveryId: '2', claim: 0, delayMs: 0 }]);
    const other = bench.queue.noting();
    await reaches(other, 1);
    open();
    await stopped;
    expect(seen).toEqual(['1']);
    expect(other).toEqual([{ deliveryId: '2', claim: 0 }]);
  });

  test('returns when stopped idle, twice, or before its start', async () => {
    const consumer = bench.queue.consume(async () => undefined);
    await consumer.stop(1_000);
    await consumer.stop(1_000);
    const handle = async () => undefined;
    await new Consumer(bench.backend.location, 'fast', {
      concurrency: 1,
      handle,
      lockSeconds: 30,
      onError: () => undefined,
    }).stop(0);
  });
}
