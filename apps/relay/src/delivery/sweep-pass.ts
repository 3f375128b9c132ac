import type { NoWork } from '@postrider/runtime';
import type { DeliveryOutbox, SweptWebhook } from '@postrider/store';

export interface SweepPassParts {
  readonly store: Pick<DeliveryOutbox, 'sweep' | 'sweepOne' | 'nextWebhook'>;
  /** Receives webhooks with deliveries due soon, leased ones included. */
  readonly onFound: (webhooks: readonly SweptWebhook[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

const WEBHOOKS_PER_STEP = 1_000;
/** After a sweep the pass rests 50 times as long as the sweep worked, at least 2 s. */
const REST_PER_WORK = 50;
const REST_MS_MIN = 2_000;
/** A sweep begins at the latest a minute after the last one began, as the contract requires. */
const EVERY_MS = 60_000;
/** The next sweep may begin a minute later and take a minute. With 200,000 webhooks it takes ten seconds. */
const LOOK_AHEAD_SECONDS = 120;

/**
 * The safety net: it reads the first outstanding delivery of each webhook. It finds webhooks that this
 * relay does not know, and deliveries before a webhook's low-water mark.
 *
 * While an old snapshot keeps ended rows in the index, a step can exceed the statement's time limit. The
 * sweep then reads the webhooks one at a time until a read fails. Behind that webhook it continues in steps.
 */
export class SweepPass {
  readonly #parts: SweepPassParts;
  readonly #nowMs: () => number;
  /** The last webhook that was read, or failed alone. '': the next run begins a sweep. */
  #cursor = '';
  #oneAtATime = false;
  #sweepBeganAtMs = 0;
  #tookMs = 0;
  #dueAtMs = 0;
  /** `sweepAgain` was called. A sweep under way may be past the webhook whose wake-up was missed. */
  #again = false;

  constructor(parts: SweepPassParts) {
    this.#parts = parts;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /** Starts a sweep with the next run, or after the one under way: a wake-up may have been missed. */
  sweepAgain(): void {
    this.#again = true;
    this.#dueAtMs = 0;
    this.#oneAtATime = false; // a step that failed may have met an outage, which is over
  }

  /**
   * Runs one step. @returns the pause before the next run in milliseconds, unless `sweepAgain` is called
   * first.
   */
  async run(): Promise<number | NoWork> {
    const beganMs = this.#nowMs();
    if (beganMs < this.#dueAtMs) return { noWorkForMs: this.#dueAtMs - beganMs };
    if (this.#cursor === '') {
      this.#again = false;
      this.#sweepBeganAtMs = beganMs;
    }
    const oneAtATime = this.#oneAtATime;
    try {
      this.#parts.onFound(await (oneAtATime ? this.#one() : this.#many()));
    } catch (error) {
      this.#oneAtATime = !oneAtATime;
      this.#rest(beganMs);
      throw error;
    }
    if (this.#cursor === '') {
      this.#oneAtATime = false;
      return this.#rest(beganMs);
    }
    const tookMs = this.#nowMs() - beganMs;
    this.#tookMs += tookMs;
    return tookMs; // between two steps the pass rests as long as the step took
  }

  async #many(): Promise<readonly SweptWebhook[]> {
    const found = await this.#parts.store.sweep(this.#cursor, WEBHOOKS_PER_STEP, LOOK_AHEAD_SECONDS);
    this.#cursor = found.cursor ?? '';
    return found.webhooks;
  }

  async #one(): Promise<readonly SweptWebhook[]> {
    const { store } = this.#parts;
    const webhookId = await store.nextWebhook(this.#cursor);
    this.#cursor = webhookId ?? '';
    return webhookId === null ? [] : store.sweepOne(webhookId, LOOK_AHEAD_SECONDS);
  }

  /**
   * Sets the time of the next run, after a sweep and after a failure. A sweep that exceeds the time limit
   * must not repeat at once. @returns the rest in milliseconds
   */
  #rest(beganMs: number): number {
    const nowMs = this.#nowMs();
    const tookMs = this.#tookMs + nowMs - beganMs;
    const isAtStart = this.#cursor === '';
    const maxMs = isAtStart ? Math.max(0, this.#sweepBeganAtMs + EVERY_MS - nowMs) : EVERY_MS;
    const restMs =
      this.#again && isAtStart ? 0 : Math.min(maxMs, Math.max(REST_MS_MIN, tookMs * REST_PER_WORK));
    this.#tookMs = 0;
    this.#dueAtMs = nowMs + restMs;
    return restMs;
  }
}
