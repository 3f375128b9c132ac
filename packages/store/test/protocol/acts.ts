import type { AccountId, DeadLetterId, DeliveryOutcome, EventId, WebhookId } from '@postrider/domain';
import type { LeasedDelivery } from '../../src/deliveries/delivery-outbox.ts';
import type { DeliveryClaim, HeldDelivery, TakenDelivery } from '../../src/deliveries/delivery-work.ts';
import type { EventState, WebhookState } from './state.ts';

export type ReleasedJob = Pick<LeasedDelivery, 'deliveryId' | 'claim' | 'leaseExpired'>;

/** A delivery that a simulated worker has taken. */
export interface Hand extends HeldDelivery {
  readonly attemptsMade: number;
  /** In units, as the statement told it: a worker does not begin before. */
  readonly startsAt: number;
}

/** One attempt's end, as it is about to be recorded. */
export interface Ending {
  readonly hand: HeldDelivery;
  readonly outcome: DeliveryOutcome;
  readonly statusCode: number | null;
  readonly requestMade: boolean;
  readonly deadLetterId: DeadLetterId;
  /** How long ago the attempt ended. */
  readonly endedAgoUnits: number;
}

/** Something that was asked of the store, with what it answered. */
export type Act =
  | { readonly kind: 'register'; readonly webhookId: WebhookId; readonly webhook: WebhookState }
  | {
      readonly kind: 'record';
      readonly eventId: EventId;
      readonly event: EventState;
      readonly subject: string | null;
    }
  | {
      readonly kind: 'claim';
      readonly asked: readonly WebhookId[];
      readonly limit: number;
      readonly claimed: readonly LeasedDelivery[];
    }
  | { readonly kind: 'release'; readonly jobs: readonly ReleasedJob[] }
  | {
      readonly kind: 'take';
      readonly jobs: readonly DeliveryClaim[];
      readonly taken: readonly TakenDelivery[];
    }
  | {
      readonly kind: 'finish';
      readonly as: DeliveryOutcome['kind'];
      readonly endings: readonly Ending[];
      readonly ended: readonly string[];
    }
  | {
      readonly kind: 'delete';
      readonly accountId: AccountId;
      readonly webhookId: WebhookId;
      readonly deleted: boolean;
    }
  | {
      readonly kind: 'replay';
      readonly accountId: AccountId;
      readonly letterId: DeadLetterId;
      readonly replayed: boolean;
    }
  | { readonly kind: 'retention'; readonly dropped: number };
