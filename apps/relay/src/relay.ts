import { createTimetable } from '@postrider/queue';
import type { QueueLocation } from '@postrider/queue';
import type { Lifecycle, Logger, Metrics } from '@postrider/runtime';
import {
  createDeliveryTimetable,
  createHousekeeping,
  createMailTimetable,
  createWakeUpListener,
  readBacklog,
} from '@postrider/store';
import type { createPool } from '@postrider/store';
import type { RelayConfig } from './config.ts';
import { createDeliveryPass } from './delivery-pass.ts';
import { housekeepingTurn } from './housekeeping.ts';
import { mailTurn } from './mail-pass.ts';
import { createPacemaker } from './pacemaker.ts';
import { reportTurn } from './reports.ts';

export interface RelayParts {
  readonly config: RelayConfig;
  readonly location: QueueLocation;
  readonly pool: ReturnType<typeof createPool>;
  readonly logger: Logger;
  readonly metrics: Metrics<'relay'>;
  readonly onQueueError: (error: Error) => void;
  readonly onStoreError: (error: Error) => void;
}

/** Builds the relay's passes and adds them to the start list; what wakes them is added last. */
export function addRelay(lifecycle: Lifecycle, parts: RelayParts): void {
  const { config, pool, logger, metrics } = parts;
  const queue = createTimetable(parts.location, parts.onQueueError);
  lifecycle.add('queue', { stop: () => queue.close() });

  const deliveryPass = createDeliveryPass({
    store: createDeliveryTimetable(pool),
    queue,
    leaseSeconds: config.leaseSeconds,
    onClaim: (claimed) => {
      metrics.claimedRows.observe({ kind: 'delivery' }, claimed.length);
      metrics.reconciledRows.inc(claimed.filter((delivery) => delivery.lapsed).length);
    },
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

  const deliveries = timed('deliveries', () => deliveryPass.turn());
  const mails = timed('mail', mail);
  const pacemakers = [
    deliveries,
    mails,
    timed('housekeeping', () => housekeepingTurn(housekeeping, retention, logger)),
    timed('report', () => reportTurn(metrics, () => readBacklog(pool), queue)),
  ];
  for (const pacemaker of pacemakers) {
    lifecycle.add('pass', { start: async () => pacemaker.start(), stop: () => pacemaker.stop() });
  }

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

  function timed(pass: string, turn: () => Promise<number>) {
    const measured = async (): Promise<number> => {
      const end = metrics.passDuration.startTimer({ pass });
      try {
        return await turn();
      } finally {
        end();
      }
    };
    return createPacemaker(pass, measured, logger);
  }
}
