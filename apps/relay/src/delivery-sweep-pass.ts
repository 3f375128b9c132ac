import type { WebhookId } from '@postrider/domain';
import type { NoWork } from '@postrider/runtime';
import type { DeliveryOutbox } from '@postrider/store';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface SweepPassParts {
  readonly store: Pick<DeliveryOutbox, 'sweep'>;
  readonly claims: Pick<DeliveryClaims, 'outstanding' | 'lookAheadSeconds'>;
  /** Receives webhooks with deliveries due soon, leased ones included. */
  readonly onFound: (webhooks: readonly WebhookId[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

const WEBHOOKS_PER_STEP = 1_000;
const EVERY_MS = 2_000;
/**
 * Sweeps take at most this share of the time. A sweep is slow with many webhooks, or when an old snapshot
 * keeps ended rows in the index.
 */
const SHARE_MAX = 0.02;
/** Longest time between two sweeps: the contract's pass runs every minute. */
const EVERY_MAX_MS = 60_000;

/**
 * The safety net: it reads the whole index from its start. It finds webhooks that this relay does not know,
 * and deliveries before a webhook's `scanFrom`.
 */
export class SweepPass {
  readonly #parts: SweepPassParts;
  readonly #nowMs: () => number;
  #cursor = '';
  #tookMs = 0;
  #dueAtMs = 0;
  /** `restart` was called during a sweep. That sweep may have passed the missed delivery. */
  #again = false;

  constructor(parts: SweepPassParts) {
    this.#parts = parts;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /** Starts a sweep with the next run, because a wake-up may have been missed. */
  restart(): void {
    this.#again = true;
    this.#dueAtMs = 0;
  }

  /**
   * Runs one step. @returns the pause before the next run in milliseconds, unless `restart` is called first.
   */
  async run(): Promise<number | NoWork> {
    const begunAtMs = this.#nowMs();
    if (this.#cursor === '') {
      if (begunAtMs < this.#dueAtMs) return { noWorkForMs: this.#dueAtMs - begunAtMs };
      this.#again = false;
      this.#tookMs = 0;
    }
    try {
      await this.#step();
    } finally {
      this.#tookMs += this.#nowMs() - begunAtMs;
      if (this.#cursor === '') this.#end();
    }
    const now = this.#nowMs();
    // Between two steps the pass rests as long as the step took.
    return this.#cursor === '' ? Math.max(0, this.#dueAtMs - now) : now - begunAtMs;
  }

  async #step(): Promise<void> {
    const { store, claims, onFound } = this.#parts;
    const lookAheadSeconds = await claims.lookAheadSeconds();
    const from = this.#cursor;
    this.#cursor = ''; // a step that fails ends the sweep
    const found = await store.sweep(from, WEBHOOKS_PER_STEP, { lookAheadSeconds });
    this.#cursor = found.cursor ?? '';
    claims.outstanding.swept(found.webhooks);
    onFound(found.webhooks.map(({ webhookId }) => webhookId));
  }

  /**
   * Also runs after a failure. Otherwise a sweep that exceeds the statement's time limit would repeat without
   * a rest.
   */
  #end(): void {
    const restMs = Math.min(EVERY_MAX_MS, Math.max(EVERY_MS, this.#tookMs / SHARE_MAX));
    this.#dueAtMs = this.#again ? 0 : this.#nowMs() + restMs;
  }
}
