import type { BlobId, BlobStore } from '@postrider/blobs';
import { Semaphore } from '@postrider/limits';
import { periodicTask } from '@postrider/runtime';
import type { Clock } from '@postrider/domain';
import type { Logger, Metrics } from '@postrider/runtime';
import { SWEEP_LEASE_MS } from '@postrider/store';
import type { SweptBlobs } from '@postrider/store';

export interface BlobSweepParts {
  readonly store: SweptBlobs;
  readonly blobs: Pick<BlobStore, 'list' | 'remove'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'inbound'>, 'blobSweeps' | 'blobsSwept'>;
}

/** One day since the last put of a blob: the row of its message may commit some time after the put. */
const AGE_MS_MIN = 24 * 60 * 60 * 1000;
const CHECK_INTERVAL_MS = 10 * 60 * 1000;
/** Blob ids per statement. Each id costs two index probes, in messages and in attachments. */
const BLOBS_PER_STEP = 500;
const CONCURRENT_REMOVALS = 8;
const STOP_TIMEOUT_MS = 5_000;

/** The results of a sweep, as log fields. */
interface Counts {
  removed: number;
  /** Steps in which the store could lock no blob. */
  steps_skipped: number;
}

/** Makes the task that removes blobs that no message names. */
export function createBlobSweep(parts: BlobSweepParts) {
  const { store, logger, metrics } = parts;
  let counts: Counts;

  async function run(): Promise<void> {
    counts = { removed: 0, steps_skipped: 0 };
    if (!(await store.begin())) return; // no sweep is due, or another process does it
    await sweep(parts, counts, task.stopping);
    if (task.stopping.aborted) return; // the next sweep does the rest
    metrics.blobSweeps.inc({ result: 'done' });
    logger.info('blob sweep done', { ...counts });
  }

  function onError(error: unknown): void {
    metrics.blobSweeps.inc({ result: 'failed' });
    logger.warn('blob sweep failed', { ...counts, error });
  }

  const task = periodicTask({ run, pauseMs: CHECK_INTERVAL_MS, onError });
  return {
    start: () => task.start(),
    /** Sweeps the blob store if a sweep is due. Never rejects. */
    sweepIfDue: () => run().catch(onError),
    /** Resolves when no removal is running, or after 5 s. */
    stop: () => task.stop(STOP_TIMEOUT_MS),
  };
}

/** Scans the whole blob store in steps of `BLOBS_PER_STEP` blobs. */
async function sweep(parts: BlobSweepParts, counts: Counts, signal: AbortSignal): Promise<void> {
  const { blobs, clock } = parts;
  let step: BlobId[] = [];
  for await (const { id, putAt } of blobs.list()) {
    if (signal.aborted) return;
    if (clock.now().getTime() - putAt.getTime() < AGE_MS_MIN) continue;
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
  // Half of the lease is left for the last removals, so that no removal outlasts the lease.
  const endsAtMs = performance.now() + SWEEP_LEASE_MS / 2;
  const taken = await store.take(ids); // leases the blobs that no message names
  if (taken === null) {
    counts.steps_skipped += 1;
    return;
  }
  if (taken.length === 0) return;
  const mayRemove = () => !signal.aborted && performance.now() < endsAtMs;
  const { removed, failed, error } = await removeAll(blobs, taken as BlobId[], mayRemove);
  counts.removed += removed;
  metrics.blobsSwept.inc(removed);
  // The blob store may still complete a removal that failed. So the lease of these blobs stays.
  await store.settle(taken.filter((id) => !failed.has(id)));
  if (failed.size > 0) throw error;
}

/**
 * Removes the blobs, up to `CONCURRENT_REMOVALS` at a time. No new removal starts after the first failure.
 */
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
