import { afterEach, expect } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { QueueUnavailableError } from '../src/index.ts';
import type { Consumer } from '../src/index.ts';
import { jobs, openQueue } from './queue-under-test.ts';
import type { QueueUnderTest } from './queue-under-test.ts';

/** A queue with one consumer of two slots, on a Redis that a test breaks. */
export class RedisQueue {
  queue!: QueueUnderTest;
  consumer!: Consumer;
  /** The deliveries of the jobs that the consumer got. */
  seen: string[] = [];

  /** Opens it whether or not Redis is up. */
  open(redisUrl: string, handle: () => Promise<void> = async () => undefined): void {
    this.seen = [];
    this.queue = openQueue({ kind: 'redis', redisUrl, prefix: 'faults' });
    this.consumer = this.queue.consume(
      async (job) => {
        this.seen.push(job.deliveryId);
        await handle();
      },
      { concurrency: 2 },
    );
  }

  /** Adds a job, again and again, until the queue takes it. Then waits until it arrives. */
  async takes(deliveryId: string, timeoutMs = 60_000): Promise<void> {
    const job = { deliveryId, claim: 0, delayMs: 0 };
    await waitFor(
      async () => {
        await this.queue.producer.addDeliveries('fast', [job]);
        return true;
      },
      { what: 'the queue to take a job', timeoutMs },
    );
    await waitFor(() => this.seen.includes(deliveryId), { what: `job ${deliveryId} to arrive`, timeoutMs });
  }

  async refuses(): Promise<void> {
    const { producer } = this.queue;
    await expect(producer.addDeliveries('fast', jobs(3))).rejects.toBeInstanceOf(QueueUnavailableError);
    await expect(producer.depth()).rejects.toBeInstanceOf(QueueUnavailableError);
  }
}

/** Registers a hook that closes the queue after each test. */
export function setupRedisQueue(): RedisQueue {
  const redisQueue = new RedisQueue();
  afterEach(() => redisQueue.queue.close());
  return redisQueue;
}
