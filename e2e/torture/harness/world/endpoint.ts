import type { FaultProxy, Reaction } from '@postrider/testing';
import type { Receipt } from '../checker/history.ts';

/** A webhook of an account, and the endpoint behind it. */
export interface Endpoint {
  readonly webhookId: string;
  readonly accountId: string;
  readonly url: string;
  /** The proxy before it, if any. Its bytes are TLS: they can be held, not read. */
  readonly proxy: FaultProxy | null;
  /** The arrivals in order. */
  readonly receipts: readonly Receipt[];
  /** Sets the reaction to all later requests. */
  reacts(reaction: Reaction): void;
  /** Waits for a first connection at its proxy. */
  connected(): Promise<void>;
  /** @throws when fewer requests have arrived since the start within the time (a minute) */
  arrived(count: number, withinMs?: number): Promise<void>;
}

/** The settings of an endpoint. All have a default. */
export interface EndpointWish {
  /** Default: 200 with an empty body. */
  readonly reaction?: Reaction;
  /** Event types. Default: all. */
  readonly types?: readonly ('email.sent' | 'email.failed' | 'email.delivered')[];
  /** Default: the world's own account. */
  readonly accountId?: string;
  /** True: a fault proxy is before it. */
  readonly proxied?: boolean;
  /** Another address, instead of a receiver of the harness. */
  readonly url?: string;
  /** True: deliveries to it may end as dead letters. At other endpoints a dead letter is a loss. */
  readonly mayGiveUp?: boolean;
}
