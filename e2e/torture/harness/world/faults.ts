import type { DeliveryKey, FaultEntry, Receipt } from '../checker/history.ts';
import { nowMs } from '../times.ts';
import { readInFlight, readMailInFlight } from './in-flight.ts';
import type { RecoveryWatch } from './recovery.ts';
import type { OpenStore } from '../../../open-store.ts';

export interface FaultWish {
  readonly mayRepeat: boolean;
  /** The step of Postgres' clock. Default: 0. */
  readonly clockStepMs?: number;
  /** It restores a copy of Postgres of this time. */
  readonly losesSinceMs?: number;
}

interface InFlight {
  readonly deliveries: readonly DeliveryKey[];
  /** The ids of messages. */
  readonly mail: readonly string[];
}

/** The log of the faults. */
export interface Faults {
  readonly log: readonly FaultEntry[];
  strike(name: string, wish: FaultWish, act: () => unknown): Promise<void>;
  /** The last fault ends now, and not with its act. Until now, requests that it met in flight may arrive. */
  healed(): void;
}

/**
 * Reads the attempts in flight right before and right after the act. A killed worker's attempts are there
 * afterwards. Those that a crash of Postgres undoes were there before. Attempts that begin after the act do
 * not count: the fault has not met them.
 */
export function createFaults(parts: {
  readonly store: Pick<OpenStore, 'query'>;
  readonly receipts: readonly Receipt[];
  readonly recovery: Pick<RecoveryWatch, 'healed'>;
}): Faults {
  const log: FaultEntry[] = [];

  /** Empty when it cannot be read: then the checker excuses nothing. */
  async function inFlight(begunByMs: number): Promise<InFlight> {
    const [deliveries, mail] = await Promise.all([
      readInFlight(parts.store, parts.receipts, begunByMs).catch(() => []),
      readMailInFlight(parts.store, begunByMs).catch(() => []),
    ]);
    return { deliveries: deliveries.map(({ key }) => key), mail };
  }

  return {
    log,
    async strike(name, { mayRepeat, clockStepMs = 0, losesSinceMs }, act) {
      const before = await inFlight(nowMs());
      const atMs = nowMs();
      await act();
      parts.recovery.healed();
      const after = await inFlight(nowMs());
      log.push({
        name,
        atMs,
        endedAtMs: nowMs(),
        mayRepeat,
        inFlight: [...new Set([...before.deliveries, ...after.deliveries])],
        mailInFlight: [...new Set([...before.mail, ...after.mail])],
        clockStepMs,
        ...(losesSinceMs === undefined ? {} : { losesSinceMs }),
      });
    },
    healed() {
      parts.recovery.healed();
      const last = log.pop();
      if (last !== undefined) log.push({ ...last, endedAtMs: nowMs() });
    },
  };
}
