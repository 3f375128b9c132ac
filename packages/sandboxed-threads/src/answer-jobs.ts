import { parentPort } from 'node:worker_threads';

/** A value on its way between threads, and the memory that goes with it: its sender has it no longer. */
export interface Handover<Value> {
  readonly value: Value;
  /** Of bytes that were copied for it: what is handed over takes all the memory along that it lies in. */
  readonly transfer: readonly ArrayBuffer[];
}

/** In the thread: does the jobs that arrive, one answer for each. A fault ends the thread. */
export function answerJobs(work: (job: unknown) => Promise<Handover<unknown>>): void {
  parentPort?.on('message', (job: unknown) => void answer(job));

  async function answer(job: unknown): Promise<void> {
    const { value, transfer } = await work(job);
    parentPort?.postMessage(value, [...transfer]);
  }
}
