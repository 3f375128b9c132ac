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

/** Removes blobs that no message names. */
export interface BlobSweep {
  start(): void;
  /** Does a sweep if one is due. Never rejects. */
  turn(): Promise<void>;
  /** Resolves when no removal is under way, or after 5 s. */
  stop(): Promise<void>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const LOOK_EVERY_MS = 10 * 60 * 1000;
/** Blobs that one statement asks for: a thousand probes of indexes. */
const BLOBS_PER_STEP = 500;
const REMOVED_AT_ONCE = 8;
const STOP_TIMEOUT_MS = 5_000;

interface Counts {
  removed: number;
  /** Of some hundred blobs each, in which nothing could be taken just now. */
  stepsSkipped: number;
}

export function createBlobSweep(parts: BlobSweepParts): BlobSweep {
  const { store, logger, metrics } = parts;
  let counts: Counts = { removed: 0, stepsSkipped: 0 };
  const task = periodicTask({ run, pauseMs: LOOK_EVERY_MS, onError });

  async function run(): Promise<void> {
    counts = { removed: 0, stepsSkipped: 0 };
    if (!(await store.begin())) return;
    await sweep(parts, counts, task.stopping);
    if (task.stopping.aborted) return; // the rest is for the next one
    metrics.blobSweeps.inc({ result: 'done' });
    logger.info('blob sweep done', namesOf(counts));
  }

  function onError(error: unknown): void {
    metrics.blobSweeps.inc({ result: 'failed' });
    logger.warn('blob sweep failed', { ...namesOf(counts), error });
  }

  return {
    turn: () => run().catch(onError),
    start: () => task.start(),
    stop: () => task.stop(STOP_TIMEOUT_MS),
  };
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
  const goesOn = () => !signal.aborted && performance.now() < endsAtMs;
  const { removed, failed, error } = await removeAll(blobs, taken as BlobId[], goesOn);
  counts.removed += removed;
  metrics.blobsSwept.inc(removed);
  // What failed may still be done by the store. It is left to the lease.
  await store.settle(taken.filter((id) => !failed.has(id)));
  if (failed.size > 0) throw error;
}

/** Removes some at a time until one fails. */
async function removeAll(blobs: Pick<BlobStore, 'remove'>, ids: readonly BlobId[], goesOn: () => boolean) {
  const slots = new Semaphore(REMOVED_AT_ONCE);
  const failed = new Set<string>();
  let [removed, error]: [number, unknown] = [0, null];

  async function remove(id: BlobId): Promise<void> {
    if (failed.size > 0 || !goesOn()) return;
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
