import type { WebhookId } from '@postrider/domain';
import type { DeliveryOutbox } from '@postrider/store';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface SweepPassParts {
  readonly store: Pick<DeliveryOutbox, 'sweep'>;
  readonly claims: Pick<DeliveryClaims, 'outstanding' | 'lookAheadSeconds'>;
  /** Told of webhooks with deliveries that are due soon, leased ones included. */
  readonly onFound: (webhooks: readonly WebhookId[]) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/**
 * The pass that finds whatever was lost: it goes over the whole index, from its start. It finds a webhook that this
 * relay does not know, and a delivery that lies before its webhook's mark.
 */
export interface SweepPass {
  /** Something may have been missed: the next turn begins a sweep. */
  restart(): void;
  /** One step. @returns the pause before the next, in milliseconds, unless something is noted. */
  run(): Promise<number>;
}

const WEBHOOKS_PER_STEP = 1_000;
const EVERY_MS = 2_000;
/** A sweep over many webhooks, or over what an old snapshot keeps in the index, takes at most this share of the time... */
const SHARE_MAX = 0.02;
/** ...until it would come less often than the contract's pass, which runs every minute. */
const EVERY_MAX_MS = 60_000;

export function createSweepPass(parts: SweepPassParts): SweepPass {
  const { store, claims, onFound, nowMs = () => performance.now() } = parts;
  let cursor = '';
  let tookMs = 0;
  let dueAtMs = 0;
  /** Noted while a sweep is under way: what it has passed may have been missed. */
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

  /** Also after a failure: a sweep that runs into the statement's time limit would else be tried without a rest. */
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
      return cursor === '' ? Math.max(0, dueAtMs - now) : now - begunAtMs; // it rests as long as it worked
    },
  };
}
