import { DEAD_LETTER_REASONS, HELD_REASONS, PROBLEMS } from '@postrider/domain';
import type { ProcessName } from '../config/setting.ts';
import { POSTGRES_CODES } from './error-code.ts';

/*
 * Every metric: name, meaning and labels. Names follow Prometheus: the unit is the last word, and counters
 * end in `_total`. A label has few values: never an id, an endpoint or a path with ids.
 */

type LabelValues = Readonly<Record<string, string>>;

interface Metric {
  /** The processes that have the metric. In any other process it would show a false zero. */
  processes: readonly ProcessName[];
  kind: 'counter' | 'gauge' | 'histogram';
  name: string;
  help: string;
  labels: readonly string[];
  /** The counter shows 0 for these from the start: PromQL's `increase()` misses a series that begins at 1. */
  startingLabels?: readonly LabelValues[];
  /** Upper bounds of a histogram, in the unit of the name. */
  buckets?: readonly number[];
}

/** Reaches beyond 10 s, the default time limit of an attempt. */
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 15, 30];
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const PASS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const BATCH_ROWS = [0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** Problems with a 5xx. */
const FAILURES = Object.entries(PROBLEMS).flatMap(([slug, { status }]) => (status >= 500 ? [slug] : []));

/** The relay's passes, and what each does. The names are the values of the label `pass`. */
export const RELAY_PASSES = {
  deliveries: 'claims due deliveries',
  sweep: 'finds due deliveries that nothing else found',
  mail: 'claims mail to send',
  recoveries: 'queues events of recoveries',
  fleet: 'counts the workers and their slots',
  days_made: 'makes partitions of attempts',
  days_dropped: 'drops old partitions of attempts',
  records_expired: 'deletes expired records',
  retention: 'deletes what is past its retention',
  erasures: 'finishes erasures of persons',
  removals: 'finishes removals of webhooks',
  sums: 'adds up attempts by minute and hour',
  inbox_removals: 'finishes removals of inboxes',
  health_notices: 'tells who must know of webhooks that fail or are well again',
  operator_events: 'posts events to OPERATOR_WEBHOOK_URL',
  report: 'sets the gauges',
} as const;

export type RelayPass = keyof typeof RELAY_PASSES;

/** Returns each combination of the values, for `startingLabels`. @param values all values of each label */
function each(values: Readonly<Record<string, readonly string[]>>): readonly LabelValues[] {
  return Object.entries(values).reduce<readonly LabelValues[]>(
    (sets, [label, words]) => sets.flatMap((set) => words.map((word) => ({ ...set, [label]: word }))),
    [{}],
  );
}

const RELAY_PASS_LIST = Object.entries(RELAY_PASSES)
  .map(([pass, does]) => `${pass} (${does})`)
  .join(', ');

export const metricCatalogue = {
  httpRequests: {
    processes: ['api'],
    kind: 'counter',
    name: 'postrider_http_requests_total',
    help: 'Requests to the API, by route pattern, method and status code (none: the client left before the answer).',
    labels: ['method', 'route', 'status'],
  },
  httpFailures: {
    processes: ['api'],
    kind: 'counter',
    name: 'postrider_http_failures_total',
    help: `Requests that the API answered with a 5xx, by problem: ${FAILURES.join(', ')}. Without /readyz.`,
    labels: ['problem'],
    startingLabels: each({ problem: FAILURES }),
  },
  httpRequestDuration: {
    processes: ['api'],
    kind: 'histogram',
    name: 'postrider_http_request_duration_seconds',
    help: 'Time from the request to the end of the answer, by route pattern (unmatched: no such route) and method.',
    labels: ['method', 'route'],
    buckets: REQUEST_SECONDS,
  },
  deliveryAttempts: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_delivery_attempts_total',
    help: 'Delivery attempts by result: done, retry (another attempt follows), dead (dead-lettered).',
    labels: ['result'],
    startingLabels: each({ result: ['done', 'retry', 'dead'] }),
  },
  attemptDuration: {
    processes: ['worker'],
    kind: 'histogram',
    name: 'postrider_delivery_attempt_duration_seconds',
    help: 'Time of one delivery attempt: name lookup, connect, TLS, and the answer: its head and up to 16 KiB of its body.',
    labels: [],
    buckets: ATTEMPT_SECONDS,
  },
  deliveryLateness: {
    processes: ['worker'],
    kind: 'histogram',
    name: 'postrider_delivery_lateness_seconds',
    help: 'Time between the moment an attempt was due and its start.',
    labels: [],
    buckets: ATTEMPT_SECONDS,
  },
  deadLetters: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_dead_letters_total',
    help: 'Deliveries that became dead letters, by reason: attempts_exhausted, rejected.',
    labels: ['reason'],
    startingLabels: each({ reason: DEAD_LETTER_REASONS }),
  },
  workLeftToLease: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_work_left_to_lease_total',
    help: 'Work that an internal error ended; it is repeated when its lease ends. By work (delivery, mail) and stage: load, attempt, record, hand_over, other.',
    labels: ['work', 'stage'],
    startingLabels: [
      ...each({ work: ['delivery'], stage: ['load', 'attempt', 'record', 'other'] }),
      ...each({ work: ['mail'], stage: ['load', 'hand_over', 'record', 'other'] }),
    ],
  },
  orphanedDeliveries: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_orphaned_deliveries_total',
    help: 'Deliveries that ended because their event was missing in the database. Each is an event that an endpoint never got.',
    labels: [],
  },
  mailSends: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_mail_sends_total',
    help: 'Messages sent to the mail provider, by result: sent, retry (another attempt follows), failed. A message that Postrider stops before it asks the provider does not count: for example every recipient is suppressed, or the account is suspended.',
    labels: ['result'],
    startingLabels: each({ result: ['sent', 'retry', 'failed'] }),
  },
  mailUnconfirmed: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_mail_unconfirmed_total',
    help: 'Attempts that gave a whole message to the mail server and got no answer. Another attempt may make a copy.',
    labels: [],
  },
  mailThrottled: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_mail_throttled_total',
    help: 'Answers of the mail provider that it takes no more mail for now. The message waits, and no attempt counts.',
    labels: [],
  },
  mailGivenUp: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_mail_given_up_total',
    help: 'Messages that became email.failed after 8 attempts with internal errors. Any value but 0 is an error to look for.',
    labels: [],
  },
  operatorEventAttempts: {
    processes: ['relay'],
    kind: 'counter',
    name: 'postrider_operator_event_attempts_total',
    help: 'Attempts to post an event to OPERATOR_WEBHOOK_URL, by result: done, retry (another attempt follows), dead (given up).',
    labels: ['result'],
    startingLabels: each({ result: ['done', 'retry', 'dead'] }),
  },
  claimedRows: {
    processes: ['relay'],
    kind: 'histogram',
    name: 'postrider_relay_claimed_rows',
    help: 'Rows in one claim of the relay, by kind: delivery, mail.',
    labels: ['kind'],
    buckets: BATCH_ROWS,
  },
  passDuration: {
    processes: ['relay'],
    kind: 'histogram',
    name: 'postrider_relay_pass_duration_seconds',
    help: `Time of one run of a pass of the relay, by pass: ${RELAY_PASS_LIST}.`,
    labels: ['pass'],
    buckets: PASS_SECONDS,
  },
  passesFailed: {
    processes: ['relay'],
    kind: 'counter',
    name: 'postrider_passes_failed_total',
    help: 'Runs of a pass of the relay that failed, by pass. The log line `pass failed` names the reason.',
    labels: ['pass'],
    startingLabels: each({ pass: Object.keys(RELAY_PASSES) }),
  },
  reconciledRows: {
    processes: ['relay'],
    kind: 'counter',
    name: 'postrider_relay_reconciled_rows_total',
    help: 'Deliveries that the relay claimed again because their lease had ended. Rises when Redis lost jobs or a worker died.',
    labels: [],
  },
  deadLettersDropped: {
    processes: ['relay'],
    kind: 'counter',
    name: 'postrider_dead_letters_dropped_total',
    help: 'Dead letters deleted by retention, by reason: expired, over_limit (the oldest of a webhook with too many).',
    labels: ['reason'],
    startingLabels: each({ reason: ['expired', 'over_limit'] }),
  },
  receivedMessagesDropped: {
    processes: ['relay'],
    kind: 'counter',
    name: 'postrider_received_messages_dropped_total',
    help: 'Received messages deleted by retention.',
    labels: [],
  },
  queueDepth: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_queue_jobs',
    help: 'Deliveries or messages in the queue (Redis or Postgres), by queue (fast, slow, mail) and state (waiting, delayed).',
    labels: ['queue', 'state'],
  },
  relayActive: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_relay_active',
    help: 'Whether this relay is the active one: 1, or 0 while it stands by or has no session with Postgres. One relay at a time is active.',
    labels: [],
  },
  queueWorkers: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_queue_workers',
    help: "Running workers that take jobs from this relay's queue. 0 while nothing is delivered: no worker runs, or all use another queue.",
    labels: [],
  },
  redisEvicts: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_redis_may_evict',
    help: "Whether Redis may evict keys: 1 when its maxmemory-policy is not noeviction, else 0. Read with each of the relay's connections, and every 15 s.",
    labels: [],
  },
  outstandingDeliveries: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_outstanding_deliveries',
    help: 'Deliveries that are neither done nor dead letters.',
    labels: [],
  },
  oldestDueAge: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_oldest_due_age_seconds',
    help: 'How long the oldest due delivery has been waiting. 0 when nothing is due. The number to alert on.',
    labels: [],
  },
  oldestFirstAttemptAge: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_oldest_first_attempt_age_seconds',
    help: 'How long the oldest delivery without an attempt has been due, also while a worker has it. 0 when there is none.',
    labels: [],
  },
  unsentMail: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_unsent_mail',
    help: 'Messages that wait for the mail provider, also those that a worker sends now. Counted up to 10,000.',
    labels: [],
  },
  oldestUnsentMailAge: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_oldest_unsent_mail_age_seconds',
    help: 'How long the oldest message for the mail provider has been due, also while a worker sends it. 0 when none is due.',
    labels: [],
  },
  oldestSnapshotAge: {
    processes: ['relay'],
    kind: 'gauge',
    name: 'postrider_oldest_snapshot_age_seconds',
    help: 'Age of the oldest snapshot that keeps Postgres from removing dead rows: a dump, a report, a standby. Not older than the relay process.',
    labels: [],
  },
  limiterFailures: {
    processes: ['api'],
    kind: 'counter',
    name: 'postrider_rate_limiter_failures_total',
    help: 'Requests refused with 429 because the store of the rate limiter did not answer in time.',
    labels: [],
  },
  providerNotifications: {
    processes: ['api'],
    kind: 'counter',
    name: 'postrider_provider_notifications_total',
    help: 'SNS notifications, by result. Accepted: recorded, received (mail that SES received), repeated, unknown_mail, test_mail, ignored, confirmed, unsubscribed. Refused: bucket_refused, bad_envelope, unknown_topic, untrusted_certificate, bad_signature, too_old, confirmation_refused. SNS sends again: unavailable.',
    labels: ['result'],
    startingLabels: each({
      result: [
        ...['recorded', 'received', 'repeated', 'unknown_mail', 'test_mail', 'ignored', 'confirmed'],
        ...['unsubscribed', 'bucket_refused', 'bad_envelope', 'unknown_topic', 'untrusted_certificate'],
        ...['bad_signature', 'too_old', 'confirmation_refused', 'unavailable'],
      ],
    }),
  },
  inboundMessages: {
    processes: ['inbound'],
    kind: 'counter',
    name: 'postrider_inbound_messages_total',
    help: 'Messages from senders and from SES, by result: received, held, repeated (same bytes), nobody (no recipient left), later (451; mail from SES is retried), refused (from SES only). The reason is that of held messages; of later: postgres, blobs, screening (a scanner is away), author_dns (no name server answers for the author’s domain), s3, other; of refused: gone, too_big, tried_out.',
    labels: ['result', 'reason'],
    startingLabels: [
      ...each({ result: ['received', 'repeated', 'nobody'], reason: [''] }),
      ...each({ result: ['held'], reason: HELD_REASONS }),
      ...each({ result: ['later'], reason: ['postgres', 'blobs', 'screening', 'author_dns', 's3', 'other'] }),
      ...each({ result: ['refused'], reason: ['gone', 'too_big', 'tried_out'] }),
    ],
  },
  inboundStageDuration: {
    processes: ['inbound'],
    kind: 'histogram',
    name: 'postrider_inbound_stage_duration_seconds',
    help: 'Time of one stage of a received message, by stage: fetch (from SES’s bucket), parse, authenticate, scan, blobs, store.',
    labels: ['stage'],
    buckets: ATTEMPT_SECONDS,
  },
  inboundBacklog: {
    processes: ['inbound'],
    kind: 'gauge',
    name: 'postrider_inbound_backlog',
    help: 'Messages that SES announced and that no process has stored yet, in the whole system.',
    labels: [],
  },
  inboundSessions: {
    processes: ['inbound'],
    kind: 'gauge',
    name: 'postrider_inbound_sessions',
    help: 'Open SMTP sessions.',
    labels: [],
  },
  inboundRefusals: {
    processes: ['inbound'],
    kind: 'counter',
    name: 'postrider_inbound_refusals_total',
    help: 'Answers with 4xx and 5xx to SMTP clients, by code and reason. unavailable: a recipient was not judged, or a message not received in time.',
    labels: ['code', 'reason'],
    startingLabels: each({ code: ['451'], reason: ['unavailable'] }),
  },
  inboundThreadsLost: {
    processes: ['inbound'],
    kind: 'counter',
    name: 'postrider_inbound_threads_lost_total',
    help: 'Worker threads ended by a message that took too much time or memory, by stage: parse, authenticate. One such message ends two.',
    labels: ['stage'],
    startingLabels: each({ stage: ['parse', 'authenticate'] }),
  },
  blobSweeps: {
    processes: ['inbound'],
    kind: 'counter',
    name: 'postrider_blob_sweeps_total',
    help: 'Sweeps of the blob store by this process, by result: done, failed (the blob store or Postgres is away). The next try is due in 6 hours, or in 10 minutes when a sweep could not begin.',
    labels: ['result'],
    startingLabels: each({ result: ['done', 'failed'] }),
  },
  blobsSwept: {
    processes: ['inbound'],
    kind: 'counter',
    name: 'postrider_blobs_swept_total',
    help: 'Blobs that a sweep removed: older than a day, and without a message.',
    labels: [],
  },
  tripwires: {
    processes: ['worker'],
    kind: 'counter',
    name: 'postrider_tripwires_total',
    help: 'Events that must never happen, by name: connected-to-refused-address. Any value but 0 is a bug to report.',
    labels: ['name'],
    startingLabels: each({ name: ['connected-to-refused-address'] }),
  },
  postgresErrors: {
    processes: ['api', 'relay', 'worker', 'inbound', 'console'],
    kind: 'counter',
    name: 'postrider_postgres_errors_total',
    help: 'Connections to Postgres that broke, wake-ups that failed and errors of a queue in Postgres, by SQLSTATE or connection error code. The API also counts requests and limiter charges that failed because of Postgres. Other failed statements count in the metrics of their work, if it has any: postrider_passes_failed_total, postrider_work_left_to_lease_total, postrider_inbound_messages_total, postrider_inbound_refusals_total.',
    labels: ['code'],
    startingLabels: each({ code: POSTGRES_CODES }),
  },
  redisErrors: {
    processes: ['api', 'relay', 'worker'],
    kind: 'counter',
    name: 'postrider_redis_errors_total',
    help: 'Commands and connections to Redis that failed, by client: queue, worker, limiter.',
    labels: ['client'],
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricCatalogue = typeof metricCatalogue;
