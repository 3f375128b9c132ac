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
  /** Pieces of work in hand. What one job carries may exceed it: a job begins where one slot is free. */
  readonly slots: number;
  /**
   * Begins the work that a job's data comes to, each piece in a slot of its own until it resolves; never rejects for what
   * the work came to. None: it is no job of ours, and ends at once.
   */
  readonly begin: (data: unknown) => readonly Promise<void>[];
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
  readonly #working = new Set<Promise<unknown>>();
  readonly #ending = new Set<Promise<void>>();
  /** Told when a slot is free again, or the intake is stopped. */
  #onFree: (() => void) | null = null;
  /** Slots taken. */
  #taken = 0;
  #atOnce = 1;
  /** Pieces of work that are expected of a job: those of the largest lately, one less with each smaller one. */
  #size = 1;
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
      const asked = Math.min(this.#atOnce, Math.max(1, Math.floor((slots - this.#taken) / this.#size)));
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
    try {
      const job = await source.getNextJob(token);
      if (job === undefined) return 'none';
      if (this.#mayBegin()) this.#take(source, job, token);
      else await this.#giveBack(job, token);
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
  #mayBegin(): boolean {
    const { slots, stopped } = this.#options;
    return !stopped.aborted && this.#taken < slots;
  }

  #take(source: JobSource, job: Job, token: string): void {
    const ending = this.#work(source, job, token).finally(() => void this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** One job, and after it those that the queue gives in return for its end. */
  async #work(source: JobSource, job: Job, token: string): Promise<void> {
    for (let next: Job | null = job; next !== null;) {
      await this.#begin(next);
      next = await this.#end(source, next, token);
      this.#release();
      if (next !== null && !this.#mayBegin()) {
        await this.#giveBack(next, token);
        return;
      }
    }
  }

  /** Each piece frees its slot when it ends, the last one when the queue has been told. */
  async #begin(job: Job): Promise<void> {
    const { begin, onError } = this.#options;
    const pieces = begin(job.data);
    const slots = Math.max(1, pieces.length);
    this.#size = Math.max(slots, this.#size - 1);
    this.#taken += slots;
    let left = pieces.length;
    const until = (piece: Promise<void>): Promise<void> =>
      piece
        .catch((error: unknown) => onError(error as Error))
        .finally(() => {
          left -= 1;
          if (left > 0) this.#release();
        });
    const working = Promise.all(pieces.map(until)).finally(() => void this.#working.delete(working));
    this.#working.add(working);
    await working;
  }

  /** @returns the next job, if the queue is known to be busy with lone ones and has one. */
  async #end(source: JobSource, job: Job, token: string): Promise<Job | null> {
    const { slots, stopped, onError } = this.#options;
    for (let tries = 1; tries <= END_TRIES; tries += 1) {
      try {
        const busy = this.#atOnce === AT_ONCE_MAX && this.#size === 1;
        const fetchNext = busy && this.#taken <= slots && !stopped.aborted;
        const answer: unknown = await job.moveToCompleted(undefined, token, fetchNext);
        const [data, id] = Array.isArray(answer) ? (answer as unknown as NextJob) : [];
        return data ? Job.fromJSON(source as unknown as Parameters<typeof Job.fromJSON>[0], data, id) : null;
      } catch (error) {
        // Wiped meanwhile, or given to another as its lock ran out: the row knows.
        if (isForgotten(error) || stopped.aborted) return null;
        onError(error as Error);
        await pause(RETRY_MS, stopped);
      }
    }
    return null;
  }

  async #giveBack(job: Job, token: string): Promise<void> {
    const { stopped, onError } = this.#options;
    await job.moveToWait(token).catch((error: unknown) => {
      if (!stopped.aborted) onError(error as Error); // its lock runs out
    });
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
