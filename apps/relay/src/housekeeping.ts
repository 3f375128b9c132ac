import type { Logger } from '@postrider/runtime';
import type { Housekeeping, Retention } from '@postrider/store';

const TEND_EVERY_MS = 60 * 60 * 1000;
const REMOVALS_EVERY_MS = 60 * 1000;

/**
 * Keeps the attempt log's partitions ready, and drops what is past its days.
 *
 * @returns the pause before the next turn, in milliseconds.
 */
export async function housekeepingTurn(
  housekeeping: Housekeeping,
  retention: Retention,
  logger: Logger,
): Promise<number> {
  const { made, dropped } = await housekeeping.tendAttemptLog(retention.attemptDays);
  const events = await housekeeping.dropOldEvents(retention.eventDays);
  const expired = await housekeeping.dropExpired();
  if (made.length > 0 || dropped.length > 0 || events > 0 || expired > 0) {
    logger.info('housekeeping done', {
      days_made: made,
      days_dropped: dropped,
      events_dropped: events,
      records_expired: expired,
    });
  }
  return TEND_EVERY_MS;
}

/** Removes webhooks whose DELETE was cut short after its first step. @returns the pause before the next turn. */
export async function removalsTurn(
  housekeeping: Pick<Housekeeping, 'finishRemovals'>,
  logger: Logger,
): Promise<number> {
  const webhooks = await housekeeping.finishRemovals();
  if (webhooks > 0) logger.info('removals finished', { webhooks });
  return REMOVALS_EVERY_MS;
}
