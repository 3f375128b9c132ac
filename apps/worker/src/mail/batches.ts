import type { MailOutcome } from '@postrider/domain';
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
 * others in its batch. A message that failed internally before goes alone. When a batch fails, its
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
   * Records an attempt. Plain outcomes go in batches. An outcome with reports or with a rest of recipients
   * goes alone.
   *
   * @returns null when the message was no longer this worker's.
   */
  async record(email: TakenEmail, outcome: MailOutcome): Promise<RecordedAttempt | null> {
    const { kind, notifications } = outcome;
    const providerMessageId = kind === 'sent' ? outcome.providerMessageId : null;
    const error = kind === 'failed' ? outcome.error : null;
    const next = kind === 'failed' ? null : outcome.next;
    // Plain: all recipients, no notifications, and nothing follows but a retry that changes no count of
    // unconfirmed attempts.
    const isPlain =
      email.rest === null &&
      notifications.length === 0 &&
      (kind === 'retry' ? outcome.next.unconfirmed === email.unconfirmed : next === null);
    const status = kind === 'retry' ? null : kind;
    const alone = () =>
      this.#store.reported(email, { status, providerMessageId, error, notifications, next });
    if (!isPlain) return alone();
    // A batch answers null when it failed, or left the message out. Then the message is recorded alone. A
    // message with faults goes alone at once.
    const together = email.faults === 0;
    switch (kind) {
      case 'sent':
      case 'failed': {
        const endInBatch = kind === 'sent' ? this.#endSent : this.#endFailed;
        return (together ? await endInBatch({ email, providerMessageId, error }) : null) ?? alone();
      }
      case 'retry': {
        const { delayMs, attempts } = outcome.next;
        const retried = { email, delayMs, attempts };
        const recorded = together ? await this.#retryInBatch(retried) : null;
        if (recorded !== null) return recorded;
        return (await this.#store.retry([retried])).has(email) ? { eventId: null } : null;
      }
    }
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
      // The take may have been committed. Each message's fault is forgiven.
      if (error instanceof StoreUnavailableError) throw error;
      return jobs.map(async (job) => {
        const email = await this.#takeAlone(job);
        if (email === null) throw error;
        return email;
      });
    }
  }

  async #takeAlone(job: SendJob): Promise<TakenEmail | null> {
    return (await (await this.#store.take([job], this.#leaseSeconds))[0]) ?? null;
  }

  async #releaseTogether(jobs: readonly SendJob[]): Promise<readonly undefined[]> {
    try {
      await this.#store.release(jobs);
    } catch (error) {
      this.#logger.warn('mail left to its lease by the stop', { count: jobs.length, error });
    }
    return jobs.map(() => undefined);
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
