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
/** A queue that holds more is not filled up: a claim of a few rows costs as much as one of many, and its jobs carry few. */
const REFILL_AT = WAITING_MAX / 2;
const DELAYED_MAX = 10_000;
/** New mail is told of by a wake-up. This finds what was lost, and what is to be tried again. */
const IDLE_PAUSE_MS = 2_000;
const BUSY_PAUSE_MS = 20;

/**
 * One turn of the mail pass: what the delivery pass does, for mail on its way to the provider. @returns the pause
 * before the next turn, in milliseconds.
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

/** One with a fault behind it travels alone: it may be what ends its worker. */
function jobOf({ emailId, claim, delayMs, faults, accountId }: ClaimedEmail): JobToAdd<MailJob> {
  return { emailId, claim, delayMs, faults, ...(faults > 0 ? {} : { group: accountId }) };
}
