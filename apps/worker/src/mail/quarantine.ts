/** After this many sends without an outcome, a message may be what crashes the worker. */
const QUARANTINE_AFTER_FAULTS = 2;

/**
 * Handles a message with two faults alone: after all earlier ones have ended, before any later one. If it
 * crashes the worker again, only this message gets a fault. Until then its neighbours got two faults at most.
 */
export function quarantineFaulty<Job extends { readonly faults?: number | undefined }>(
  handle: (job: Job) => Promise<void>,
): (job: Job) => Promise<void> {
  const together = new Set<Promise<unknown>>();
  let lastAlone: Promise<unknown> = Promise.resolve();

  return (job) => {
    const isQuarantined = (job.faults ?? 0) >= QUARANTINE_AFTER_FAULTS;
    const before = isQuarantined ? [lastAlone, ...together] : [lastAlone];
    const handled = Promise.all(before).then(() => handle(job));
    const ended = handled.catch(() => undefined);
    if (isQuarantined) lastAlone = ended;
    else {
      together.add(ended);
      void ended.then(() => together.delete(ended));
    }
    return handled;
  };
}
