import { waitFor } from '@postrider/testing';
import { Consumer, Producer } from '../src/index.ts';
import type { DeliveryJob, Lane, QueueLocation, JobToAdd } from '../src/index.ts';

type Handle = (job: DeliveryJob) => Promise<void>;

interface ConsumeOptions {
  concurrency?: number;
  lane?: Lane;
  lockSeconds?: number;
}

/** A producer and any number of consumers on one back-end, closed together. */
export interface QueueUnderTest {
  readonly producer: Producer;
  /** Starts a consumer. Default: one slot, the fast lane. */
  consume(handle: Handle, options?: ConsumeOptions): Consumer;
  /** Starts a consumer that records its jobs. */
  noting(options?: ConsumeOptions): DeliveryJob[];
  /** The errors of the queue itself. */
  readonly errors: readonly Error[];
  close(): Promise<void>;
}

export function openQueue(location: QueueLocation): QueueUnderTest {
  const errors: Error[] = [];
  const onError = (error: Error) => void errors.push(error);
  const producer = new Producer(location, onError);
  const consumers: Consumer[] = [];
  const consume: QueueUnderTest['consume'] = (handle, options = {}) => {
    const { concurrency = 1, lane = 'fast', lockSeconds = 30 } = options;
    const consumer = new Consumer(location, lane, { concurrency, handle, lockSeconds, onError });
    consumers.push(consumer);
    consumer.start();
    return consumer;
  };
  return {
    producer,
    errors,
    consume,
    noting(options) {
      const seen: DeliveryJob[] = [];
      consume(async (job) => void seen.push(job), options);
      return seen;
    },
    async close() {
      await Promise.all(consumers.map((consumer) => consumer.stop(1_000)));
      await producer.close();
    },
  };
}

export async function reaches(seen: readonly unknown[], count: number): Promise<void> {
  await waitFor(() => seen.length >= count, { what: `${count} jobs to arrive` });
}

/** Jobs for deliveries 1 to `count`. Default: due now, claim 0. */
export function jobs(count: number, more: Partial<JobToAdd<DeliveryJob>> = {}): JobToAdd<DeliveryJob>[] {
  return Array.from({ length: count }, (_, index) => ({
    deliveryId: String(index + 1),
    claim: 0,
    delayMs: 0,
    ...more,
  }));
}
