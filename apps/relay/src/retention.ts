import type { Semaphore } from '@postrider/limits';
import type { ConfigurationOf, Logger, Metrics } from '@postrider/runtime';
import {
  dropMailContents,
  dropOldAudit,
  dropOldDeadLetters,
  dropOldEvents,
  dropOldMail,
  dropOldSums,
  dropOldThreads,
  dropReceivedMail,
  dropStrayAttempts,
  dropSurplusDeadLetters,
  isOutage,
} from '@postrider/store';
import type { createPool } from '@postrider/store';

export type RetentionConfig = Pick<
  ConfigurationOf<'relay'>,
  | 'attemptRetentionDays'
  | 'eventRetentionDays'
  | 'mailContentRetentionDays'
  | 'mailRetentionDays'
  | 'inboundRetentionDays'
  | 'deadLetterRetentionDays'
  | 'deadLettersPerWebhookMax'
  | 'auditRetentionDays'
>;

export interface RetentionParts {
  readonly pool: ReturnType<typeof createPool>;
  readonly config: RetentionConfig;
  /** See `HousekeepingParts`. */
  readonly attemptLogMutex: Semaphore;
  readonly metrics: Pick<Metrics<'relay'>, 'deadLettersDropped' | 'receivedMessagesDropped'>;
  readonly logger: Logger;
}

const PASS_EVERY_MS = 60 * 60 * 1000;

/** Deletes rows that are too old or too many. @returns how many rows. */
type RetentionStep = () => Promise<number>;

/**
 * The steps by what they delete; the log uses these names. Rows with a fixed lifetime, such as idempotency
 * keys, are deleted by the pass `records_expired`.
 */
export function retentionSteps({
  pool,
  config,
  attemptLogMutex: mutex,
  metrics,
  logger,
}: RetentionParts): Record<string, RetentionStep> {
  return {
    // Attempts of days without a partition: no relay was running to make it.
    stray_attempts: () => mutex.run(() => dropStrayAttempts(pool, config.attemptRetentionDays)),
    attempt_sums: () => dropOldSums(pool, config.attemptRetentionDays),
    // An event stays as long as its attempts.
    events: () => dropOldEvents(pool, Math.max(config.eventRetentionDays, config.attemptRetentionDays)),
    mail_contents: () => dropMailContents(pool, config.mailContentRetentionDays),
    mail: () => dropOldMail(pool, config.mailRetentionDays),
    async received_messages() {
      const dropped = await dropReceivedMail(pool, config.inboundRetentionDays);
      metrics.receivedMessagesDropped.inc(dropped);
      return dropped;
    },
    threads: () => dropOldThreads(pool, config.inboundRetentionDays),
    async dead_letters() {
      const dropped = await dropOldDeadLetters(pool, config.deadLetterRetentionDays);
      metrics.deadLettersDropped.inc({ reason: 'expired' }, dropped);
      return dropped;
    },
    async surplus_dead_letters() {
      let dropped = 0;
      const surplus = await dropSurplusDeadLetters(pool, config.deadLettersPerWebhookMax);
      for (const { webhookId, letters } of surplus) {
        logger.warn('dead letters over the limit dropped', { webhook_id: webhookId, dropped: letters });
        metrics.deadLettersDropped.inc({ reason: 'over_limit' }, letters);
        dropped += letters;
      }
      return dropped;
    },
    audit: () => dropOldAudit(pool, config.auditRetentionDays),
  };
}

/**
 * Runs all steps, also after one fails. An outage of Postgres ends the run.
 *
 * @returns the pause before the next run, in milliseconds.
 * @throws the error of an outage at once. After all steps it throws the first of their other errors.
 */
export async function retentionPass(
  steps: Readonly<Record<string, RetentionStep>>,
  logger: Logger,
): Promise<number> {
  const faults: unknown[] = [];
  for (const [what, step] of Object.entries(steps)) {
    try {
      const dropped = await step();
      if (dropped > 0) logger.info('retention done', { what, dropped });
    } catch (error) {
      if (isOutage(error)) throw error; // `newPass` logs an outage once
      faults.push(error);
      logger.warn('retention failed', { what, error });
    }
  }
  if (faults.length > 0) throw faults[0];
  return PASS_EVERY_MS;
}
