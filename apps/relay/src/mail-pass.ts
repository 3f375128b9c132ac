import type { MailJob, JobToAdd, Producer } from '@postrider/queue';
import type { ClaimedEmail, MailOutbox } from '@postrider/store';

export interface MailPassParts {
  readonly store: MailOutbox;
  readonly queue: Pick<Producer, 'addMail' | 'depth'>;
  readonly leaseSeconds: number;
  readonly onClaim: (claimed: readonly ClaimedEmail[]) => void;
}

const LOOK_AHEAD_SECONDS = 60;
const WAITING_MAX = 128;
/** A queue with more waiting messages is not refilled. A claim of a few rows costs as much as one of many. */
const REFILL_AT = WAITING_MAX / 2;
const DELAYED_MAX = 10_000;
/** A wake-up announces new mail. This pause bounds the wait for lost wake-ups and for retries. */
const IDLE_PAUSE_MS = 2_000;
const BUSY_PAUSE_MS = 20;

/**
 * Leases due mail and adds its jobs to the queue, as the delivery passes do. @returns the pause before the
 * next run, in milliseconds.
 */
export async function mailPass(parts: MailPassParts): Promise<number> {
  const depth = await parts.queue.depth();
  if (depth.mail.waiting > REFILL_AT) return BUSY_PAUSE_MS;
  const rowsMax = WAITING_MAX - depth.mail.waiting;
  const claimed = await parts.store.claim({
    lookAheadSeconds: depth.mail.delayed > DELAYED_MAX ? 0 : LOOK_AHEAD_SECONDS,
    rowsMax,
    leaseSeconds: parts.leaseSeconds,
  });
  parts.onClaim(claimed);
  try {
    await parts.queue.addMail(claimed.map(jobOf));
  } catch (error) {
    await parts.store.release(claimed);
    throw error;
  }
  return claimed.length === rowsMax ? BUSY_PAUSE_MS : IDLE_PAUSE_MS;
}

/** A message that failed internally before gets its own job: it may crash the worker. */
function jobOf({ emailId, claim, delayMs, faults, accountId }: ClaimedEmail): JobToAdd<MailJob> {
  return { emailId, claim, delayMs, faults, ...(faults > 0 ? {} : { group: accountId }) };
}
