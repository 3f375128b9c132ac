import type { WebhookId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { systemClock } from '@postrider/runtime';
import type { PeriodicTask } from '@postrider/runtime';
import {
  createAttemptLog,
  createAttemptSums,
  createErasureStore,
  createHealthNoticeStore,
  createMailOutbox,
  createOperatorEventStore,
  createRecoveryWork,
  createSnapshotWatch,
  finishRemovals,
  outstandingOf,
  readOutstanding,
  readUnsentMail,
  removeInboxes,
} from '@postrider/store';
import { createEvictionWatch, GAUGES_EVERY_MS, gaugesPass } from './gauges.ts';
import { healthNoticesPass } from './health-notices.ts';
import {
  erasuresPass,
  housekeepingPass,
  housekeepingSteps,
  inboxRemovalsPass,
  removalsPass,
  STEP_RETRY_AFTER_ERROR_MS,
  sumsPass,
} from './housekeeping.ts';
import { MAIL_DELAYED_MAX, mailPass } from './mail-pass.ts';
import { operatorEndpoint, operatorEventsPass } from './operator-events.ts';
import { PAUSE_AFTER_ERROR_MS } from './pass.ts';
import type { PassParts } from './pass.ts';
import { createQueueDepths } from './delivery/queue-depths.ts';
import { RecoveriesPass } from './recoveries-pass.ts';
import { retentionSteps, retentionPass } from './retention.ts';

/** These passes are not urgent: after an error they wait a minute. */
const LONG_PAUSE_AFTER_ERROR_MS = 60_000;

/**
 * The passes of the active relay that move no deliveries.
 *
 * @param onDeliveriesMade is called when a recovery has made deliveries of this webhook.
 */
export function createOtherPasses(parts: PassParts, onDeliveriesMade: (webhookId: WebhookId) => void) {
  const { config, pool, logger, metrics, newPass } = parts;
  const mails = createMailPass(parts);
  const attemptLogMutex = new Semaphore(1);
  const steps = housekeepingSteps({
    attemptLog: createAttemptLog(pool),
    attemptLogMutex,
    pool,
    config,
  });
  const retention = retentionSteps({ pool, config, attemptLogMutex, metrics, logger });
  const erasures = createErasureStore(pool);
  const sums = createAttemptSums(pool, config);
  const stepRetryMs = parts.stepRetryAfterErrorMs ?? STEP_RETRY_AFTER_ERROR_MS;
  return {
    passes: [
      mails,
      createRecoveriesPass(parts, onDeliveriesMade),
      ...steps.map((step) => newPass(step.name, () => housekeepingPass(step, logger), stepRetryMs)),
      newPass('retention', () => retentionPass(retention, logger), LONG_PAUSE_AFTER_ERROR_MS),
      newPass('erasures', () => erasuresPass(erasures, logger), LONG_PAUSE_AFTER_ERROR_MS),
      newPass('sums', () => sumsPass(sums), LONG_PAUSE_AFTER_ERROR_MS),
      newPass('removals', () => removalsPass(() => finishRemovals(pool), logger), LONG_PAUSE_AFTER_ERROR_MS),
      newPass(
        'inbox_removals',
        () => inboxRemovalsPass(() => removeInboxes(pool), logger),
        LONG_PAUSE_AFTER_ERROR_MS,
      ),
      ...createNoticePasses(parts, () => mails.wake()),
    ],
    wakeMail: () => mails.wake(),
  };
}

/** Each relay has this pass, not only the active one. */
export function createGaugesPass({ pool, queue, logger, metrics, newPass }: PassParts): PeriodicTask {
  const gauges = {
    metrics,
    queue,
    readOutstanding: () => readOutstanding(pool),
    readUnsentMail: () => readUnsentMail({ pool }),
    oldestSnapshotSeconds: createSnapshotWatch(pool),
    onEvictionPolicy: createEvictionWatch(metrics, logger),
  };
  return newPass('report', () => gaugesPass(gauges), GAUGES_EVERY_MS);
}

function createRecoveriesPass(
  { config, pool, logger, newPass }: PassParts,
  onDeliveriesMade: (webhookId: WebhookId) => void,
): PeriodicTask {
  const recoveries = new RecoveriesPass({
    work: createRecoveryWork(pool),
    outstandingOf: (accountId) => outstandingOf(pool, accountId),
    outstandingMax: config.outstandingDeliveriesPerAccountMax,
    onDeliveriesMade,
    logger,
  });
  return newPass('recoveries', () => recoveries.run(), PAUSE_AFTER_ERROR_MS);
}

function createMailPass({ config, pool, metrics, queue, newPass }: PassParts): PeriodicTask {
  const store = createMailOutbox(pool);
  const depths = createQueueDepths(queue, ['mail'], MAIL_DELAYED_MAX);
  const run = () =>
    mailPass({
      store,
      queue,
      depths,
      leaseSeconds: config.leaseSeconds,
      onJobsAdded: (claimed) => metrics.claimedRows.observe({ kind: 'mail' }, claimed.length),
    });
  return newPass('mail', run, PAUSE_AFTER_ERROR_MS);
}

/** The pass that queues notices about webhooks, and the one that posts events to the operator. */
function createNoticePasses(
  { config, pool, logger, metrics, newPass }: PassParts,
  wakeMail: () => void,
): PeriodicTask[] {
  const store = createHealthNoticeStore(pool, systemClock);
  const operatorEvents = createOperatorEventStore(pool);
  const endpoint = operatorEndpoint(config);
  const operatorPass =
    endpoint === null
      ? null
      : newPass(
          'operator_events',
          () => operatorEventsPass({ store: operatorEvents, endpoint, clock: systemClock, logger, metrics }),
          PAUSE_AFTER_ERROR_MS,
        );
  function onNoticesMade(): void {
    wakeMail();
    operatorPass?.wake();
  }
  const run = () => healthNoticesPass({ store, config, clock: systemClock, logger, onNoticesMade });
  const notices = newPass('health_notices', run, PAUSE_AFTER_ERROR_MS);
  return operatorPass === null ? [notices] : [notices, operatorPass];
}
