import { createSecretBox, retrySchedule } from '@postrider/domain';
import { AddressGuard, EndpointClient } from '@postrider/outbound';
import { ATTEMPTS_PER_SLOT, systemClock } from '@postrider/runtime';
import type { Shell } from '@postrider/runtime';
import { createDeliveryWork } from '@postrider/store';
import type { createPool, Database } from '@postrider/store';
import { leaveToLease, StageFault } from '../stage-fault.ts';
import { makeAttempt } from './attempt.ts';
import type { DeliveryStages } from './deliver.ts';
import { createLoader } from './load.ts';
import { createRecorder } from './record.ts';
import { createReporter } from './report.ts';

export interface DeliveryParts extends Shell<'worker'> {
  readonly database: Database;
  /** The pool for takes: commits need not be durable. */
  readonly leases: ReturnType<typeof createPool>;
  /** The worker writes it into the rows that it takes. */
  readonly workerNumber: number;
  /** Aborted when the worker stops. */
  readonly stopped: AbortSignal;
}

/** Attempts that each lane makes at once. */
export function laneAttempts(config: DeliveryParts['config']) {
  return { fast: ATTEMPTS_PER_SLOT * config.deliveryConcurrency, slow: config.slowLaneConcurrency };
}

/** Builds the stages of a delivery for both lanes, and adds the endpoint client to the stop list. */
export function addDeliveryStages(parts: DeliveryParts): DeliveryStages {
  const { config, lifecycle, logger, metrics, database, leases, workerNumber, stopped } = parts;
  const store = createDeliveryWork(leases, database.pool, {
    onOrphan({ deliveryId, claim, eventId, webhookId }) {
      metrics.orphanedDeliveries.inc();
      const ids = { delivery_id: deliveryId, claim, event_id: eventId, webhook_id: webhookId };
      logger.error('delivery ended: its event is gone', ids);
    },
    onOrphanLeft({ deliveryId, eventId, webhookId }, error) {
      const ids = { delivery_id: deliveryId, event_id: eventId, webhook_id: webhookId };
      leaveToLease(parts, 'delivery', ids, new StageFault('load', error));
    },
  });
  const client = createClient(parts);
  lifecycle.add('endpoint client', { stop: async () => client.close() });
  const attemptParts = {
    client,
    secrets: createSecretBox(config.secretsKey),
    clock: systemClock,
    headerPrefix: config.signatureHeaderPrefix,
    standardWebhooks: config.standardWebhooksHeaders,
  };
  return {
    load: createLoader(store, config.leaseSeconds, workerNumber, stopped),
    attempt: (delivery) => makeAttempt(delivery, attemptParts),
    record: createRecorder(store, systemClock),
    schedule: retrySchedule(config.deliveryRetryDelaysSeconds),
    report: createReporter({ logger, metrics, store }),
  };
}

/**
 * One host may have as many connections as the worker makes attempts at once. Otherwise webhooks that share a
 * host would wait for each other, and time out.
 */
function createClient({ config, logger, metrics }: DeliveryParts): EndpointClient {
  const { fast, slow } = laneAttempts(config);
  return new EndpointClient({
    httpClient: config.deliveryHttpClient,
    timeoutMs: config.deliveryTimeoutMs,
    guard: new AddressGuard({
      allowedNetworks: config.deliveryAllowedNetworks,
      deniedNetworks: config.deliveryDeniedNetworks,
    }),
    socketsPerHost: fast + slow,
    onTripwire: (address) => {
      metrics.tripwires.inc({ name: 'connected-to-refused-address' });
      logger.error('connected to a refused address', { address });
    },
  });
}
