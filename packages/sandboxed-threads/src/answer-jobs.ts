import { parentPort, workerData } from 'node:worker_threads';

/** A value on its way to or from a worker thread. */
export interface Transfer<Value> {
  readonly value: Value;
  /**
   * Memory that moves with the value instead of being copied. The sender can no longer use it. A buffer moves
   * whole. So list only buffers that hold nothing but the bytes of this value: a pooled Buffer shares its
   * memory.
   */
  readonly transferList: readonly ArrayBuffer[];
}

/**
 * Memory that the pool shares with one of its threads. The thread sets the byte when its script has loaded.
 * So when a thread ends before that, the pool knows that no job caused it.
 */
export type LoadedFlag = Uint8Array<SharedArrayBuffer>;

/** Runs in the worker thread: answers each job that arrives. When `work` rejects, the thread ends. */
export function answerJobs(work: (job: unknown) => Promise<Transfer<unknown>>): void {
  // During an upgrade, a process of the older release may load this script. Its pool shares no memory.
  if (workerData instanceof Uint8Array) (workerData as LoadedFlag)[0] = 1;
  parentPort?.on('message', (job: unknown) => void answer(job));

  async function answer(job: unknown): Promise<void> {
    const { value, transferList } = await work(job);
    parentPort?.postMessage(value, [...transferList]);
  }
}
