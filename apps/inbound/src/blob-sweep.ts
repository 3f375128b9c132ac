import type { BlobId, BlobStore } from '@postrider/blobs';
import { Semaphore } from '@postrider/limits';
import { periodicTask } from '@postrider/runtime';
import type { Clock, Logger, Metrics } from '@postrider/runtime';
import { SWEEP_LEASE_MS } from '@postrider/store';
import type { SweptBlobs } from '@postrider/store';

export interface BlobSweepParts {
  readonly store: SweptBlobs;
  readonly blobs: Pick<BlobStore, 'list' | 'remove'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'inbound'>, 'blobSweeps' | 'blobsSwept'>;
  /** Since a blob was last put. Default: a day. */
  readonly minAgeMs?: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const CHECK_INTERVAL_MS = 10 * 60 * 1000;
/** Blobs that one statement asks for: a thousand probes of indexes. */
const BLOBS_PER_STEP = 500;
const CONCURRENT_REMOVALS = 8;
const STOP_TIMEOUT_MS = 5_000;

interface Counts {
  removed: number;
  /** Of some hundred blobs each, in which nothing could be taken just now. */
  stepsSkipped: number;
}

/** Removes blobs that no message names. */
export class BlobSweep {
  readonly #parts: BlobSweepParts;
  readonly #task = periodicTask({
    run: () => this.#run(),
    pauseMs: CHECK_INTERVAL_MS,
    onError: (error) => this.#reportFailure(error),
  });
  #counts: Counts = { removed: 0, stepsSkipped: 0 };

  constructor(parts: BlobSweepParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#task.start();
  }

  /** Sweeps the blob store if a sweep is due. Never rejects. */
  async sweepIfDue(): Promise<void> {
    await this.#run().catch((error: unknown) => this.#reportFailure(error));
  }

  /** Resolves when no removal is running, or after 5 s. */
  async stop(): Promise<void> {
    await this.#task.stop(STOP_TIMEOUT_MS);
  }

  async #run(): Promise<void> {
    const { store, logger, metrics } = this.#parts;
    const { stopping } = this.#task;
    this.#counts = { removed: 0, stepsSkipped: 0 };
    if (!(await store.begin())) return;
    await sweep(this.#parts, this.#counts, stopping);
    if (stopping.aborted) return; // the next sweep does the rest
    metrics.blobSweeps.inc({ result: 'done' });
    logger.info('blob sweep done', namesOf(this.#counts));
  }

  #reportFailure(error: unknown): void {
    const { logger, metrics } = this.#parts;
    metrics.blobSweeps.inc({ result: 'failed' });
    logger.warn('blob sweep failed', { ...namesOf(this.#counts), error });
  }
}

function namesOf({ removed, stepsSkipped }: Counts) {
  return { removed, steps_skipped: stepsSkipped };
}

/** Goes over the whole store, some hundred blobs at a time. */
async function sweep(parts: BlobSweepParts, counts: Counts, signal: AbortSignal): Promise<void> {
  const { blobs, clock, minAgeMs = DAY_MS } = parts;
  let step: BlobId[] = [];
  for await (const { id, putAt } of blobs.list()) {
    if (signal.aborted) return;
    if (clock.now().getTime() - putAt.getTime() < minAgeMs) continue;
    step.push(id);
    if (step.length < BLOBS_PER_STEP) continue;
    await removeUnnamed(parts, step, counts, signal);
    step = [];
  }
  if (step.length > 0) await removeUnnamed(parts, step, counts, signal);
}

async function removeUnnamed(
  { store, blobs, metrics }: BlobSweepParts,
  ids: readonly BlobId[],
  counts: Counts,
  signal: AbortSignal,
): Promise<void> {
  // Half of the lease: no removal that begins before it is still under way when the lease ends.
  const endsAtMs = performance.now() + SWEEP_LEASE_MS / 2;
  const taken = await store.take(ids);
  if (taken === null) {
    counts.stepsSkipped += 1;
    return;
  }
  if (taken.length === 0) return;
  const mayRemove = () => !signal.aborted && performance.now() < endsAtMs;
  const { removed, failed, error } = await removeAll(blobs, taken as BlobId[], mayRemove);
  counts.removed += removed;
  metrics.blobsSwept.inc(removed);
  // What failed may still be done by the store. It is left to the lease.
  await store.settle(taken.filter((id) => !failed.has(id)));
  if (failed.size > 0) throw error;
}

/** Removes some at a time until one fails. */
async function removeAll(blobs: Pick<BlobStore, 'remove'>, ids: readonly BlobId[], mayRemove: () => boolean) {
  const slots = new Semaphore(CONCURRENT_REMOVALS);
  const failed = new Set<string>();
  let [removed, error]: [number, unknown] = [0, null];

  async function remove(id: BlobId): Promise<void> {
    if (failed.size > 0 || !mayRemove()) return;
    try {
      await blobs.remove(id);
      removed += 1;
    } catch (cause) {
      failed.add(id);
      error = cause;
    }
  }

  await Promise.all(ids.map((id) => slots.run(() => remove(id))));
  return { removed, failed, error };
}
