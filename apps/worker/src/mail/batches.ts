import type { Logger } from '@postrider/runtime';
import { StoreUnavailableError } from '@postrider/store';
import type { EndedEmail, MailClaim, MailWork, RetriedEmail, TakenEmail } from '@postrider/store';
import { createBatcher } from '../batcher.ts';
import type { Batcher } from '../batcher.ts';

/** The job for one claim of a message. */
export interface SendJob extends MailClaim {
  /** Earlier claims without a recorded outcome. */
  readonly faults?: number | undefined;
}

/** The store's mail work, one message per call. */
export interface SingleMailWork extends Omit<MailWork, 'take' | 'endTogether' | 'retry' | 'release'> {
  /** @returns null for a stale or duplicate job. */
  take(job: SendJob): Promise<TakenEmail | null>;
  /** @returns false when the message was no longer this worker's. */
  retry(email: TakenEmail, delayMs: number): Promise<boolean>;
  /** Releases a message that was not taken. Never rejects: on failure its lease expires. */
  release(job: SendJob): Promise<void>;
}

const BATCH_SIZE_MAX = 200;

/**
 * Takes and ends messages in batches. A fault of one message does not count against others in its batch. A
 * message that failed internally before goes alone. When a batch fails, its messages are tried one by one.
 */
export function inBatches(
  store: MailWork,
  { leaseSeconds, logger }: { readonly leaseSeconds: number; readonly logger: Logger },
): SingleMailWork {
  const take = createBatcher<SendJob, TakenEmail | null>({
    sizeMax: BATCH_SIZE_MAX,
    run: (jobs) =>
      store.take(jobs, leaseSeconds).catch((error: unknown) => {
        // The take may have been committed. Each message's fault is forgiven.
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

/** Each entry resolves to whether its message has ended: false for all when the batch failed. */
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
