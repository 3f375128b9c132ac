import type { WebhookId } from '@postrider/domain';
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

/**
 * The safety net: it reads the whole index from its start. It finds webhooks that this relay does not know,
 * and deliveries before a webhook's `scanFrom`.
 */
export interface SweepPass {
  /** Starts a sweep with the next run, because a wake-up may have been missed. */
  restart(): void;
  /**
   * Runs one step. @returns the pause before the next run in milliseconds, unless `restart` is called first.
   */
  run(): Promise<number>;
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

export function createSweepPass(parts: SweepPassParts): SweepPass {
  const { store, claims, onFound, nowMs = () => performance.now() } = parts;
  let cursor = '';
  let tookMs = 0;
  let dueAtMs = 0;
  /** `restart` was called during a sweep. That sweep may have passed the missed delivery. */
  let again = false;

  async function step(): Promise<void> {
    const lookAheadSeconds = await claims.lookAheadSeconds();
    const from = cursor;
    cursor = ''; // a step that fails ends the sweep
    const found = await store.sweep(from, WEBHOOKS_PER_STEP, { lookAheadSeconds });
    cursor = found.cursor ?? '';
    claims.outstanding.swept(found.webhooks);
    onFound(found.webhooks.map(({ webhookId }) => webhookId));
  }

  function begin(): void {
    again = false;
    tookMs = 0;
  }

  /**
   * Also runs after a failure. Otherwise a sweep that exceeds the statement's time limit would repeat without
   * a rest.
   */
  function end(): void {
    const restMs = Math.min(EVERY_MAX_MS, Math.max(EVERY_MS, tookMs / SHARE_MAX));
    dueAtMs = again ? 0 : nowMs() + restMs;
  }

  return {
    restart() {
      again = true;
      dueAtMs = 0;
    },
    async run() {
      const begunAtMs = nowMs();
      if (cursor === '' && begunAtMs < dueAtMs) return dueAtMs - begunAtMs;
      if (cursor === '') begin();
      try {
        await step();
      } finally {
        tookMs += nowMs() - begunAtMs;
        if (cursor === '') end();
      }
      const now = nowMs();
      return cursor === '' ? Math.max(0, dueAtMs - now) : now - begunAtMs; // rests as long as the step took
    },
  };
}
