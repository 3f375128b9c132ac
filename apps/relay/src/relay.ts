import type { WebhookId } from '@postrider/domain';
import { createTimetable } from '@postrider/queue';
import type { QueueLocation, Timetable } from '@postrider/queue';
import type { Lifecycle, Logger, Metrics } from '@postrider/runtime';
import {
  createDeliveryTimetable,
  createHousekeeping,
  createMailTimetable,
  createWakeUpListener,
  readOutstanding,
} from '@postrider/store';
import type { createPool } from '@postrider/store';
import type { RelayConfig } from './config.ts';
import { createDeliveryClaims } from './delivery-claims.ts';
import { createDeliveryNews } from './delivery-news.ts';
import { createDeliveryRounds } from './delivery-rounds.ts';
import { housekeepingTurn, removalsTurn } from './housekeeping.ts';
import { mailTurn } from './mail-pass.ts';
import { createPacemaker } from './pacemaker.ts';
import type { Pacemaker } from './pacemaker.ts';
import { REPORT_EVERY_MS, reportTurn } from './reports.ts';

export interface RelayParts {
  readonly config: RelayConfig;
  readonly location: QueueLocation;
  /** For claims of deliveries. */
  readonly claims: ReturnType<typeof createPool>;
  readonly pool: ReturnType<typeof createPool>;
  readonly logger: Logger;
  readonly metrics: Metrics<'relay'>;
  readonly onQueueError: (error: Error) => void;
  readonly onStoreError: (error: Error) => void;
}

const PASS_PAUSE_AFTER_ERROR_MS = 500;
const TENDING_PAUSE_AFTER_ERROR_MS = 60_000;

type Timed = (name: string, turn: () => Promise<number>, pauseAfterErrorMs: number) => Pacemaker;

/** Builds the relay's passes and adds them to the start list; what wakes them is added last. */
export function addRelay(lifecycle: Lifecycle, parts: RelayParts): void {
  const { config, pool, logger, metrics } = parts;
  const queue = createTimetable(parts.location, parts.onQueueError);
  lifecycle.add('queue', { stop: () => queue.close() });

  const timed = timedFor(parts);
  const deliveries = createDeliveryPasses(parts, queue, timed);
  const mails = createMailPass(parts, queue, timed);
  const housekeeping = createHousekeeping(pool);
  const retention = { eventDays: config.eventRetentionDays, attemptDays: config.attemptRetentionDays };
  const tend = () => housekeepingTurn(housekeeping, retention, logger);
  const passes = [
    ...deliveries.passes,
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
    onWakeUp: ({ webhooks, mail, everything }) => {
      deliveries.wake(webhooks, everything);
      if (mail) mails.wake();
    },
  });
  lifecycle.add('wake-ups', { start: async () => listener.start(), stop: () => listener.stop() });
}

/** Deliveries have two passes that share their claims: the rounds, and the news beside them. */
function createDeliveryPasses(parts: RelayParts, queue: Timetable, timed: Timed) {
  const { config, metrics } = parts;
  const store = createDeliveryTimetable(parts.claims);
  const claims = createDeliveryClaims({
    ...{ store, queue },
    leaseSeconds: config.leaseSeconds,
    onClaim(claimed) {
      metrics.claimedRows.observe({ kind: 'delivery' }, claimed.length);
      metrics.reconciledRows.inc(claimed.filter((delivery) => delivery.lapsed).length);
    },
  });
  const rounds = createDeliveryRounds({ store, claims });
  const roundsPass = timed('deliveries', () => rounds.turn(), PASS_PAUSE_AFTER_ERROR_MS);
  const news = createDeliveryNews({
    claims,
    frontOf: (id) => rounds.frontOf(id),
    onBacklog(webhooks) {
      rounds.note(webhooks);
      roundsPass.wake();
    },
  });
  const newsPass = timed('news', () => news.turn(), PASS_PAUSE_AFTER_ERROR_MS);
  return {
    passes: [roundsPass, newsPass],
    wake(webhooks: readonly WebhookId[], everything: boolean): void {
      news.note(webhooks);
      if (webhooks.length > 0) newsPass.wake();
      if (!everything) return;
      rounds.noteEverything();
      roundsPass.wake();
    },
  };
}

function createMailPass({ config, pool, metrics }: RelayParts, queue: Timetable, timed: Timed): Pacemaker {
  const store = createMailTimetable(pool);
  const turn = () =>
    mailTurn({
      ...{ store, queue },
      leaseSeconds: config.leaseSeconds,
      onClaim: (claimed) => metrics.claimedRows.observe({ kind: 'mail' }, claimed.length),
    });
  return timed('mail', turn, PASS_PAUSE_AFTER_ERROR_MS);
}

function timedFor({ metrics, logger }: RelayParts): Timed {
  return (name, turn, pauseAfterErrorMs) => {
    const measured = async (): Promise<number> => {
      const end = metrics.passDuration.startTimer({ pass: name });
      try {
        return await turn();
      } finally {
        end();
      }
    };
    return createPacemaker({ name, turn: measured, pauseAfterErrorMs, logger });
  };
}
