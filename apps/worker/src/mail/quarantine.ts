/** After this many sends without an outcome, a message may be what crashes the worker. */
const QUARANTINE_AFTER_FAULTS = 2;

/**
 * Sends such a message alone: it starts when all earlier messages have ended, and later ones wait. So only
 * this message pays when it crashes the worker. Its neighbours have paid twice at most.
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
