import type { MailJob, JobToAdd, Producer } from '@postrider/queue';
import type { ClaimedEmail, MailOutbox } from '@postrider/store';
import type { QueueDepths } from './delivery/queue-depths.ts';

export interface MailPassParts {
  readonly store: MailOutbox;
  readonly queue: Pick<Producer, 'addMail'>;
  /** Only this pass uses it. The pass notes the jobs that it adds. */
  readonly depths: QueueDepths;
  readonly leaseSeconds: number;
  /** Receives the mail of each claim once its jobs are added, for the metrics. */
  readonly onJobsAdded: (claimed: readonly ClaimedEmail[]) => void;
}

const LOOK_AHEAD_SECONDS = 60;
/** The limit of delayed mail jobs in the queue. */
export const MAIL_DELAYED_MAX = 10_000;
/** A wake-up announces new mail. This pause bounds the wait for lost wake-ups and for retries. */
const IDLE_PAUSE_MS = 2_000;
const BUSY_PAUSE_MS = 20;
/**
 * A worker may have sent the message and wait for Postgres to record that. It retries within 2 s and connects
 * within 5 s. So the next job waits 10 s.
 */
const RECORDED_WITHIN_MS = 10_000;

/**
 * Leases due mail and adds its jobs to the queue, as the delivery pass does. @returns the pause before the
 * next run, in milliseconds.
 */
export async function mailPass(parts: MailPassParts): Promise<number> {
  const { depths } = parts;
  await depths.refresh(['mail']);
  const rowsMax = depths.rowsMax('mail');
  if (rowsMax === 0) return BUSY_PAUSE_MS;
  const claimed = await parts.store.claim({
    lookAheadSeconds: depths.delayedRowsMax() === 0 ? 0 : LOOK_AHEAD_SECONDS,
    rowsMax,
    leaseSeconds: parts.leaseSeconds,
  });
  const jobs = claimed.map(jobOf);
  try {
    await parts.queue.addMail(jobs);
  } catch (error) {
    depths.forget();
    // If this fails, too, the leases run out. The error to report is the queue's.
    await parts.store.release(claimed).catch(() => undefined);
    throw error;
  }
  depths.noteAdded('mail', jobs);
  parts.onJobsAdded(claimed);
  return claimed.length === rowsMax ? BUSY_PAUSE_MS : IDLE_PAUSE_MS;
}

/** A message that failed internally before gets its own job: it may crash the worker. */
function jobOf({ emailId, claim, faults, leaseExpired, ...email }: ClaimedEmail): JobToAdd<MailJob> {
  const delayMs = email.wasTaken ? Math.max(email.dueInMs, RECORDED_WITHIN_MS) : email.dueInMs;
  return { emailId, claim, delayMs, faults, alone: faults > 0, leaseExpired };
}
