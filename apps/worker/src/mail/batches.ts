import type { MailOutcome, NextAttempt } from '@postrider/domain';
import type { Logger } from '@postrider/runtime';
import { isOutage, StoreUnavailableError } from '@postrider/store';
import type {
  EndedEmail,
  MailClaim,
  MailWork,
  RecordedAttempt,
  RetriedEmail,
  TakenEmail,
} from '@postrider/store';
import { grouped } from '../grouped.ts';

/** The job for one claim of a message. */
export interface SendJob extends MailClaim {
  /** Earlier claims without a recorded outcome. */
  readonly faults?: number | undefined;
}

/**
 * Takes and ends messages in batches; each caller has one message. A message's fault does not count against
 * other messages in its batch. A message that failed internally before goes alone. When a batch fails, its
 * messages are tried one by one.
 */
export class MailBatches {
  readonly #store: MailWork;
  readonly #leaseSeconds: number;
  readonly #logger: Logger;
  readonly #takeInBatch = grouped<SendJob, TakenEmail | null>((jobs) => this.#takeTogether(jobs));
  readonly #endSent = this.#endInBatch<EndedEmail>((ends) => this.#store.endTogether('sent', ends));
  readonly #endFailed = this.#endInBatch<EndedEmail>((ends) => this.#store.endTogether('failed', ends));
  readonly #retryInBatch = this.#endInBatch<RetriedEmail>(async (retries) => {
    const retried = await this.#store.retry(retries);
    return new Map([...retried].map((email) => [email, { eventId: null }]));
  });
  readonly #renewInBatch = grouped<TakenEmail, boolean>(async (emails) => {
    const held = await this.#store.renew(emails, this.#leaseSeconds);
    return emails.map((email) => held.has(email));
  });
  readonly #releaseInBatch = grouped<SendJob, void>((jobs) => this.#releaseTogether(jobs));

  constructor(
    store: MailWork,
    { leaseSeconds, logger }: { readonly leaseSeconds: number; readonly logger: Logger },
  ) {
    this.#store = store;
    this.#leaseSeconds = leaseSeconds;
    this.#logger = logger;
  }

  /** @returns null for a stale or duplicate job. */
  take(job: SendJob): Promise<TakenEmail | null> {
    return (job.faults ?? 0) > 0 ? this.#takeAlone(job) : this.#takeInBatch(job);
  }

  /**
   * Records an attempt. A plain outcome (`isPlain`) goes in a batch, unless the message has faults. When the
   * batch fails, or leaves the message out, the message is recorded alone.
   *
   * @returns null when the message was no longer this worker's.
   */
  async record(email: TakenEmail, outcome: MailOutcome): Promise<RecordedAttempt | null> {
    if (!isPlain(email, outcome)) return this.#recordAlone(email, outcome);
    const recorded = email.faults === 0 ? await this.#recordInBatch(email, outcome) : null;
    if (recorded !== null) return recorded;
    if (outcome.kind !== 'retry') return this.#recordAlone(email, outcome);
    const retried = await this.#store.retry([retryOf(email, outcome.next)]);
    return retried.has(email) ? { eventId: null } : null;
  }

  /** Renews the lease. @returns false when the message was no longer this worker's. */
  renew(email: TakenEmail): Promise<boolean> {
    return this.#renewInBatch(email);
  }

  /** Releases a message that was not taken. Never rejects: on failure its lease expires. */
  release(job: SendJob): Promise<void> {
    return this.#releaseInBatch(job);
  }

  forgiveFault(job: MailClaim): Promise<void> {
    return this.#store.forgiveFault(job);
  }

  async #takeTogether(jobs: readonly SendJob[]): Promise<readonly Promise<TakenEmail | null>[]> {
    try {
      return await this.#store.take(jobs, this.#leaseSeconds);
    } catch (error) {
      // The take may have been committed, so it is not repeated. `sendMail` forgives each message's fault.
      if (error instanceof StoreUnavailableError) throw error;
      return jobs.map(async (job) => {
        const email = await this.#takeAlone(job);
        if (email === null) throw error; // the batch may have taken it: its lease brings it back
        return email;
      });
    }
  }

  async #takeAlone(job: SendJob): Promise<TakenEmail | null> {
    const [taken] = await this.#store.take([job], this.#leaseSeconds);
    return (await taken) ?? null;
  }

  async #releaseTogether(jobs: readonly SendJob[]): Promise<readonly undefined[]> {
    try {
      await this.#store.release(jobs);
    } catch (error) {
      this.#logger.warn('mail left to its lease by the stop', { count: jobs.length, error });
    }
    return jobs.map(() => undefined);
  }

  #recordAlone(email: TakenEmail, outcome: MailOutcome): Promise<RecordedAttempt | null> {
    return this.#store.recordAlone(email, {
      status: outcome.kind === 'retry' ? null : outcome.kind,
      providerMessageId: outcome.kind === 'sent' ? outcome.providerMessageId : null,
      error: outcome.kind === 'failed' ? outcome.error : null,
      notifications: outcome.notifications,
      next: outcome.kind === 'failed' ? null : outcome.next,
    });
  }

  /** @returns null when the batch failed, or left the message out. */
  #recordInBatch(email: TakenEmail, outcome: MailOutcome): Promise<RecordedAttempt | null> {
    switch (outcome.kind) {
      case 'sent':
        return this.#endSent({ email, providerMessageId: outcome.providerMessageId, error: null });
      case 'failed':
        return this.#endFailed({ email, providerMessageId: null, error: outcome.error });
      case 'retry':
        return this.#retryInBatch(retryOf(email, outcome.next));
    }
  }

  /** Each entry resolves to null when its message was left out, and all do when the batch failed. */
  #endInBatch<End extends { readonly email: TakenEmail }>(
    end: (ends: readonly End[]) => Promise<ReadonlyMap<TakenEmail, RecordedAttempt>>,
  ): (end: End) => Promise<RecordedAttempt | null> {
    return grouped<End, RecordedAttempt | null>(async (ends) => {
      try {
        const ended = await end(ends);
        return ends.map(({ email }) => ended.get(email) ?? null);
      } catch (error) {
        // In an outage of Postgres, each message tries every 2 s.
        const level = isOutage(error) ? 'debug' : 'warn';
        this.#logger[level]('mail ends one by one', { count: ends.length, error });
        return ends.map(() => null);
      }
    });
  }
}

/**
 * True when the outcome is for all recipients and has no notifications. After a sent message no recipient
 * may be left to try. A retry must not change the count of unconfirmed attempts.
 */
function isPlain(email: TakenEmail, outcome: MailOutcome): boolean {
  if (email.rest !== null || outcome.notifications.length > 0) return false;
  switch (outcome.kind) {
    case 'sent':
      return outcome.next === null;
    case 'failed':
      return true;
    case 'retry':
      return outcome.next.unconfirmed === email.unconfirmed;
  }
}

function retryOf(email: TakenEmail, { delayMs, attempts }: NextAttempt): RetriedEmail {
  return { email, delayMs, attempts };
}
