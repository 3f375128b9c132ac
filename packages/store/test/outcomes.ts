import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/testing';
import type {
  DeadAttempt,
  FinishedAttempt,
  HeldDelivery,
  RetriedAttempt,
} from '../src/deliveries/delivery-work.ts';

/** What a worker records of a delivery that it holds. */
export function finished(
  { deliveryId, claim, eventId, webhookId }: HeldDelivery,
  more: Partial<FinishedAttempt> = {},
): FinishedAttempt {
  const held = { deliveryId, claim, eventId, webhookId };
  const times = { startedAgoMs: 60_150, durationMs: 150 };
  return { ...held, ...times, eventType: 'email.sent', statusCode: 200, answer: null, ...more };
}

export function retried(delivery: HeldDelivery, more: Partial<RetriedAttempt> = {}): RetriedAttempt {
  return { ...finished(delivery), statusCode: 503, error: 'HTTP 503', dueInMs: 120_000, ...more };
}

export function died(delivery: HeldDelivery, more: Partial<DeadAttempt> = {}): DeadAttempt {
  const deadLetterId = newId('deadLetter', systemClock);
  const letter = { deadLetterId, reason: 'attempts_exhausted', requestMade: true } as const;
  return { ...finished(delivery), statusCode: 503, error: 'HTTP 503', ...letter, ...more };
}
