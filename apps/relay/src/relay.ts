import type { WebhookId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { Producer } from '@postrider/queue';
import type { QueueWatch } from '@postrider/queue';
import { announcedSlots, databaseReadiness, systemClock } from '@postrider/runtime';
import type { PeriodicTask, ReadinessCheck, Shell } from '@postrider/runtime';
import {
  createAttemptLog,
  createAttemptSums,
  createDeliveryOutbox,
  createErasureStore,
  createFleet,
  createHealthNoticeStore,
  createHousekeeping,
  createMailOutbox,
  createOperatorEventStore,
  createRecoveryWork,
  createRelaySession,
  createSnapshotWatch,
  makeNoticesAccount,
  outstandingOf,
  readiness,
  readOutstanding,
  readUnsentMail,
} from '@postrider/store';
import type { ParsedWakeUp } from '@postrider/store';
import { DeliveryPass } from './delivery-pass.ts';
import { createFleetWatch } from './fleet-watch.ts';
import type { FleetWatch } from './fleet-watch.ts';
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
import type { RelayPools } from './open-pools.ts';
import { operatorEndpoint, operatorEventsPass } from './operator-events.ts';
import { passMaker } from './pass.ts';
import type { NewPass } from './pass.ts';
import { createQueueDepths } from './queue-depths.ts';
import { RecoveriesPass } from './recoveries-pass.ts';
import { retentionSteps, retentionPass } from './retention.ts';
import { SweepPass } from './sweep-pass.ts';

/** The connections stay open: their opener closes them after the relay has stopped. */
export interface RelayParts extends Shell<'relay'>, RelayPools {
  readonly queueWatch: QueueWatch;
  /** The pause after a failed housekeeping step. Default: 20 s. */
  readonly stepRetryAfterErrorMs?: number;
}

const PAUSE_AFTER_ERROR_MS = 500;
/** Some passes may do their work a minute later. */
const LONG_PAUSE_AFTER_ERROR_MS = 60_000;
/** A pass may hang when Postgres does not answer. */
const STOP_TIMEOUT_MS = 5_000;

/** What the passes share. */
interface Shared extends RelayParts {
  readonly queue: Producer;
  readonly fleet: FleetWatch;
  readonly newPass: NewPass;
}

/**
 * Builds the relay and adds it to the start list. One relay at a time is active: it has all passes. The
 * others stand by: they run only the passes `fleet` and `report`. @returns whether the relay can work now.
 */
export function addRelay(parts: RelayParts): ReadinessCheck {
  const { config, lifecycle, pool, queueWatch, logger, metrics } = parts;
  // A new connection may lead to another Redis, with another eviction policy. So the gauges are read again.
  const queue = new Producer(queueWatch.location, queueWatch.onError, () => gauges.wake());
  lifecycle.add('queue', { stop: () => queue.close() });
  // The operator needs the account, to verify the domain of NOTICE_MAIL_FROM.
  if (config.noticeMailFrom !== undefined) {
    lifecycle.add('notices account', { start: () => makeNoticesAccount(pool) });
  }

  const newPass = passMaker(parts);
  const fleet = createFleetWatch({
    fleet: createFleet(pool),
    defaultSlots: announcedSlots(config),
    queue: queueWatch.identity,
    logger,
    metrics,
  });
  const gauges = createGaugesPass(parts, queue, newPass);
  const always = passesOf([newPass('fleet', () => fleet.run(), PAUSE_AFTER_ERROR_MS), gauges]);
  lifecycle.add('passes of every relay', { start: async () => always.start(), stop: () => always.stop() });

  let active: ReturnType<typeof createActivePasses> | null = null;
  let stopped: Promise<unknown> = Promise.resolve();
  /** Stops the passes. Also waits for passes that an earlier call is still stopping. */
  async function standBy(): Promise<void> {
    stopped = Promise.all([stopped, active?.stop()]);
    active = null;
    await stopped;
  }
  lifecycle.add('passes of the active relay', { stop: standBy });
  // Added last: it starts passes and wakes them. It stops first, so another relay takes over at once.
  const session = createRelaySession({
    databaseUrl: config.databaseUrl,
    applicationName: 'postrider-relay',
    onError: parts.onPostgresError,
    canWork: queueWatch.works,
    // Not `onActive`: a relay that lost Postgres works on, while another one may have the lock.
    onLock: (isHeld) => metrics.relayActive.set(isHeld ? 1 : 0),
    onActive() {
      logger.info('relay is active');
      active = createActivePasses({ ...parts, queue, fleet, newPass });
      active.start();
    },
    onStandby() {
      logger.info(
        queueWatch.works()
          ? 'relay stands by: another one is active'
          : 'relay stands by: it does not reach its queue, and another one does',
      );
      void standBy();
    },
    onWakeUp: (wakeUp) => active?.wake(wakeUp),
  });
  lifecycle.add('session', { start: async () => session.start(), stop: () => session.stop() });
  return () => readinessOf(parts);
}

/**
 * Makes new passes each time: another relay has worked since, so what the old ones knew is out of date.
 */
function createActivePasses(shared: Shared) {
  const { config, pool, logger, metrics, newPass } = shared;
  const deliveries = createDeliveryPasses(shared);
  const mails = createMailPass(shared);
  const housekeeping = createHousekeeping(pool);
  const attemptLogMutex = new Semaphore(1);
  const steps = housekeepingSteps({
    attemptLog: createAttemptLog(pool),
    attemptLogMutex,
    housekeeping,
    config,
  });
  const retention = retentionSteps({ pool, config, attemptLogMutex, metrics, logger });
  const erasures = createErasureStore(pool);
  const sums = createAttemptSums(pool, config);
  const stepRetryMs = shared.stepRetryAfterErrorMs ?? STEP_RETRY_AFTER_ERROR_MS;
  const passes = passesOf([
    ...deliveries.passes,
    mails,
    createRecoveriesPass(shared, (webhookId) => deliveries.wake([webhookId])),
    ...steps.map((step) => newPass(step.name, () => housekeepingPass(step, logger), stepRetryMs)),
    newPass('retention', () => retentionPass(retention, logger), LONG_PAUSE_AFTER_ERROR_MS),
    newPass('erasures', () => erasuresPass(erasures, logger), LONG_PAUSE_AFTER_ERROR_MS),
    newPass('sums', () => sumsPass(sums), LONG_PAUSE_AFTER_ERROR_MS),
    newPass('removals', () => removalsPass(housekeeping, logger), LONG_PAUSE_AFTER_ERROR_MS),
    newPass('inbox_removals', () => inboxRemovalsPass(housekeeping, logger), LONG_PAUSE_AFTER_ERROR_MS),
    ...createNoticePasses(shared, () => mails.wake()),
  ]);
  return {
    ...passes,
    wake({ webhooks, mail, sweep }: ParsedWakeUp): void {
      deliveries.wake(webhooks);
      if (sweep) deliveries.sweepAgain();
      if (mail) mails.wake();
    },
  };
}

async function readinessOf({ pool, queueWatch }: RelayParts): ReturnType<ReadinessCheck> {
  const state = await databaseReadiness(() => readiness(pool));
  return { ...state, parts: { ...state.parts, queue: queueWatch.state(state.parts.postgres) } };
}

function passesOf(passes: readonly PeriodicTask[]) {
  return {
    start: () => passes.forEach((pass) => pass.start()),
    stop: () => Promise.all(passes.map((pass) => pass.stop(STOP_TIMEOUT_MS))),
  };
}

function createGaugesPass(
  { pool, logger, metrics }: RelayParts,
  queue: Producer,
  newPass: NewPass,
): PeriodicTask {
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

/** The pass that claims, and the sweep that finds what was lost. */
function createDeliveryPasses({ config, leases, metrics, queue, fleet, newPass }: Shared) {
  const store = createDeliveryOutbox(leases);
  const pass = new DeliveryPass({
    store,
    queue,
    fleet,
    leaseSeconds: config.leaseSeconds,
    onQueued(leased) {
      metrics.claimedRows.observe({ kind: 'delivery' }, leased.length);
      metrics.reconciledRows.inc(leased.filter((delivery) => delivery.leaseExpired).length);
    },
  });
  const passTask = newPass('deliveries', () => pass.run(), PAUSE_AFTER_ERROR_MS);
  const sweep = new SweepPass({
    store,
    onFound(webhooks) {
      pass.addFound(webhooks);
      if (webhooks.length > 0) passTask.wake();
    },
  });
  const sweepTask = newPass('sweep', () => sweep.run(), PAUSE_AFTER_ERROR_MS);
  return {
    passes: [passTask, sweepTask],
    wake(webhooks: readonly WebhookId[]): void {
      pass.wake(webhooks);
      if (webhooks.length > 0) passTask.wake();
    },
    sweepAgain(): void {
      sweep.sweepAgain();
      sweepTask.wake();
    },
  };
}

function createRecoveriesPass(
  { config, pool, logger, newPass }: Shared,
  onQueued: (webhookId: WebhookId) => void,
): PeriodicTask {
  const recoveries = new RecoveriesPass({
    work: createRecoveryWork(pool),
    outstandingOf: (accountId) => outstandingOf(pool, accountId),
    outstandingMax: config.outstandingDeliveriesPerAccountMax,
    onQueued,
    logger,
  });
  return newPass('recoveries', () => recoveries.run(), PAUSE_AFTER_ERROR_MS);
}

function createMailPass({ config, pool, metrics, queue, newPass }: Shared): PeriodicTask {
  const store = createMailOutbox(pool);
  const depths = createQueueDepths(queue, ['mail'], MAIL_DELAYED_MAX);
  const run = () =>
    mailPass({
      store,
      queue,
      depths,
      leaseSeconds: config.leaseSeconds,
      onQueued: (claimed) => metrics.claimedRows.observe({ kind: 'mail' }, claimed.length),
    });
  return newPass('mail', run, PAUSE_AFTER_ERROR_MS);
}

/** The pass that queues notices about webhooks, and the one that posts the operator's. */
function createNoticePasses(
  { config, pool, logger, metrics, newPass }: Shared,
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
  function onQueued(): void {
    wakeMail();
    operatorPass?.wake();
  }
  const run = () => healthNoticesPass({ store, config, clock: systemClock, logger, onQueued });
  const notices = newPass('health_notices', run, PAUSE_AFTER_ERROR_MS);
  return operatorPass === null ? [notices] : [notices, operatorPass];
}
