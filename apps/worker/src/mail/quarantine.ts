/** After so many hand-overs without an outcome a message may be what ends its worker. */
const QUARANTINE_AFTER_FAULTS = 2;

/**
 * Hands a suspect message over alone: it begins when all that began before it has ended, and what comes after it waits.
 * So a message that ends the worker pays alone. Its neighbours have paid twice at most, before it was a suspect.
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
