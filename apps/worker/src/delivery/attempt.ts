import {
  deliveryHeaderNames,
  envelopeBytes,
  openHeaders,
  signatureHeader,
  standardWebhooksHeaders,
} from '@postrider/domain';
import type { Clock, SecretBox } from '@postrider/domain';
import type { EndpointResult, EndpointClient } from '@postrider/outbound';
import type { TakenDelivery } from '@postrider/store';

/** One attempt, made or refused. Times are on this process's monotonic clock, in milliseconds. */
export interface Attempt {
  readonly result: EndpointResult;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

export interface AttemptParts {
  readonly client: Pick<EndpointClient, 'post'>;
  readonly secrets: Pick<SecretBox, 'open'>;
  /** Prefix of the headers in contract 6.2: `Service` gives `Service-Signature`. */
  readonly headerPrefix: string;
  /** Adds the headers of Standard Webhooks. */
  readonly standardWebhooks: boolean;
  readonly clock: Clock;
}

/**
 * Signs the exact bytes and posts them. The client refuses a forbidden address while it connects.
 *
 * @throws Error for a fault of ours, such as a signing secret that no configured key opens. Such a
 * fault counts as no attempt.
 */
export async function makeAttempt(delivery: TakenDelivery, parts: AttemptParts): Promise<Attempt> {
  const body = envelopeBytes({
    id: delivery.eventId,
    type: delivery.eventType,
    subject: delivery.subject,
    createdAt: delivery.eventCreatedAt,
    data: delivery.eventData,
  });
  const headers = headersOf(delivery, body, parts);
  const startedAtMs = performance.now();
  const result = await parts.client.post({ endpoint: delivery.endpoint, body, headers });
  return { result, startedAtMs, endedAtMs: performance.now() };
}

/** The headers of an attempt. The customer's come first, so that they never replace ours. */
function headersOf(delivery: TakenDelivery, body: Buffer, parts: AttemptParts): Record<string, string> {
  const { eventId: id, eventType, webhookId, headers } = delivery;
  const secret = parts.secrets.open(delivery.secret, webhookId);
  const at = parts.clock.now();
  const names = deliveryHeaderNames(parts.headerPrefix);
  return {
    ...(headers === null ? {} : openHeaders(parts.secrets, headers, webhookId)),
    ...(parts.standardWebhooks ? standardWebhooksHeaders(secret, { id, body, at }) : {}),
    [names.signature]: signatureHeader(secret, body, at),
    [names.eventId]: id,
    [names.eventType]: eventType,
  };
}
