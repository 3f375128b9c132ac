import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Handover } from './answer-jobs.ts';
import { withResolvers } from './with-resolvers.ts';

export interface ThreadPool<Job, Answer> {
  /**
   * A job whose thread is lost is tried once more: the fault may be another job's.
   * @returns null when the job has cost two threads
   * @throws Error when the pool is closed: nothing is known of the job
   */
  run(job: () => Handover<Job>): Promise<Answer | null>;
  /** Ends the threads. Jobs under way, and those that wait, reject. */
  close(): Promise<void>;
}

export interface ThreadPoolOptions {
  /** Jobs that are done at once. More wait in their order, and their time does not run. */
  readonly threads: number;
  /** Time limit of one try of a job, in milliseconds; the start of a new thread counts in. */
  readonly timeoutMs: number;
  /** Heap of one thread in MiB. Bytes that are handed over do not count in. */
  readonly memoryMb: number;
  /** A bundle that calls `answerJobs`. */
  readonly script: URL | string;
  /** Called when a thread was lost, most often to a job: for a log line and a metric. */
  readonly onThreadLost?: ((error: Error) => void) | undefined;
}

/**
 * Does jobs in threads, so that one job costs at most itself. A thread that takes too much time or memory is ended; the
 * next try starts a new one.
 *
 * A pool of its own: piscina loads a file from beside itself, which a bundle has not; the queue of workerpool 10.0.3
 * stands still after a thread has crashed.
 *
 * Node 20 ends a thread at its limit only if it gets there in steps below 16 MiB; one larger step on the heap ends
 * the process.
 *
 * @throws Error when there is no such script: every job would cost a thread
 */
export function createThreadPool<Job, Answer>(options: ThreadPoolOptions): ThreadPool<Job, Answer> {
  const path = options.script instanceof URL ? fileURLToPath(options.script) : options.script;
  if (!existsSync(path)) throw new Error(`no script for the threads at ${path}`);
  return new Pool(path, options);
}

class Pool<Job, Answer> implements ThreadPool<Job, Answer> {
  private readonly threads = new Set<Worker>();
  private readonly idle: Worker[] = [];
  private readonly waiting: (() => void)[] = [];
  private readonly path: string;
  private readonly options: ThreadPoolOptions;
  private free: number;
  private closed = false;

  constructor(path: string, options: ThreadPoolOptions) {
    this.path = path;
    this.options = options;
    this.free = options.threads;
  }

  async run(job: () => Handover<Job>): Promise<Answer | null> {
    await this.acquire();
    try {
      return (await this.runInThread(job)) ?? (await this.runInThread(job));
    } finally {
      this.release();
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.threads].map((thread) => thread.terminate()));
  }

  /** @returns null when the thread was lost */
  private async runInThread(job: () => Handover<Job>): Promise<Answer | null> {
    this.requireOpen();
    const thread = this.idle.pop() ?? this.start();
    try {
      const answer = await answerOf<Answer>(thread, job(), this.options.timeoutMs);
      this.idle.push(thread);
      return answer;
    } catch (error) {
      await thread.terminate();
      this.requireOpen();
      this.options.onThreadLost?.(error as Error);
      return null;
    }
  }

  private requireOpen(): void {
    if (this.closed) throw new Error('the threads are closed');
  }

  private start(): Worker {
    const { memoryMb } = this.options;
    const thread = new Worker(this.path, { resourceLimits: { maxOldGenerationSizeMb: memoryMb } });
    this.threads.add(thread);
    // An error that nobody listens to would end the process.
    thread.on('error', (error) => {
      if (this.takeFromIdle(thread)) this.options.onThreadLost?.(error);
    });
    thread.once('exit', () => {
      this.takeFromIdle(thread);
      this.threads.delete(thread);
    });
    return thread;
  }

  /** @returns whether it was idle */
  private takeFromIdle(thread: Worker): boolean {
    const index = this.idle.indexOf(thread);
    if (index !== -1) this.idle.splice(index, 1);
    return index !== -1;
  }

  private async acquire(): Promise<void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private release(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}

/** @throws Error when the thread does not answer in time, or ends */
async function answerOf<Answer>(
  thread: Worker,
  { value, transfer }: Handover<unknown>,
  timeoutMs: number,
): Promise<Answer> {
  const { promise, resolve, reject } = withResolvers<Answer>();
  const onExit = (code: number): void => reject(new Error(`the thread ended with code ${code}`));
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  thread.once('message', resolve).once('error', reject).once('exit', onExit);
  try {
    thread.postMessage(value, [...transfer]);
    return await promise;
  } finally {
    clearTimeout(timer);
    thread.off('message', resolve).off('error', reject).off('exit', onExit);
  }
}
