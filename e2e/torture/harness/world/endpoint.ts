import type { FaultProxy, Reaction } from '@postrider/testing';
import type { Receipt } from '../checker/history.ts';

/** A webhook of an account, and the endpoint behind it. */
export interface Endpoint {
  readonly webhookId: string;
  readonly accountId: string;
  readonly url: string;
  /** The proxy before it, when one was wished for. Its bytes are TLS: they can be held, not read. */
  readonly proxy: FaultProxy | null;
  /** What has arrived, in order. */
  readonly receipts: readonly Receipt[];
  /** How it treats every request from now on. */
  reacts(reaction: Reaction): void;
  /** Waits for a first connection at its proxy. */
  connected(): Promise<void>;
  /** @throws when not so many requests have arrived, from the start, within the time (a minute). */
  arrived(count: number, withinMs?: number): Promise<void>;
}

/** What an experiment may ask of an endpoint; everything has a default. */
export interface EndpointWish {
  /** 200 with an empty body. */
  readonly reaction?: Reaction;
  /** Event types; all. */
  readonly types?: readonly ('email.sent' | 'email.failed' | 'email.delivered')[];
  /** The world's own account. */
  readonly accountId?: string;
  /** A fault proxy stands before it. */
  readonly proxied?: boolean;
  /** In place of a receiver of the harness: an address that nobody or somebody else answers. */
  readonly url?: string;
}
