import type { WebhookId } from '@postrider/domain';
import { Producer, readinessWithQueue } from '@postrider/queue';
import type { QueueWatch } from '@postrider/queue';
import { announcedSlots } from '@postrider/runtime';
import type { PeriodicTask, ReadinessCheck } from '@postrider/runtime';
import { createDeliveryOutbox, createFleet, createRelaySession, makeNoticesAccount } from '@postrider/store';
import type { ParsedWakeUp } from '@postrider/store';
import { DeliveryPass } from './delivery/delivery-pass.ts';
import { createFleetWatch } from './delivery/fleet-watch.ts';
import type { FleetWatch } from './delivery/fleet-watch.ts';
import { createGaugesPass, createOtherPasses } from './other-passes.ts';
import { PAUSE_AFTER_ERROR_MS, passMaker } from './pass.ts';
import type { PassParts, RelayConnections } from './pass.ts';
import { watchQueueWorkers } from './queue-workers.ts';
import { SweepPass } from './delivery/sweep-pass.ts';

export interface RelayParts extends RelayConnections {
  readonly queueWatch: QueueWatch;
}

/** A pass may hang when Postgres does not answer. */
const STOP_TIMEOUT_MS = 5_000;

/** The passes of the active relay get these. */
interface ActiveParts extends PassParts {
  readonly fleet: FleetWatch;
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
    onQueues: watchQueueWorkers({ queue: queueWatch.identity, logger, metrics }),
  });
  const gauges = createGaugesPass({ ...parts, queue, newPass });
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
    // The metric follows the lock, not `onActive`: a relay that lost Postgres works on without the lock.
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
  return readinessWithQueue(pool, queueWatch);
}

/**
 * Makes new passes each time: another relay has worked since, so what the old ones knew is out of date.
 */
function createActivePasses(parts: ActiveParts) {
  const deliveries = createDeliveryPasses(parts);
  const others = createOtherPasses(parts, (webhookId) => deliveries.wake([webhookId]));
  return {
    ...passesOf([...deliveries.passes, ...others.passes]),
    wake({ webhooks, mail, sweep }: ParsedWakeUp): void {
      deliveries.wake(webhooks);
      if (sweep) deliveries.sweepAgain();
      if (mail) others.wakeMail();
    },
  };
}

function passesOf(passes: readonly PeriodicTask[]) {
  return {
    start: () => passes.forEach((pass) => pass.start()),
    stop: () => Promise.all(passes.map((pass) => pass.stop(STOP_TIMEOUT_MS))),
  };
}

/** The pass that claims, and the sweep that finds what was lost. */
function createDeliveryPasses({ config, leases, metrics, queue, fleet, newPass }: ActiveParts) {
  const store = createDeliveryOutbox(leases);
  const pass = new DeliveryPass({
    store,
    queue,
    fleet,
    leaseSeconds: config.leaseSeconds,
    onJobsAdded(leased) {
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
      pass.addWoken(webhooks);
      if (webhooks.length > 0) passTask.wake();
    },
    sweepAgain(): void {
      sweep.sweepAgain();
      sweepTask.wake();
    },
  };
}
