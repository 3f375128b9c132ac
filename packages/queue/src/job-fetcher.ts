import { randomUUID } from 'node:crypto';
import { Job } from 'bullmq';
import type { JobJson } from 'bullmq';
import { pause } from './pause.ts';

/** The part of BullMQ's worker that fetches; the same on both back-ends. */
export interface JobSource {
  /** Waits for one when there was none the last time. Undefined: still none, or the worker is paused. */
  getNextJob(token: string): Promise<Job | undefined>;
}

export interface JobFetcherOptions {
  /** Pieces of work in hand. What one job carries may exceed it: a job begins where one slot is free. */
  readonly slots: number;
  /**
   * Begins the work that a job's data comes to, each piece in a slot of its own until it resolves; never rejects for what
   * the work came to. None: it is no job of ours, and ends at once.
   */
  readonly start: (data: unknown) => readonly Promise<void>[];
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
const FETCHES_MAX = 16;
/** After the queue could not be reached. */
const RETRY_MS = 1_000;
/**
 * BullMQ says at once that there is nothing more, and waits when it is asked again. If it goes on saying so at once, as
 * while somebody else's tool limits the queue's rate, or for a moment after delayed jobs were added, questions are spaced.
 */
const INSTANT_ANSWER_MS = 1;
const UNPACED_EMPTY_FETCHES = 3;
const EMPTY_FETCH_INTERVAL_MS = 5;
/** Tries to tell the queue that a job has ended; afterwards its lock runs out, and it comes again as a stale one. */
const COMPLETE_TRIES = 5;

/**
 * Fetches jobs and works on them, as many at a time as there are slots.
 *
 * BullMQ's own loop asks for one job after the other and begins with none of them until it has found nothing more: behind
 * a busy queue a job is in hand for as many round trips as there are jobs after it. Here a job is begun when it comes, and
 * more are asked for together. (https://docs.bullmq.io/patterns/manually-fetching-jobs)
 *
 * Locks are not renewed: as a rule they outlast the work, and else the row in Postgres says who has it.
 */
export class JobFetcher {
  readonly #options: JobFetcherOptions;
  /** The work in hand, and the same with its end told to the queue. */
  readonly #handling = new Set<Promise<unknown>>();
  readonly #completing = new Set<Promise<void>>();
  /** Told when a slot is free again, or the intake is stopped. */
  #onSlotFree: (() => void) | null = null;
  /** Slots taken. */
  #slotsInUse = 0;
  #fetchesAtOnce = 1;
  /** Pieces of work that are expected of a job: those of the largest lately, one less with each smaller one. */
  #expectedSize = 1;
  /** Answers one after the other that brought all that was asked for. */
  #fullAnswers = 0;

  constructor(options: JobFetcherOptions) {
    this.#options = options;
    options.stopped.addEventListener('abort', () => this.#onSlotFree?.(), { once: true });
  }

  /** Fetches until it is stopped. */
  async run(source: JobSource): Promise<void> {
    const { slots, stopped } = this.#options;
    let instantEmptyAnswers = 0;
    while (!stopped.aborted) {
      if (this.#slotsInUse >= slots) {
        await this.#untilSlotFree();
        continue;
      }
      const asked = Math.min(
        this.#fetchesAtOnce,
        Math.max(1, Math.floor((slots - this.#slotsInUse) / this.#expectedSize)),
      );
      const askedAt = performance.now();
      const came = await Promise.all(Array.from({ length: asked }, () => this.#fetch(source)));
      this.#fullAnswers = came.every((each) => each === 'job') ? this.#fullAnswers + 1 : 0;
      this.#fetchesAtOnce = Math.min(2 ** Math.max(0, this.#fullAnswers - 1), FETCHES_MAX);
      if (came.includes('failed') && !came.includes('job')) await pause(RETRY_MS, stopped);
      const isInstantEmpty = !came.includes('job') && performance.now() - askedAt < INSTANT_ANSWER_MS;
      instantEmptyAnswers = isInstantEmpty ? instantEmptyAnswers + 1 : 0;
      if (instantEmptyAnswers > UNPACED_EMPTY_FETCHES) await pause(EMPTY_FETCH_INTERVAL_MS, stopped);
    }
  }

  /** Resolves when no work is in hand any more. */
  async handled(): Promise<void> {
    while (this.#handling.size > 0) await Promise.all(this.#handling);
  }

  /** Resolves when the queue has also been told of it. */
  async completed(): Promise<void> {
    while (this.#completing.size > 0) await Promise.all(this.#completing);
  }

  async #fetch(source: JobSource): Promise<Fetched> {
    const { stopped, onError } = this.#options;
    const token = randomUUID();
    try {
      const job = await source.getNextJob(token);
      if (job === undefined) return 'none';
      if (this.#mayStart()) this.#start(source, job, token);
      else await this.#returnToQueue(job, token);
      return 'job';
    } catch (error) {
      if (!stopped.aborted) onError(error as Error); // the stop closes connections
      return 'failed';
    }
  }

  /**
   * Whether a job that was fetched is begun. If not, it goes back: the stop came meanwhile, or jobs that carry more than
   * was expected took all slots.
   */
  #mayStart(): boolean {
    const { slots, stopped } = this.#options;
    return !stopped.aborted && this.#slotsInUse < slots;
  }

  #start(source: JobSource, job: Job, token: string): void {
    const ending = this.#handleAll(source, job, token).finally(() => void this.#completing.delete(ending));
    this.#completing.add(ending);
  }

  /** One job, and after it those that the queue gives in return for its end. */
  async #handleAll(source: JobSource, job: Job, token: string): Promise<void> {
    for (let next: Job | null = job; next !== null;) {
      await this.#handle(next);
      next = await this.#complete(source, next, token);
      this.#freeSlot();
      if (next !== null && !this.#mayStart()) {
        await this.#returnToQueue(next, token);
        return;
      }
    }
  }

  /** Each piece frees its slot when it ends, the last one when the queue has been told. */
  async #handle(job: Job): Promise<void> {
    const { start, onError } = this.#options;
    const parts = start(job.data);
    const slots = Math.max(1, parts.length);
    this.#expectedSize = Math.max(slots, this.#expectedSize - 1);
    this.#slotsInUse += slots;
    let left = parts.length;
    const until = (part: Promise<void>): Promise<void> =>
      part
        .catch((error: unknown) => onError(error as Error))
        .finally(() => {
          left -= 1;
          if (left > 0) this.#freeSlot();
        });
    const working = Promise.all(parts.map(until)).finally(() => void this.#handling.delete(working));
    this.#handling.add(working);
    await working;
  }

  /** @returns the next job, if the queue is known to be busy with lone ones and has one. */
  async #complete(source: JobSource, job: Job, token: string): Promise<Job | null> {
    const { slots, stopped, onError } = this.#options;
    for (let tries = 1; tries <= COMPLETE_TRIES; tries += 1) {
      try {
        const busy = this.#fetchesAtOnce === FETCHES_MAX && this.#expectedSize === 1;
        const fetchNext = busy && this.#slotsInUse <= slots && !stopped.aborted;
        const answer: unknown = await job.moveToCompleted(undefined, token, fetchNext);
        const [data, id] = Array.isArray(answer) ? (answer as unknown as NextJob) : [];
        return data ? Job.fromJSON(source as unknown as Parameters<typeof Job.fromJSON>[0], data, id) : null;
      } catch (error) {
        // Wiped meanwhile, or given to another as its lock ran out: the row knows.
        if (isNoLongerOurs(error) || stopped.aborted) return null;
        onError(error as Error);
        await pause(RETRY_MS, stopped);
      }
    }
    return null;
  }

  async #returnToQueue(job: Job, token: string): Promise<void> {
    const { stopped, onError } = this.#options;
    await job.moveToWait(token).catch((error: unknown) => {
      if (!stopped.aborted) onError(error as Error); // its lock runs out
    });
  }

  #freeSlot(): void {
    this.#slotsInUse -= 1;
    this.#onSlotFree?.();
  }

  async #untilSlotFree(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onSlotFree = resolve;
    });
    this.#onSlotFree = null;
  }
}

/** BullMQ's scripts refuse with negative codes: there is no such job, or its lock is gone or another's. */
function isNoLongerOurs(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'number' && code < 0;
}
