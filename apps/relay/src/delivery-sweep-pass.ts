import type { NoWork } from '@postrider/runtime';
import type { DeliveryOutbox, SweptWebhook } from '@postrider/store';
import { LOOK_AHEAD_MS } from './webhook-state.ts';

export interface SweepPassParts {
  readonly store: Pick<DeliveryOutbox, 'sweep' | 'sweepOne' | 'nextWebhook'>;
  /** Receives webhooks with deliveries due soon, leased ones included. */
  readonly onFound: (webhooks: readonly SweptWebhook[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

const WEBHOOKS_PER_STEP = 1_000;
const EVERY_MS = 2_000;
/** Longest time between two sweeps: the contract's pass runs every minute. */
const EVERY_MAX_MS = 60_000;
/**
 * Between these two times, the pass rests this many times as long as a sweep took. A sweep is slow with many
 * webhooks, or when an old snapshot keeps ended rows in the index.
 */
const REST_PER_WORK = 50;
/**
 * A sweep finds what is due before the next sweep ends, if that one takes a minute at most. A sweep of
 * 200,000 webhooks takes ten seconds.
 */
const LOOK_AHEAD = { lookAheadSeconds: (EVERY_MAX_MS + LOOK_AHEAD_MS) / 1000 };

/**
 * The safety net: it reads the first outstanding delivery of each webhook. It finds webhooks that this
 * relay does not know, and deliveries before a webhook's `scanFrom`.
 *
 * A step with a webhook of many ended rows can exceed the statement's time limit. The sweep then reads the
 * webhooks one at a time until one fails, and continues behind that one.
 */
export class SweepPass {
  readonly #parts: SweepPassParts;
  readonly #nowMs: () => number;
  /** The last webhook that was read, or failed alone. '': the next run begins a sweep. */
  #cursor = '';
  #oneAtATime = false;
  #tookMs = 0;
  #dueAtMs = 0;
  /** `restart` was called during a sweep. That sweep may have passed the missed delivery. */
  #again = false;

  constructor(parts: SweepPassParts) {
    this.#parts = parts;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /** Starts a sweep with the next run, or after the one under way: a wake-up may have been missed. */
  restart(): void {
    this.#again = true;
    this.#dueAtMs = 0;
    this.#oneAtATime = false; // a step that failed may have met an outage, which is over
  }

  /**
   * Runs one step. @returns the pause before the next run in milliseconds, unless `restart` is called first.
   */
  async run(): Promise<number | NoWork> {
    const begunAtMs = this.#nowMs();
    if (begunAtMs < this.#dueAtMs) return { noWorkForMs: this.#dueAtMs - begunAtMs };
    if (this.#cursor === '') this.#again = false;
    let failed = true;
    try {
      await this.#step();
      failed = false;
    } finally {
      this.#tookMs += this.#nowMs() - begunAtMs;
      if (failed || this.#cursor === '') this.#rest();
    }
    const now = this.#nowMs();
    // Between two steps the pass rests as long as the step took.
    return this.#cursor === '' ? Math.max(0, this.#dueAtMs - now) : now - begunAtMs;
  }

  async #step(): Promise<void> {
    const alone = this.#oneAtATime;
    try {
      this.#parts.onFound(await (alone ? this.#one() : this.#many()));
    } catch (error) {
      this.#oneAtATime = !alone;
      throw error;
    }
  }

  async #many(): Promise<readonly SweptWebhook[]> {
    const found = await this.#parts.store.sweep(this.#cursor, WEBHOOKS_PER_STEP, LOOK_AHEAD);
    this.#cursor = found.cursor ?? '';
    return found.webhooks;
  }

  async #one(): Promise<readonly SweptWebhook[]> {
    const { store } = this.#parts;
    const webhookId = await store.nextWebhook(this.#cursor);
    this.#cursor = webhookId ?? '';
    this.#oneAtATime = webhookId !== null;
    if (webhookId === null) return [];
    const found = await store.sweepOne(webhookId, LOOK_AHEAD);
    return found === undefined ? [] : [found];
  }

  /**
   * Also after a failure. Otherwise a sweep that exceeds the statement's time limit would repeat without a
   * rest.
   */
  #rest(): void {
    const restMs = Math.min(EVERY_MAX_MS, Math.max(EVERY_MS, this.#tookMs * REST_PER_WORK));
    this.#dueAtMs = this.#again && this.#cursor === '' ? 0 : this.#nowMs() + restMs;
    this.#tookMs = 0;
  }
}
