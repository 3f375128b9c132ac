import type { WebhookId } from '@postrider/domain';
import { createProducer } from '@postrider/queue';
import type { QueueLocation, Producer } from '@postrider/queue';
import type { Lifecycle, Logger, Metrics, PeriodicTask, RelayPass } from '@postrider/runtime';
import {
  createAttemptLog,
  createDeliveryOutbox,
  createErasureStore,
  createFleet,
  createHousekeeping,
  createMailOutbox,
  createSnapshotWatch,
  createWakeUpListener,
  readOutstanding,
} from '@postrider/store';
import type { createPool } from '@postrider/store';
import type { RelayConfig } from './config.ts';
import { createDeliveryClaims } from './delivery-claims.ts';
import { createDeliveryNews } from './delivery-news.ts';
import { createDeliveryRounds } from './delivery-rounds.ts';
import { createDeliverySweep } from './delivery-sweep.ts';
import { erasuresTurn } from './erasures.ts';
import { createEvictionWatch } from './eviction-policy.ts';
import { createFleetWatch } from './fleet-watch.ts';
import {
  housekeepingSteps,
  housekeepingTurn,
  inboxRemovalsTurn,
  removalsTurn,
  STEP_AGAIN_AFTER_ERROR_MS,
} from './housekeeping.ts';
import { mailTurn } from './mail-pass.ts';
import { createPass } from './pass.ts';
import { REPORT_EVERY_MS, reportTurn } from './reports.ts';
import { retentionSteps, retentionTurn } from './retention.ts';

export interface RelayParts {
  readonly config: RelayConfig;
  readonly location: QueueLocation;
  /** For claims of deliveries. */
  readonly claims: ReturnType<typeof createPool>;
  readonly pool: ReturnType<typeof createPool>;
  readonly logger: Logger;
  readonly metrics: Metrics<'relay'>;
  readonly onQueueError: (error: Error) => void;
  readonly onPostgresError: (error: Error) => void;
}

const PASS_PAUSE_AFTER_ERROR_MS = 500;
const TENDING_PAUSE_AFTER_ERROR_MS = 60_000;
/** A turn may hang when Postgres does not answer. */
const STOP_TIMEOUT_MS = 5_000;

type Timed = (name: RelayPass, turn: () => Promise<number>, pauseAfterErrorMs: number) => PeriodicTask;

/** Builds the relay's passes and adds them to the start list; what wakes them is added last. */
export function addRelay(lifecycle: Lifecycle, parts: RelayParts): void {
  const { config, pool, logger, metrics } = parts;
  // A new connection may lead to another Redis, with another policy.
  const queue = createProducer(parts.location, parts.onQueueError, () => report.wake());
  lifecycle.add('queue', { stop: () => queue.close() });

  const timed: Timed = (name, turn, pauseAfterErrorMs) =>
    createPass({ name, turn, pauseAfterErrorMs, logger, metrics });
  const fleet = createFleetWatch({ fleet: createFleet(pool), slotsOfOne: slotsOf(config) });
  const deliveries = createDeliveryPasses(parts, queue, timed, () => fleet.slots());
  const mails = createMailPass(parts, queue, timed);
  const housekeeping = createHousekeeping(pool);
  const steps = housekeepingSteps({ attemptLog: createAttemptLog(pool), housekeeping, config });
  const retention = retentionSteps({ pool, config, metrics, logger });
  const erasures = createErasureStore(pool);
  const reported = {
    readOutstanding: () => readOutstanding(pool),
    oldestSnapshotSeconds: createSnapshotWatch(pool),
  };
  const onEvictionPolicy = createEvictionWatch(metrics, logger);
  const report = timed(
    'report',
    () => reportTurn(metrics, reported, queue, onEvictionPolicy),
    REPORT_EVERY_MS,
  );
  const passes = [
    ...deliveries.passes,
    mails,
    timed('fleet', () => fleet.turn(), PASS_PAUSE_AFTER_ERROR_MS),
    ...steps.map((step) => timed(step.name, () => housekeepingTurn(step, logger), STEP_AGAIN_AFTER_ERROR_MS)),
    timed('retention', () => retentionTurn(retention, logger), TENDING_PAUSE_AFTER_ERROR_MS),
    timed('erasures', () => erasuresTurn(erasures, logger), TENDING_PAUSE_AFTER_ERROR_MS),
    timed('removals', () => removalsTurn(housekeeping, logger), TENDING_PAUSE_AFTER_ERROR_MS),
    timed('inbox_removals', () => inboxRemovalsTurn(housekeeping, logger), TENDING_PAUSE_AFTER_ERROR_MS),
    report,
  ];
  lifecycle.add('passes', {
    start: async () => passes.forEach((pass) => pass.start()),
    stop: () => Promise.all(passes.map((pass) => pass.stop(STOP_TIMEOUT_MS))),
  });

  const listener = createWakeUpListener({
    databaseUrl: config.databaseUrl,
    applicationName: 'postrider-relay',
    onError: parts.onPostgresError,
    onWakeUp: ({ webhooks, mail, everything }) => {
      deliveries.wake(webhooks, everything);
      if (mail) mails.wake();
    },
  });
  lifecycle.add('wake-ups', { start: async () => listener.start(), stop: () => listener.stop() });
}

/** Deliveries have three passes that share their claims: the rounds, the news beside them, and the sweep. */
function createDeliveryPasses(parts: RelayParts, queue: Producer, timed: Timed, fleetSlots: () => number) {
  const { config, metrics } = parts;
  const store = createDeliveryOutbox(parts.claims);
  const claims = createDeliveryClaims({
    ...{ store, queue, fleetSlots },
    leaseSeconds: config.leaseSeconds,
    onClaim(claimed) {
      metrics.claimedRows.observe({ kind: 'delivery' }, claimed.length);
      metrics.reconciledRows.inc(claimed.filter((delivery) => delivery.leaseExpired).length);
    },
  });
  const rounds = createDeliveryRounds({ store, claims });
  const roundsPass = timed('deliveries', () => rounds.turn(), PASS_PAUSE_AFTER_ERROR_MS);
  const news = createDeliveryNews({
    claims,
    onBacklog(webhooks) {
      rounds.note(webhooks);
      roundsPass.wake();
    },
  });
  const newsPass = timed('news', () => news.turn(), PASS_PAUSE_AFTER_ERROR_MS);
  const sweep = createDeliverySweep({
    ...{ store, claims },
    onFound(webhooks) {
      rounds.noteFound(webhooks);
      roundsPass.wake();
    },
  });
  const sweepPass = timed('sweep', () => sweep.turn(), PASS_PAUSE_AFTER_ERROR_MS);
  return {
    passes: [roundsPass, newsPass, sweepPass],
    wake(webhooks: readonly WebhookId[], everything: boolean): void {
      news.note(webhooks);
      if (webhooks.length > 0) newsPass.wake();
      if (!everything) return;
      sweep.noteEverything();
      sweepPass.wake();
    },
  };
}

/** Of one worker that is set as this relay is: the fast lane's slots, as many parked attempts, the slow lane's slots. */
function slotsOf({ deliveryConcurrency, slowLaneConcurrency }: RelayConfig): number {
  return 2 * deliveryConcurrency + slowLaneConcurrency;
}

function createMailPass({ config, pool, metrics }: RelayParts, queue: Producer, timed: Timed): PeriodicTask {
  const store = createMailOutbox(pool);
  const turn = () =>
    mailTurn({
      ...{ store, queue },
      leaseSeconds: config.leaseSeconds,
      onClaim: (claimed) => metrics.claimedRows.observe({ kind: 'mail' }, claimed.length),
    });
  return timed('mail', turn, PASS_PAUSE_AFTER_ERROR_MS);
}
