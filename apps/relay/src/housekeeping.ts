import type { Logger } from '@postrider/runtime';
import type { Housekeeping, Retention } from '@postrider/store';

const TEND_EVERY_MS = 60 * 60 * 1000;
const REMOVALS_EVERY_MS = 60 * 1000;
/** While a removal has rows left: the database rests at least as long as it worked. */
const REMOVALS_GO_ON_AFTER_MS = 1000;

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

/** Goes on with the removal of webhooks that a DELETE has left behind. @returns the pause before the next turn. */
export async function removalsTurn(
  housekeeping: Pick<Housekeeping, 'finishRemovals'>,
  logger: Logger,
): Promise<number> {
  const { removed, underWay, failed } = await housekeeping.finishRemovals();
  if (removed > 0) logger.info('removals finished', { webhooks: removed });
  for (const { webhookId, error } of failed) logger.warn('removal failed', { webhook_id: webhookId, error });
  return underWay > 0 ? REMOVALS_GO_ON_AFTER_MS : REMOVALS_EVERY_MS;
}
