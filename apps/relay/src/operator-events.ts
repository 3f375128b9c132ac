import { deliveryHeaderNames, signatureHeader } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import type { createBoundedPost } from '@postrider/outbound';
import { messageOf } from '@postrider/runtime';
import type { ConfigurationOf, Logger, Metrics } from '@postrider/runtime';
import type { ClaimedOperatorEvent, OperatorEventStore } from '@postrider/store';

/** The operator's endpoint and what signs its events. */
export interface OperatorEndpoint {
  readonly url: string;
  readonly secret: string;
  /** `Service` gives `Service-Signature`, as on deliveries. */
  readonly headerPrefix: string;
}

export interface OperatorEventsParts {
  readonly store: OperatorEventStore;
  readonly endpoint: OperatorEndpoint;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly metrics: Pick<Metrics<'relay'>, 'operatorEventAttempts'>;
}

const EVENTS_PER_RUN = 10;
const TIMEOUT_MS = 10_000;
/** The posts of a run go at the same time, so all end within the lease. */
const LEASE_SECONDS = 30;
const RETRY_FIRST_SECONDS = 15;
const RETRY_MAX_SECONDS = 3_600;
/** The delays above add up to about 16 hours. */
const ATTEMPTS_MAX = 24;
const IDLE_PAUSE_MS = 2_000;
const BUSY_PAUSE_MS = 20;

/** Made with the first event: the HTTP client takes 15 MB of memory, and most relays post none. */
let boundedPost: ReturnType<typeof createBoundedPost> | undefined;

/** @returns null when no endpoint is configured. */
export function operatorEndpoint(
  config: Pick<
    ConfigurationOf<'relay'>,
    'operatorWebhookUrl' | 'operatorWebhookSecret' | 'signatureHeaderPrefix'
  >,
): OperatorEndpoint | null {
  const {
    operatorWebhookUrl: url,
    operatorWebhookSecret: secret,
    signatureHeaderPrefix: headerPrefix,
  } = config;
  return url === undefined || secret === undefined ? null : { url, secret, headerPrefix };
}

/** Posts due events to the operator. @returns the pause before the next run, in milliseconds. */
export async function operatorEventsPass(parts: OperatorEventsParts): Promise<number> {
  const claimed = await parts.store.claim(EVENTS_PER_RUN, LEASE_SECONDS);
  await Promise.all(claimed.map((event) => attempt(event, parts)));
  return claimed.length === EVENTS_PER_RUN ? BUSY_PAUSE_MS : IDLE_PAUSE_MS;
}

async function attempt(event: ClaimedOperatorEvent, parts: OperatorEventsParts): Promise<void> {
  const { store, logger, metrics } = parts;
  const error = await post(event, parts);
  const fields = { event_id: event.id, event_type: event.type, attempt: event.attempts };
  if (error === null) {
    metrics.operatorEventAttempts.inc({ result: 'done' });
    logger.info('operator_event.attempted', { ...fields, outcome: 'done' });
    await store.drop(event.id);
  } else if (event.attempts >= ATTEMPTS_MAX) {
    metrics.operatorEventAttempts.inc({ result: 'dead' });
    logger.error('operator_event.attempted', { ...fields, outcome: 'dead', error });
    await store.drop(event.id);
  } else {
    metrics.operatorEventAttempts.inc({ result: 'retry' });
    logger.warn('operator_event.attempted', { ...fields, outcome: 'retry', error });
    await store.retry(event.id, Math.min(RETRY_MAX_SECONDS, RETRY_FIRST_SECONDS * 2 ** (event.attempts - 1)));
  }
}

/**
 * Makes one attempt. It follows no redirect and reads no body.
 *
 * @returns null after a 2xx, otherwise the error
 */
async function post(
  { id, type, body }: ClaimedOperatorEvent,
  { endpoint, clock }: OperatorEventsParts,
): Promise<string | null> {
  const bytes = Buffer.from(body, 'utf8');
  const names = deliveryHeaderNames(endpoint.headerPrefix);
  const headers = {
    'content-type': 'application/json',
    [names.signature]: signatureHeader(endpoint.secret, bytes, clock.now()),
    [names.eventId]: id,
    [names.eventType]: type,
  };
  try {
    boundedPost ??= (await import('@postrider/outbound')).createBoundedPost({ timeoutMs: TIMEOUT_MS });
    const answer = await boundedPost(new URL(endpoint.url), bytes, headers);
    if (answer.kind === 'failed') return answer.error;
    return answer.statusCode >= 200 && answer.statusCode < 300 ? null : `HTTP ${answer.statusCode}`;
  } catch (error) {
    return messageOf(error); // for example, this machine has no file descriptor left
  }
}
