import { randomUUID } from 'node:crypto';
import { Job } from 'bullmq';
import type { JobJson } from 'bullmq';
import { pause } from './pause.ts';

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

type Fetched = 'job' | 'none' | 'failed';

/** What the end of a job is answered with, if there is a next one. */
type NextJob = readonly [data?: JobJson | null, id?: string];

/**
 * Jobs asked for in one go, while every answer brings one: 1, 1, 2, 4, 8, 16. That one job came says little, as behind each
 * of those that come now and then there is none; a second one says that there may be more.
 */
const AT_ONCE_MAX = 16;
/** After the queue could not be reached. */
const RETRY_MS = 1_000;
/**
 * BullMQ says at once that there is nothing more, and waits when it is asked again. If it goes on saying so at once, as
 * while somebody else's tool limits the queue's rate, or for a moment after delayed jobs were added, questions are spaced.
 */
const AT_ONCE_WITHIN_MS = 1;
const UNSPACED_QUESTIONS = 3;
const QUESTION_SPACING_MS = 5;
/** Tries to tell the queue that a job has ended; afterwards its lock runs out, and it comes again as a stale one. */
const END_TRIES = 5;

/**
 * Fetches jobs and works on them, as many at a time as there are slots.
 *
 * BullMQ's own loop asks for one job after the other and begins with none of them until it has found nothing more: behind
 * a busy queue a job is in hand for as many round trips as there are jobs after it. Here a job is begun when it comes, and
 * more are asked for together. (https://docs.bullmq.io/patterns/manually-fetching-jobs)
 *
 * Locks are not renewed: as a rule they outlast the work, and else the row in Postgres says who has it.
 */
export class Intake {
  readonly #options: IntakeOptions;
  /** The work in hand, and the same with its end told to the queue. */
  readonly #working = new Set<Promise<void>>();
  readonly #ending = new Set<Promise<void>>();
  /** Told when a slot is free again, or the intake is stopped. */
  #onFree: (() => void) | null = null;
  #taken = 0;
  #atOnce = 1;
  /** Answers one after the other that brought all that was asked for. */
  #allCame = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
    options.stopped.addEventListener('abort', () => this.#onFree?.(), { once: true });
  }

  /** Fetches until it is stopped. */
  async run(source: JobSource): Promise<void> {
    const { slots, stopped } = this.#options;
    let answeredAtOnce = 0;
    while (!stopped.aborted) {
      if (this.#taken >= slots) {
        await this.#slotFree();
        continue;
      }
      const asked = Math.min(this.#atOnce, slots - this.#taken);
      const askedAt = performance.now();
      const came = await Promise.all(Array.from({ length: asked }, () => this.#fetch(source)));
      this.#allCame = came.every((each) => each === 'job') ? this.#allCame + 1 : 0;
      this.#atOnce = Math.min(2 ** Math.max(0, this.#allCame - 1), AT_ONCE_MAX);
      if (came.includes('failed') && !came.includes('job')) await pause(RETRY_MS, stopped);
      const isNoneAtOnce = !came.includes('job') && performance.now() - askedAt < AT_ONCE_WITHIN_MS;
      answeredAtOnce = isNoneAtOnce ? answeredAtOnce + 1 : 0;
      if (answeredAtOnce > UNSPACED_QUESTIONS) await pause(QUESTION_SPACING_MS, stopped);
    }
  }

  /** Resolves when no work is in hand any more. */
  async worked(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  /** Resolves when the queue has also been told of it. */
  async ended(): Promise<void> {
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  async #fetch(source: JobSource): Promise<Fetched> {
    const { stopped, onError } = this.#options;
    const token = randomUUID();
    this.#taken += 1;
    let begun = false;
    try {
      const job = await source.getNextJob(token);
      if (job === undefined) return 'none';
      if (stopped.aborted) {
        // It was being fetched as the stop came: another consumer gets it.
        await job.moveToWait(token);
      } else {
        this.#take(source, job, token);
        begun = true;
      }
      return 'job';
    } catch (error) {
      if (!stopped.aborted) onError(error as Error); // the stop closes connections
      return 'failed';
    } finally {
      if (!begun) this.#release();
    }
  }

  #take(source: JobSource, job: Job, token: string): void {
    const ending = this.#work(source, job, token).finally(() => {
      this.#ending.delete(ending);
      this.#release();
    });
    this.#ending.add(ending);
  }

  /** One job, and in its slot those that the queue gives in return for its end. */
  async #work(source: JobSource, job: Job, token: string): Promise<void> {
    for (let next: Job | null = job; next !== null;) {
      await this.#begin(next);
      next = await this.#end(source, next, token);
    }
  }

  async #begin(job: Job): Promise<void> {
    const { begin, onError } = this.#options;
    const working = Promise.resolve(begin(job.data))
      .catch((error: unknown) => onError(error as Error))
      .finally(() => void this.#working.delete(working)) as Promise<void>;
    this.#working.add(working);
    await working;
  }

  /** @returns the next job, if the queue is known to be busy and has one. */
  async #end(source: JobSource, job: Job, token: string): Promise<Job | null> {
    const { stopped, onError } = this.#options;
    for (let tries = 1; tries <= END_TRIES; tries += 1) {
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
        // Wiped meanwhile, or given to another as its lock ran out: the row knows.
        if (isForgotten(error) || stopped.aborted) return null;
        onError(error as Error);
        await pause(RETRY_MS, stopped);
      }
    }
    return null;
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

/** BullMQ's scripts refuse with negative codes: there is no such job, or its lock is gone or another's. */
function isForgotten(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'number' && code < 0;
}
