export { QUEUE_SCHEMA, type QueueLocation, queueLocation } from './connection.ts';
export { Consumer } from './consumer.ts';
export { evictionFault, evicts } from './eviction-policy.ts';
export {
  type DeliveryJob,
  type JobToAdd,
  type Lane,
  LANES,
  type MailJob,
  QUEUE_KEYS,
  type QueueKey,
} from './jobs.ts';
export { migrateQueueSchema, queueSchemaIsCurrent, requireQueueSchema } from './migrate.ts';
export { openQueueIdentity, queueInWords, queuesInWords, workersElsewhere } from './queue-identity.ts';
export { openQueueWatch, readinessWithQueue, type QueueWatch } from './queue-watch.ts';
export { Producer, type QueueDepth, QueueUnavailableError } from './producer.ts';
export { waitingMax } from './waiting-max.ts';
