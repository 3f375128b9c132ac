import type { Clock } from '@postrider/domain';
import type { Semaphore } from '@postrider/limits';
import { systemClock } from '@postrider/runtime';
import type { ConfigurationOf, Logger, RelayPass } from '@postrider/runtime';
import { dropExpired } from '@postrider/store';
import type {
  AttemptLog,
  AttemptSums,
  createPool,
  ErasureStore,
  finishRemovals,
  removeInboxes,
} from '@postrider/store';

const STEP_EVERY_MS = 60 * 60 * 1000;
/** A long read of the attempt log makes a step fail. The pass runs it again after 20 s. */
export const STEP_RETRY_AFTER_ERROR_MS = 20_000;
const ERASURES_EVERY_MS = 15_000;
/** An operator must learn of an erasure that is older than this. */
const ERASURE_AGE_MS_MAX = 24 * 60 * 60 * 1000;
const REMOVALS_EVERY_MS = 60 * 1000;
/** Pause while rows of a removal are left. A run takes about 0.5 s per webhook, up to 2 s per inbox. */
const REMOVALS_CONTINUE_AFTER_MS = 1000;
/** The pass `sums` looks every 5 s for a minute that has ended. */
const SUMS_EVERY_MS = 5_000;
/** While ended minutes are left to sum, the pass works a tenth of the time. */
const SUMS_REST_PER_WORK = 9;
const SUMS_REST_MS_MIN = 10;

export interface HousekeepingParts {
  readonly attemptLog: AttemptLog;
  /** Passes that lock the attempt log's default partition run one at a time, in the order of their start. */
  readonly attemptLogMutex: Semaphore;
  readonly pool: ReturnType<typeof createPool>;
  readonly config: Pick<ConfigurationOf<'relay'>, 'attemptRetentionDays'>;
}

/** Each step is its own pass: a step that fails or waits holds up no other step. */
export interface HousekeepingStep {
  /** Name of the pass, and of the log field that holds the result. */
  readonly name: RelayPass;
  /** Resolves to the names of the days made or dropped, or to the number of deleted rows. */
  readonly run: () => Promise<readonly string[] | number>;
}

export function housekeepingSteps({
  attemptLog,
  attemptLogMutex: mutex,
  pool,
  config,
}: HousekeepingParts): HousekeepingStep[] {
  return [
    { name: 'days_made', run: () => mutex.run(() => attemptLog.makeDays()) },
    {
      name: 'days_dropped',
      run: () => mutex.run(() => attemptLog.dropDays(config.attemptRetentionDays)),
    },
    { name: 'records_expired', run: () => dropExpired(pool) },
  ];
}

/** Runs one step and logs what it did. @returns the pause before the next run, in milliseconds. */
export async function housekeepingPass(step: HousekeepingStep, logger: Logger): Promise<number> {
  const done = await step.run();
  const didWork = typeof done === 'number' ? done > 0 : done.length > 0;
  if (didWork) logger.info('housekeeping done', { [step.name]: done });
  return STEP_EVERY_MS;
}

/**
 * Continues the removal of webhooks that a DELETE left unfinished. @returns the pause before the next run, in
 * milliseconds.
 */
export async function removalsPass(
  finish: () => ReturnType<typeof finishRemovals>,
  logger: Logger,
): Promise<number> {
  const { removed, unfinished, failed } = await finish();
  if (removed > 0) logger.info('removals finished', { webhooks: removed });
  for (const { webhookId, error } of failed) logger.warn('removal failed', { webhook_id: webhookId, error });
  return unfinished > 0 ? REMOVALS_CONTINUE_AFTER_MS : REMOVALS_EVERY_MS;
}

/** Deletes the rows of deleted inboxes. @returns the pause before the next run, in milliseconds. */
export async function inboxRemovalsPass(
  remove: () => ReturnType<typeof removeInboxes>,
  logger: Logger,
): Promise<number> {
  const { removed, unfinished } = await remove();
  if (removed > 0) logger.info('removals finished', { inboxes: removed });
  return unfinished > 0 ? REMOVALS_CONTINUE_AFTER_MS : REMOVALS_EVERY_MS;
}

/**
 * Continues an erasure that waits for deliveries or mail to end. @returns the pause before the next run, in
 * milliseconds.
 */
export async function erasuresPass(
  erasures: Pick<ErasureStore, 'resume'>,
  logger: Logger,
  clock: Clock = systemClock,
): Promise<number> {
  const resumed = await erasures.resume();
  if (resumed === null) return ERASURES_EVERY_MS;
  const { accountId, requestedAt, erased, pending, pendingIds, finished } = resumed;
  // The log must not contain the address, because the erasure is meant to forget it.
  const fields = { account_id: accountId, requested_at: requestedAt, erased };
  if (finished) logger.info('person erased', fields);
  else {
    const isLate = clock.now().getTime() - requestedAt.getTime() > ERASURE_AGE_MS_MAX;
    logger[isLate ? 'warn' : 'info']('erasure waits', { ...fields, pending, pending_ids: pendingIds });
  }
  return 0; // another erasure may be due
}

/** Runs one step of the sums of attempts. @returns the pause before the next step, in milliseconds. */
export async function sumsPass(sums: AttemptSums, nowMs = () => performance.now()): Promise<number> {
  const begunAtMs = nowMs();
  if ((await sums.step()) === 'current') return SUMS_EVERY_MS;
  return Math.max(SUMS_REST_MS_MIN, SUMS_REST_PER_WORK * (nowMs() - begunAtMs));
}
