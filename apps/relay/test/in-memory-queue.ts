import { randomUUID } from 'node:crypto';
import { QUEUE_KEYS, QueueUnavailableError } from '@postrider/queue';
import type { DeliveryJob, Lane, MailJob, QueueDepth, QueueKey, JobToAdd, Producer } from '@postrider/queue';

type Job = JobToAdd<DeliveryJob> | JobToAdd<MailJob>;

/** A queue that keeps its jobs in memory, and fails when the test says so. */
export interface InMemoryQueue extends Pick<Producer, keyof Producer> {
  /** The jobs of a queue, in the order of their arrival. */
  jobs(key: QueueKey): Job[];
  /** Removes and returns all jobs of a queue, as workers do. */
  take(key: QueueKey): Job[];
  /** Loses all jobs, like FLUSHALL. */
  lose(): void;
  /** Adds `count` jobs of other relays to the depth. */
  fill(key: QueueKey, state: 'waiting' | 'delayed', count: number): void;
  /** The hook runs once, before deliveries are added. */
  onNextDeliveries(hook: () => Promise<void>): void;
  /** These calls fail until the next `fail`. */
  fail(...calls: ('depth' | 'addDeliveries' | 'addMail')[]): void;
}

export function inMemoryQueue(): InMemoryQueue {
  const held: Record<QueueKey, Map<string, Job>> = { fast: new Map(), slow: new Map(), mail: new Map() };
  const others = {
    fast: { waiting: 0, delayed: 0 },
    slow: { waiting: 0, delayed: 0 },
    mail: { waiting: 0, delayed: 0 },
  };
  let failing = new Set<string>();
  let onNext: () => Promise<void> = async () => undefined;

  function check(call: string): void {
    if (failing.has(call)) throw new QueueUnavailableError(new Error('the test makes it fail'));
  }

  function add(key: QueueKey, claimId: string, job: Job): void {
    const id = job.leaseExpired === true ? `${claimId}_${randomUUID()}` : claimId;
    if (!held[key].has(id)) held[key].set(id, job);
  }

  async function depthOf(key: QueueKey): Promise<QueueDepth> {
    check('depth');
    const delayed = [...held[key].values()].filter(({ delayMs }) => delayMs > 0).length;
    const waiting = held[key].size - delayed;
    return { waiting: waiting + others[key].waiting, delayed: delayed + others[key].delayed };
  }

  return {
    async addDeliveries(lane: Lane, jobs) {
      if (jobs.length > 0) check('addDeliveries');
      if (jobs.length > 0) {
        const hook = onNext;
        onNext = async () => undefined;
        await hook();
      }
      for (const job of jobs) add(lane, `${job.deliveryId}_${job.claim}`, job);
    },
    async addMail(jobs) {
      if (jobs.length > 0) check('addMail');
      for (const job of jobs) add('mail', `${job.emailId}_${job.claim}`, job);
    },
    depthOf,
    depth: async () => ({
      fast: await depthOf('fast'),
      slow: await depthOf('slow'),
      mail: await depthOf('mail'),
    }),
    evictionPolicy: async () => null,
    async close() {
      failing = new Set();
    },
    jobs: (key) => [...held[key].values()],
    take(key) {
      const jobs = [...held[key].values()];
      held[key].clear();
      return jobs;
    },
    lose() {
      for (const key of QUEUE_KEYS) held[key].clear();
    },
    fill: (key, state, count) => void (others[key][state] = count),
    onNextDeliveries: (hook) => void (onNext = hook),
    fail: (...calls) => void (failing = new Set(calls)),
  };
}
