import type { Logger, RelayPass } from '@postrider/runtime';
import type { AttemptLog, Housekeeping } from '@postrider/store';
import type { RelayConfig } from './config.ts';

const STEP_EVERY_MS = 60 * 60 * 1000;
/** A reader of the attempt log that kept a day from being made has gone: the day is there within half a minute. */
export const STEP_RETRY_AFTER_ERROR_MS = 20_000;
const REMOVALS_EVERY_MS = 60 * 1000;
/** While a removal has rows left: the database rests at least as long as it worked. */
const REMOVALS_CONTINUE_AFTER_MS = 1000;

export interface HousekeepingParts {
  readonly attemptLog: AttemptLog;
  readonly housekeeping: Pick<Housekeeping, 'dropExpired'>;
  readonly config: Pick<RelayConfig, 'attemptRetentionDays'>;
}

/** Each step is a pass of its own: one that fails, or waits, keeps no other from being done. */
export interface HousekeepingStep {
  /** Of the pass, and of the field in the log that says what was done. */
  readonly name: RelayPass;
  /** @returns the days, or the number of rows. */
  run(): Promise<readonly string[] | number>;
}

export function housekeepingSteps({
  attemptLog,
  housekeeping,
  config,
}: HousekeepingParts): HousekeepingStep[] {
  return [
    { name: 'days_made', run: () => attemptLog.makeDays() },
    { name: 'days_dropped', run: () => attemptLog.dropDays(config.attemptRetentionDays) },
    { name: 'records_expired', run: () => housekeeping.dropExpired() },
  ];
}

/** Does one step and says what it did. @returns the pause before the next turn, in milliseconds. */
export async function housekeepingPass(step: HousekeepingStep, logger: Logger): Promise<number> {
  const done = await step.run();
  const some = typeof done === 'number' ? done > 0 : done.length > 0;
  if (some) logger.info('housekeeping done', { [step.name]: done });
  return STEP_EVERY_MS;
}

/** Goes on with the removal of webhooks that a DELETE has left behind. @returns the pause before the next turn. */
export async function removalsPass(
  housekeeping: Pick<Housekeeping, 'finishRemovals'>,
  logger: Logger,
): Promise<number> {
  const { removed, underWay, failed } = await housekeeping.finishRemovals();
  if (removed > 0) logger.info('removals finished', { webhooks: removed });
  for (const { webhookId, error } of failed) logger.warn('removal failed', { webhook_id: webhookId, error });
  return underWay > 0 ? REMOVALS_CONTINUE_AFTER_MS : REMOVALS_EVERY_MS;
}

/** Deletes the rows of deleted inboxes. @returns the pause before the next turn. */
export async function inboxRemovalsPass(
  housekeeping: Pick<Housekeeping, 'removeInboxes'>,
  logger: Logger,
): Promise<number> {
  const { removed, underWay } = await housekeeping.removeInboxes();
  if (removed > 0) logger.info('removals finished', { inboxes: removed });
  return underWay > 0 ? REMOVALS_CONTINUE_AFTER_MS : REMOVALS_EVERY_MS;
}
