import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { KeyedQueue } from '@postrider/limits';
import type { LoadedFlag, Transfer } from './answer-jobs.ts';

/**
 * The heap limit of a thread counts the old generation. Node 24 can move a whole young generation there in
 * one step, beyond the limit. Then V8 ends the process: with the default size in 11 of 24 tries (limit
 * 64 MiB). With 32 MiB or less, V8 ended only the thread in 60 of 60 tries.
 */
const YOUNG_GENERATION_MB = 16;

const IDLE_MS = 60_000;

export interface ThreadPoolOptions {
  /** Number of worker threads. Further jobs wait. Their time limit does not run yet. */
  readonly threads: number;
  /** Time limit per try of a job, in milliseconds. It includes the start of a new thread. */
  readonly timeoutMs: number;
  /** Heap limit per thread, in MiB. Transferred bytes do not count. */
  readonly memoryMb: number;
  /** A bundle that calls `answerJobs`. */
  readonly script: URL | string;
  /**
   * A thread without a job for this long ends, because an idle one keeps its heap: some 30 MiB after mail.
   * Default: 60,000.
   */
  readonly idleMs?: number;
  /**
   * Called when a thread that had started is lost, usually to a job. Meant for a log line and a metric.
   * @param client the client of the job; null: the thread was idle
   */
  readonly onThreadLost?: ((error: Error, client: string | null) => void) | undefined;
}

/**
 * Runs jobs in worker threads, so that a hostile job harms no other job. The pool ends a thread that exceeds
 * its time or memory limit, and one that has no job for a while. The next try starts a new thread.
 *
 * We use no library. piscina loads a second file at run time, and a bundle is one file. The queue of
 * workerpool 10.0.3 stops after a thread crashes.
 *
 * Node ends a thread at its heap limit only if the heap grows in small steps. A larger step ends the whole
 * process. So the young generation is limited, too.
 */
export class ThreadPool<Job, Answer> {
  readonly #threads = new Map<Worker, LoadedFlag>();
  /** The idle threads, with the timers that end them. The one that was busy last is the last. */
  readonly #idle = new Map<Worker, NodeJS.Timeout>();
  readonly #path: string;
  readonly #options: ThreadPoolOptions;
  readonly #queue: KeyedQueue;
  #closed = false;

  /** @throws Error when the script does not exist: every job would end a thread */
  constructor(options: ThreadPoolOptions) {
    const { script, threads } = options;
    this.#path = script instanceof URL ? fileURLToPath(script) : script;
    if (!existsSync(this.#path)) throw new Error(`no script for the threads at ${this.#path}`);
    this.#options = options;
    // Each job counts as 1 of the total.
    this.#queue = new KeyedQueue({ perKey: threads, total: threads });
  }

  /**
   * Runs the job in a thread. If that thread is lost, another thread tries the job once more: the previous
   * job may have caused the fault.
   *
   * @param client its jobs run in order, and take turns with those of other clients
   * @param job called before each try: the first try has used up the transferred memory. An error that it
   *   throws rejects the call, and costs no thread.
   * @returns null when two threads were lost to the job
   * @throws Error when the pool is closed: the job may or may not have run. Also when no thread starts: the
   * job is not to blame.
   */
  async run(client: string, job: () => Transfer<Job>): Promise<Answer | null> {
    const slot = this.#queue.join(client, 1);
    try {
      await slot.granted;
      return (await this.#runInThread(client, job)) ?? (await this.#runInThread(client, job));
    } finally {
      slot.release();
    }
  }

  /** The threads that run at the moment, busy or idle. */
  get running(): number {
    return this.#threads.size;
  }

  /** Ends the threads. Running and waiting jobs reject. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const thread of [...this.#idle.keys()]) this.#removeFromIdle(thread);
    await Promise.all([...this.#threads.keys()].map((thread) => thread.terminate()));
  }

  /** @returns null when the thread was lost */
  async #runInThread(client: string, job: () => Transfer<Job>): Promise<Answer | null> {
    this.#requireOpen();
    const transfer = job();
    const thread = this.#takeIdle() ?? this.#startThread();
    const loadedFlag = this.#threads.get(thread);
    try {
      return await answerOf<Answer>(thread, transfer, {
        timeoutMs: this.#options.timeoutMs,
        onAnswer: () => this.#addToIdle(thread),
      });
    } catch (error) {
      await thread.terminate();
      this.#requireOpen();
      const hasStarted = loadedFlag?.[0] === 1;
      if (!hasStarted) throw new Error('a worker thread did not start', { cause: error });
      this.#options.onThreadLost?.(error as Error, client);
      return null;
    }
  }

  /** Takes the thread that was busy last. So the threads that are not needed stay idle, and then end. */
  #takeIdle(): Worker | undefined {
    const thread = [...this.#idle.keys()].at(-1);
    if (thread !== undefined) this.#removeFromIdle(thread);
    return thread;
  }

  #addToIdle(thread: Worker): void {
    const end = (): void => {
      this.#removeFromIdle(thread);
      void thread.terminate();
    };
    this.#idle.set(thread, setTimeout(end, this.#options.idleMs ?? IDLE_MS).unref());
  }

  #requireOpen(): void {
    if (this.#closed) throw new Error('the threads are closed');
  }

  #startThread(): Worker {
    const { memoryMb } = this.#options;
    const resourceLimits = {
      maxOldGenerationSizeMb: memoryMb,
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
    };
    const loaded = new Uint8Array(new SharedArrayBuffer(1));
    const thread = new Worker(this.#path, { resourceLimits, workerData: loaded });
    this.#threads.set(thread, loaded);
    // An error event without a listener ends the process.
    thread.on('error', (error) => {
      if (this.#removeFromIdle(thread)) this.#options.onThreadLost?.(error, null);
    });
    thread.once('exit', () => {
      this.#removeFromIdle(thread);
      this.#threads.delete(thread);
    });
    return thread;
  }

  /** @returns whether the thread was idle */
  #removeFromIdle(thread: Worker): boolean {
    clearTimeout(this.#idle.get(thread));
    return this.#idle.delete(thread);
  }
}

/**
 * `onAnswer` runs inside the event of the answer. A busy process may get the answer and the end of a thread
 * together. Code after an `await` would then run after the end.
 *
 * @throws Error when the thread ends, or does not answer within `timeoutMs`
 */
async function answerOf<Answer>(
  thread: Worker,
  { value, transferList }: Transfer<unknown>,
  { timeoutMs, onAnswer }: { timeoutMs: number; onAnswer: () => void },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const onMessage = (answer: Answer): void => {
    onAnswer();
    resolve(answer);
  };
  const onExit = (code: number): void => reject(new Error(`the thread ended with code ${code}`));
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  thread.once('message', onMessage).once('error', reject).once('exit', onExit);
  try {
    thread.postMessage(value, [...transferList]);
    return await promise;
  } finally {
    clearTimeout(timer);
    thread.off('message', onMessage).off('error', reject).off('exit', onExit);
  }
}
