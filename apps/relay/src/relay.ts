import { createTimetable } from '@postrider/queue';
import type { QueueLocation } from '@postrider/queue';
import type { Lifecycle, Logger, Metrics } from '@postrider/runtime';
import {
  createDeliveryTimetable,
  createHousekeeping,
  createMailTimetable,
  createWakeUpListener,
  readOutstanding,
} from '@postrider/store';
import type { ClaimedDelivery, createPool } from '@postrider/store';
import type { RelayConfig } from './config.ts';
import { createDeliveryPass } from './delivery-pass.ts';
import { housekeepingTurn, removalsTurn } from './housekeeping.ts';
import { mailTurn } from './mail-pass.ts';
import { createPacemaker } from './pacemaker.ts';
import { REPORT_EVERY_MS, reportTurn } from './reports.ts';

export interface RelayParts {
  readonly config: RelayConfig;
  readonly location: QueueLocation;
  readonly pool: ReturnType<typeof createPool>;
  readonly logger: Logger;
  readonly metrics: Metrics<'relay'>;
  readonly onQueueError: (error: Error) => void;
  readonly onStoreError: (error: Error) => void;
}

const PASS_PAUSE_AFTER_ERROR_MS = 500;
const TENDING_PAUSE_AFTER_ERROR_MS = 60_000;

/** Builds the relay's passes and adds them to the start list; what wakes them is added last. */
export function addRelay(lifecycle: Lifecycle, parts: RelayParts): void {
  const { config, pool, logger, metrics } = parts;
  const queue = createTimetable(parts.location, parts.onQueueError);
  lifecycle.add('queue', { stop: () => queue.close() });

  const deliveryPass = createDeliveryPass({
    store: createDeliveryTimetable(pool),
    queue,
    leaseSeconds: config.leaseSeconds,
    onClaim: (claimed) => countClaim(metrics, claimed),
  });
  const mailStore = createMailTimetable(pool);
  const mail = () =>
    mailTurn({
      store: mailStore,
      queue,
      leaseSeconds: config.leaseSeconds,
      onClaim: (claimed) => metrics.claimedRows.observe({ kind: 'mail' }, claimed.length),
    });
  const housekeeping = createHousekeeping(pool);
  const retention = { eventDays: config.eventRetentionDays, attemptDays: config.attemptRetentionDays };

  const tend = () => housekeepingTurn(housekeeping, retention, logger);
  const deliveries = timed('deliveries', () => deliveryPass.turn(), PASS_PAUSE_AFTER_ERROR_MS);
  const mails = timed('mail', mail, PASS_PAUSE_AFTER_ERROR_MS);
  const passes = [
    deliveries,
    mails,
    timed('housekeeping', tend, TENDING_PAUSE_AFTER_ERROR_MS),
    timed('removals', () => removalsTurn(housekeeping, logger), TENDING_PAUSE_AFTER_ERROR_MS),
    timed('report', () => reportTurn(metrics, () => readOutstanding(pool), queue), REPORT_EVERY_MS),
  ];
  lifecycle.add('passes', {
    start: async () => passes.forEach((pass) => pass.start()),
    stop: () => Promise.all(passes.map((pass) => pass.stop())),
  });

  const listener = createWakeUpListener({
    databaseUrl: config.databaseUrl,
    applicationName: 'postrider-relay',
    onError: parts.onStoreError,
    onWakeUp: ({ webhooks, mail: mailQueued, everything }) => {
      deliveryPass.note(webhooks);
      if (everything) deliveryPass.noteEverything();
      if (webhooks.length > 0 || everything) deliveries.wake();
      if (mailQueued) mails.wake();
    },
  });
  lifecycle.add('wake-ups', { start: async () => listener.start(), stop: () => listener.stop() });

  function timed(name: string, turn: () => Promise<number>, pauseAfterErrorMs: number) {
    const measured = async (): Promise<number> => {
      const end = metrics.passDuration.startTimer({ pass: name });
      try {
        return await turn();
      } finally {
        end();
      }
    };
    return createPacemaker({ name, turn: measured, pauseAfterErrorMs, logger });
  }
}

function countClaim(metrics: Metrics<'relay'>, claimed: readonly ClaimedDelivery[]): void {
  metrics.claimedRows.observe({ kind: 'delivery' }, claimed.length);
  metrics.reconciledRows.inc(claimed.filter((delivery) => delivery.lapsed).length);
}
