import type { DeliveryKey, FaultEntry, Receipt } from '../checker/history.ts';
import { nowMs } from '../times.ts';
import { readInFlight } from './in-flight.ts';
import type { RecoveryWatch } from './recovery.ts';
import type { OpenStore } from '../../../open-store.ts';

export interface FaultWish {
  readonly mayRepeat: boolean;
  /** By so much it steps the clock of Postgres (0). */
  readonly clockStepMs?: number;
  /** It restores a copy of Postgres of that moment. */
  readonly losesSinceMs?: number;
}

/** The log of the harm done. */
export interface Faults {
  readonly log: readonly FaultEntry[];
  strike(name: string, wish: FaultWish, act: () => unknown): Promise<void>;
}

/**
 * Looks at what is in flight right before and right after the act: a killed worker's attempts are still there
 * afterwards, and what a crash of Postgres undoes was there before.
 */
export function createFaults(parts: {
  readonly store: Pick<OpenStore, 'query'>;
  readonly receipts: readonly Receipt[];
  readonly recovery: Pick<RecoveryWatch, 'healed'>;
}): Faults {
  const log: FaultEntry[] = [];

  /** What cannot be looked at excuses nothing. */
  async function inFlight(): Promise<DeliveryKey[]> {
    return readInFlight(parts.store, parts.receipts).catch(() => []);
  }

  return {
    log,
    async strike(name, { mayRepeat, clockStepMs = 0, losesSinceMs }, act) {
      const before = await inFlight();
      const atMs = nowMs();
      await act();
      parts.recovery.healed();
      const all = new Set([...before, ...(await inFlight())]);
      log.push({
        name,
        atMs,
        endedAtMs: nowMs(),
        mayRepeat,
        inFlight: [...all],
        clockStepMs,
        ...(losesSinceMs === undefined ? {} : { losesSinceMs }),
      });
    },
  };
}
