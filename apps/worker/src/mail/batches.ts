import type { Logger } from '@postrider/runtime';
import { StoreUnavailableError } from '@postrider/store';
import type { EndedEmail, MailClaim, MailWork, RetriedEmail, TakenEmail } from '@postrider/store';
import { createBatcher } from '../batcher.ts';
import type { Batcher } from '../batcher.ts';

/** The job of a message's hand-over. */
export interface SendJob extends MailClaim {
  /** Earlier hand-overs of which no outcome was recorded. */
  readonly faults?: number | undefined;
}

/** The mail as one hand-over asks for it. */
export interface SingleMailWork extends Omit<MailWork, 'take' | 'endTogether' | 'retry' | 'release'> {
  /** @returns null for a job that is stale or doubled. */
  take(job: SendJob): Promise<TakenEmail | null>;
  /** @returns false when the message was no longer the caller's. */
  retry(email: TakenEmail, delayMs: number): Promise<boolean>;
  /** Frees a message that was not taken. Never rejects: one that could not be freed is left to its lease. */
  release(job: SendJob): Promise<void>;
}

const BATCH_SIZE_MAX = 200;

/**
 * Takes and ends messages in batches. No message pays for its neighbour's fault: one with a fault behind it travels alone, and
 * what a batch could not take or end is tried one by one.
 */
export function inBatches(
  store: MailWork,
  { leaseSeconds, logger }: { readonly leaseSeconds: number; readonly logger: Logger },
): SingleMailWork {
  const take = createBatcher<SendJob, TakenEmail | null>({
    sizeMax: BATCH_SIZE_MAX,
    run: (jobs) =>
      store.take(jobs, leaseSeconds).catch((error: unknown) => {
        // It may have been committed, and each is excused.
        if (error instanceof StoreUnavailableError) throw error;
        return jobs.map(async (job) => {
          const email = await takeAlone(job);
          if (email === null) throw error;
          return email;
        });
      }),
  });
  const takeAlone = async (job: SendJob): Promise<TakenEmail | null> =>
    (await (await store.take([job], leaseSeconds))[0]) ?? null;
  const sent = endBatcher<EndedEmail>((ends) => store.endTogether('sent', ends), logger);
  const failed = endBatcher<EndedEmail>((ends) => store.endTogether('failed', ends), logger);
  const retry = endBatcher<RetriedEmail>((retries) => store.retry(retries), logger);
  const release = createBatcher<SendJob, void>({
    sizeMax: BATCH_SIZE_MAX,
    async run(jobs) {
      try {
        await store.release(jobs);
      } catch (error) {
        logger.warn('mail left to its lease by the stop', { count: jobs.length, error });
      }
      return jobs.map(() => undefined);
    },
  });

  return {
    take: (job) => ((job.faults ?? 0) > 0 ? takeAlone(job) : take.add(job)),
    async sent(email, answer) {
      const { providerMessageId, notifications } = answer;
      const alone = () => store.sent(email, answer);
      if (email.faults > 0 || notifications.length > 0) return alone();
      return (await sent.add({ email, providerMessageId, error: null })) || alone();
    },
    async failed(email, error) {
      const alone = () => store.failed(email, error);
      if (email.faults > 0) return alone();
      return (await failed.add({ email, providerMessageId: null, error })) || alone();
    },
    async retry(email, delayMs) {
      const alone = async () => (await store.retry([{ email, delayMs }])).has(email);
      if (email.faults > 0) return alone();
      return (await retry.add({ email, delayMs })) || alone();
    },
    release: (job) => release.add(job),
    forgiveFault: (job) => store.forgiveFault(job),
  };
}

/** Every entry resolves to whether it has ended: none of a batch that failed. */
function endBatcher<End extends { readonly email: TakenEmail }>(
  end: (ends: readonly End[]) => Promise<ReadonlySet<TakenEmail>>,
  logger: Logger,
): Batcher<End, boolean> {
  return createBatcher<End, boolean>({
    sizeMax: BATCH_SIZE_MAX,
    async run(ends) {
      try {
        const ended = await end(ends);
        return ends.map(({ email }) => ended.has(email));
      } catch (error) {
        logger.warn('mail ends one by one', { count: ends.length, error });
        return ends.map(() => false);
      }
    },
  });
}
