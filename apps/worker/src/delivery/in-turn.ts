import type { WebhookId } from '@postrider/domain';
import type { Attempt } from './attempt.ts';
import type { Crowd } from './crowd.ts';
import type { LoadedDelivery } from './load.ts';

export interface TurnParts {
  readonly crowd: Crowd;
  readonly waitsForSpareTime: (webhookId: WebhookId) => boolean;
  /** Resolves when it is the caller's turn. */
  readonly spareTime: () => Promise<void>;
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
  { crowd, waitsForSpareTime, spareTime, attemptMs, onLate }: TurnParts,
): (delivery: LoadedDelivery) => Promise<Attempt | null> {
  return async (delivery) => {
    const leave = crowd.enter(delivery.webhookId);
    try {
      if (waitsForSpareTime(delivery.webhookId)) await spareTime();
      if (performance.now() + attemptMs <= delivery.leaseEndsAtMs) return await makeAttempt(delivery);
      onLate(delivery);
      return null;
    } finally {
      leave();
    }
  };
}
