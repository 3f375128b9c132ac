import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { Consumer } from '../src/index.ts';
import type { DeliveryJob, MailJob, QueueLocation } from '../src/index.ts';
import { gate, jobs, openQueue, reaches } from './queue-under-test.ts';
import type { QueueUnderTest } from './queue-under-test.ts';

/** A back-end of a test's own, empty. */
export interface Backend {
  readonly location: QueueLocation;
  /** Puts something into a queue of BullMQ's, past the producer. */
  addForeign(queueName: string, jobId: string, data: object): Promise<void>;
  close(): Promise<void>;
}

/** BullMQ counts in whole milliseconds of the wall clock: it may round a job up to a millisecond early. */
const ROUNDING_MS = 2;
const EMPTY = { waiting: 0, delayed: 0 };

/** What a test of the suite works with; new for each. */
interface Bench {
  backend: Backend;
  queue: QueueUnderTest;
}

/** What the relay and the worker rely on, whatever the queue runs on. */
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
    precedenceTests(bench);
    doubleTests(bench);
    groupTests(bench);
  });
  describe('the producer', () => producerTests(bench));
  describe('consumers', () => {
    sharingTests(bench);
    beginningTests(bench);
    goingOnTests(bench);
  });
  describe('a consumer that is stopped', () => {
    endingTests(bench);
    intakeTests(bench);
  });
}

/** Puts one more job behind all others and waits for it: what was before it has been handed out. */
async function untilPassedBy(queue: QueueUnderTest, seen: readonly DeliveryJob[]): Promise<void> {
  await queue.producer.addDeliveries('fast', [{ deliveryId: '999', claim: 0, delayMs: 0 }]);
  await waitFor(() => seen.some((job) => job.deliveryId === '999'), { what: 'the job behind' });
}

function jobTests(bench: Bench): void {
  test('reaches a consumer of its lane, with the ids and the claim and nothing else', async () => {
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
      onError: () => undefined,
    });
    mail.start();
    await bench.queue.producer.addMail([{ emailId: 'em_1', claim: 2, delayMs: 0 }]);
    await reaches(seen, 1);
    await mail.stop(1_000);
    expect(seen).toEqual([{ emailId: 'em_1', claim: 2 }]);
  });

  test('of another claim is another job', async () => {
    await bench.queue.producer.addDeliveries('fast', [...jobs(1), ...jobs(1, { claim: 1 })]);
    const seen = bench.queue.noting();
    await reaches(seen, 2);
    expect(seen.map((job) => job.claim).sort()).toEqual([0, 1]);
  });
}

function delayTests(bench: Bench): void {
  test.each([0.5, 250, 300.7])('with a delay of %d ms comes, and not before its time', async (delayMs) => {
    const arrivedAtMs: number[] = [];
    bench.queue.consume(async () => void arrivedAtMs.push(performance.now()));
    const addedAtMs = performance.now();
    await bench.queue.producer.addDeliveries('fast', jobs(1, { delayMs }));
    await reaches(arrivedAtMs, 1);
    expect((arrivedAtMs[0] ?? 0) - addedAtMs).toBeGreaterThanOrEqual(delayMs - ROUNDING_MS);
  });

  test('that is late already comes at once', async () => {
    const seen = bench.queue.noting();
    await bench.queue.producer.addDeliveries('fast', jobs(1, { delayMs: -1_500.5 }));
    await reaches(seen, 1);
  });
}

function precedenceTests(bench: Bench): void {
  test('with low priority comes after the others, each in order', async () => {
    const added = jobs(4).map((job, index) => ({ ...job, lowPriority: index % 2 === 0 }));
    await bench.queue.producer.addDeliveries('fast', added);
    expect((await bench.queue.producer.depth()).fast).toEqual({ waiting: 4, delayed: 0 });
    const seen = bench.queue.noting();
    await reaches(seen, 4);
    expect(seen.map(({ deliveryId }) => deliveryId)).toEqual(['2', '4', '1', '3']);
  });
}

function doubleTests(bench: Bench): void {
  test('that is added twice runs once', async () => {
    const { opened, open } = gate();
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
    await untilPassedBy(bench.queue, seen);
    open();
    expect(seen.filter((job) => job.deliveryId === '1')).toHaveLength(1);
  });

  test.each(['well', 'with a rejection'])(
    'that ended %s leaves nothing behind: the same one comes again',
    async (end) => {
      const seen: DeliveryJob[] = [];
      bench.queue.consume(async (job) => {
        seen.push(job);
        if (end !== 'well') throw new Error('the handler failed');
      });
      for (let times = 1; times <= 3; times += 1) {
        // While the queue still ends the one before, the same id is refused as doubled: hand it in until it is new.
        await waitFor(
          async () => {
            await bench.queue.producer.addDeliveries('fast', jobs(1));
            return seen.length >= times;
          },
          { what: `time ${times}` },
        );
      }
    },
  );
}

function groupTests(bench: Bench): void {
  test('of a group runs once, and each job counts while it waits', async () => {
    const groups = ['one', 'two', 'three'].flatMap((group, index) =>
      jobs(50, { group }).map((job) => ({ ...job, claim: index, lowPriority: index === 2 })),
    );
    await bench.queue.producer.addDeliveries('fast', groups);
    await bench.queue.producer.addDeliveries('fast', groups); // doubled, all of them
    expect((await bench.queue.producer.depth()).fast).toEqual({ waiting: 150, delayed: 0 });
    const seen = bench.queue.noting({ concurrency: 10 });
    await reaches(seen, 150);
    await untilPassedBy(bench.queue, seen); // as would be whatever came twice
    const names = seen.map(({ deliveryId, claim }) => `${deliveryId} ${claim}`);
    const expected = groups.map(({ deliveryId, claim }) => `${deliveryId} ${claim}`);
    expect(names.sort()).toEqual([...expected, '999 0'].sort());
  });

  test('whose handler rejects does not stop the others of its group', async () => {
    const seen: DeliveryJob[] = [];
    bench.queue.consume(async (job) => {
      seen.push(job);
      if (job.deliveryId === '2') throw new Error('the handler failed');
    });
    await bench.queue.producer.addDeliveries('fast', jobs(3, { group: 'one' }));
    await untilPassedBy(bench.queue, seen);
    expect(seen.map(({ deliveryId }) => deliveryId)).toEqual(['1', '2', '3', '999']);
  });
}

function producerTests(bench: Bench): void {
  test('a thousand jobs in bulk run once each', async () => {
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

  test('an empty bulk is no call at all', async () => {
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
  test('share the jobs: each fills its slots, and no job runs twice', async () => {
    const { opened, open } = gate();
    const hands: DeliveryJob[][] = [[], []];
    for (const hand of hands) {
      const handle = async (job: DeliveryJob) => {
        hand.push(job);
        await opened;
      };
      bench.queue.consume(handle, { concurrency: 5 });
    }
    await bench.queue.producer.addDeliveries('fast', jobs(10));
    await waitFor(() => hands.every((hand) => hand.length === 5), { what: 'both to be full' });
    open();
    expect(new Set(hands.flat().map((job) => job.deliveryId)).size).toBe(10);
  });

  test('never handle more single jobs than they have slots', async () => {
    let inHand = 0;
    let most = 0;
    let ended = 0;
    const handle = async () => {
      inHand += 1;
      most = Math.max(most, inHand);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inHand -= 1;
      ended += 1;
    };
    bench.queue.consume(handle, { concurrency: 3 });
    await bench.queue.producer.addDeliveries('fast', jobs(200));
    await waitFor(() => ended === 200, { what: 'all to end' });
    expect(most).toBe(3);
  });

  test('exceed their slots by at most one batch, when single jobs and batches alternate', async () => {
    const [slots, full, rounds] = [20, 16, 4];
    const seen: DeliveryJob[] = [];
    let inHand = 0;
    let most = 0;
    const handle = async (job: DeliveryJob) => {
      seen.push(job);
      inHand += 1;
      most = Math.max(most, inHand);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inHand -= 1;
    };
    for (let round = 0; round < rounds; round += 1) {
      await bench.queue.producer.addDeliveries('fast', jobs(60, { claim: 2 * round }));
      await bench.queue.producer.addDeliveries(
        'fast',
        jobs(20 * full, { claim: 2 * round + 1, group: 'one' }),
      );
    }
    bench.queue.consume(handle, { concurrency: slots });
    await reaches(seen, rounds * (60 + 20 * full));
    await untilPassedBy(bench.queue, seen); // as would be whatever came twice
    expect(most).toBeLessThan(slots + full);
    expect(new Set(seen.map(({ deliveryId, claim }) => `${deliveryId} ${claim}`)).size).toBe(seen.length);
  });
}

function beginningTests(bench: Bench): void {
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

function goingOnTests(bench: Bench): void {
  test('continue after a handler that rejects, and do not repeat its job', async () => {
    const seen: DeliveryJob[] = [];
    bench.queue.consume(async (job) => {
      seen.push(job);
      if (Number(job.deliveryId) % 2 === 0) throw new Error('the handler failed');
    });
    await bench.queue.producer.addDeliveries('fast', jobs(20));
    await untilPassedBy(bench.queue, seen);
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
    await untilPassedBy(bench.queue, seen);
    expect(seen).toEqual([{ deliveryId: '999', claim: 0 }]);
  });

  test('lose and repeat no delayed job: 600 over two consumers', async () => {
    const hands = [bench.queue.noting({ concurrency: 8 }), bench.queue.noting({ concurrency: 8 })];
    const delayed = jobs(600).map((job, index) => ({ ...job, delayMs: (index * 1.37) % 1_000 }));
    for (let first = 0; first < 600; first += 100) {
      await bench.queue.producer.addDeliveries('fast', delayed.slice(first, first + 100));
    }
    await waitFor(() => hands.flat().length >= 600, { what: 'all to arrive' });
    await waitFor(async () => (await bench.queue.producer.depth()).fast.waiting === 0, {
      what: 'nothing to wait',
    });
    expect(new Set(hands.flat().map((job) => job.deliveryId)).size).toBe(600);
    expect(hands.flat()).toHaveLength(600);
  });
}

function endingTests(bench: Bench): void {
  test('waits for its running jobs, and completes them', async () => {
    const { opened, open } = gate();
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
    await untilPassedBy(bench.queue, other); // all the time a stop that does not wait would need
    open();
    await stopped;
    expect(steps).toEqual(['begun', 'ended', 'stopped']);
    await bench.queue.producer.addDeliveries('fast', jobs(1));
    await reaches(other, 2);
  });

  test('returns at the deadline while a handler continues', async () => {
    const { opened, open } = gate();
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

function intakeTests(bench: Bench): void {
  test('leaves an uncompleted job to another consumer when its lock expires', async () => {
    const { opened, open } = gate();
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
    const { opened, open } = gate();
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
      onError: () => undefined,
    }).stop(0);
  });
}
