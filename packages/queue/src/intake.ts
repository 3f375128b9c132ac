import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isNotConnectionError, Job } from 'bullmq';
import type { JobJson } from 'bullmq';

/** The part of BullMQ's worker that fetches; the same on both back-ends. */
export interface JobSource {
  /** Waits for one when there was none the last time. Undefined: still none, or the worker is paused. */
  getNextJob(token: string): Promise<Job | undefined>;
}

export interface IntakeOptions {
  /** Jobs in hand at the most. */
  readonly slots: number;
  /** What a job's data comes to; never rejects for what the work came to. Null: it is no job of ours, and ends at once. */
  readonly begin: (data: unknown) => Promise<void> | null;
  readonly stopped: AbortSignal;
  readonly onError: (error: Error) => void;
}

/** What the end of a job is answered with, if there is a next one. */
type NextJob = readonly [data?: JobJson | null, id?: string];

/** Jobs asked for in one go, while every answer brings one: 1, 2, 4, 8. */
const AT_ONCE_MAX = 8;
/** After the queue could not be reached. */
const RETRY_MS = 1_000;
/** Tries to tell the queue that a job has ended; afterwards its lock runs out, and it comes again as a stale one. */
const END_TRIES = 5;

/**
 * Fetches jobs and works on them, as many at a time as there are slots.
 *
 * BullMQ's own loop asks for one job after the other and begins with none of them until it has found nothing more: behind
 * a busy queue a job is in hand for as many round trips as there are jobs after it. Here a job is begun when it comes, and
 * more are asked for together. (https://docs.bullmq.io/patterns/manually-fetching-jobs)
 *
 * Locks are not renewed: they outlast the work, or else the row in Postgres says that it has been given to another.
 */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #running = new Set<Promise<void>>();
  /** Told when a slot is free again. */
  #onFree: (() => void) | null = null;
  #taken = 0;
  #atOnce = 1;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Fetches until it is stopped. */
  async run(source: JobSource): Promise<void> {
    const { slots, stopped } = this.#options;
    while (!stopped.aborted) {
      if (this.#taken >= slots) await this.#slotFree();
      const asked = Math.min(this.#atOnce, slots - this.#taken);
      const came = await Promise.all(Array.from({ length: asked }, () => this.#fetch(source)));
      this.#atOnce = came.every(Boolean) ? Math.min(2 * this.#atOnce, AT_ONCE_MAX) : 1;
    }
  }

  /** Resolves when nothing is in hand any more. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** @returns whether there was a job. */
  async #fetch(source: JobSource): Promise<boolean> {
    const { stopped, onError } = this.#options;
    const token = randomUUID();
    this.#taken += 1;
    try {
      const job = await source.getNextJob(token);
      if (job === undefined) {
        this.#release();
        return false;
      }
      // It was being fetched as the stop came: another consumer gets it.
      if (stopped.aborted) await job.moveToWait(token);
      else this.#take(source, job, token);
      return true;
    } catch (error) {
      if (!stopped.aborted) onError(error as Error);
      await delay(RETRY_MS, undefined, { signal: stopped }).catch(() => undefined); // cut short by the stop
      this.#release();
      return false;
    }
  }

  #take(source: JobSource, job: Job, token: string): void {
    const work = this.#work(source, job, token).finally(() => {
      this.#running.delete(work);
      this.#release();
    });
    this.#running.add(work);
  }

  /** One job, and in its slot those that the queue gives in return for its end. */
  async #work(source: JobSource, job: Job, token: string): Promise<void> {
    for (let next: Job | null = job; next !== null;) {
      try {
        await this.#options.begin(next.data);
      } catch (error) {
        this.#options.onError(error as Error);
      }
      next = await this.#end(source, next, token);
    }
  }

  /** @returns the next job, if the queue is known to be busy and has one. */
  async #end(source: JobSource, job: Job, token: string): Promise<Job | null> {
    const { stopped, onError } = this.#options;
    for (let tries = 1; ; tries += 1) {
      try {
        const fetchNext = this.#atOnce === AT_ONCE_MAX && !stopped.aborted;
        const answer: unknown = await job.moveToCompleted(undefined, token, fetchNext);
        const [data, id] = Array.isArray(answer) ? (answer as unknown as NextJob) : [];
        if (!data) return null;
        const next = Job.fromJSON(source as unknown as Parameters<typeof Job.fromJSON>[0], data, id);
        if (!stopped.aborted) return next;
        await next.moveToWait(token);
        return null;
      } catch (error) {
        if (!stopped.aborted) onError(error as Error);
        if (isNotConnectionError(error as Error) || stopped.aborted || tries === END_TRIES) return null;
        await delay(RETRY_MS, undefined, { signal: stopped }).catch(() => undefined); // cut short by the stop
      }
    }
  }

  #release(): void {
    this.#taken -= 1;
    this.#onFree?.();
  }

  async #slotFree(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onFree = resolve;
    });
    this.#onFree = null;
  }
}
