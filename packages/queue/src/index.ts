export type { QueueLocation } from './connection.ts';
export { createConsumer } from './consumer.ts';
export { QUEUE_KEYS } from './jobs.ts';
export type { DeliveryJob, Lane, MailJob, QueueKey } from './jobs.ts';
export { queueLocation, requireQueueSchema } from './location.ts';
export { migrateQueueSchema, queueSchemaIsCurrent } from './migrate.ts';
export { createTimetable } from './producer.ts';
export { QueueUnavailableError } from './timetable.ts';
export type { Consumer, ConsumerOptions, QueueDepth, Timed, Timetable } from './timetable.ts';
