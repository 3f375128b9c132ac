import type { WebhookId } from '@postrider/domain';
import type { Attempt } from './attempt.ts';
import type { LoadedDelivery } from './load.ts';

export interface TurnParts {
  readonly waitsForSpareTime: (delivery: LoadedDelivery) => boolean;
  /** Resolves when it is the webhook's turn. */
  readonly spareTime: (webhookId: WebhookId) => Promise<void>;
  /** What an attempt takes at the most. */
  readonly attemptMs: number;
  /** Told of a delivery whose turn came too late. */
  readonly onLate: (delivery: LoadedDelivery) => void;
}

/**
 * Makes attempts, those that wait for spare time in their turn.
 *
 * @returns null when it might outlast the delivery's lease: whoever has it next may have been answered meanwhile.
 */
export function inTurn(
  makeAttempt: (delivery: LoadedDelivery) => Promise<Attempt>,
  { waitsForSpareTime, spareTime, attemptMs, onLate }: TurnParts,
): (delivery: LoadedDelivery) => Promise<Attempt | null> {
  return async (delivery) => {
    if (waitsForSpareTime(delivery)) await spareTime(delivery.webhookId);
    if (performance.now() + attemptMs <= delivery.leaseEndsAtMs) return makeAttempt(delivery);
    onLate(delivery);
    return null;
  };
}
