import type { ServerResponse } from 'node:http';
import { KeyedQueue } from '@postrider/limits';

/** Limits of this process. */
interface AccountLimits {
  /** Each of these three applies per account. */
  readonly inFlightMax: number;
  readonly waitingMax: number;
  readonly waitMs: number;
  /** Limits all accounts together. */
  readonly totalInFlightMax: number;
}

/** The limits on routes without a rate limit. */
const UNMETERED = { inFlightMax: 4, waitingMax: 32, waitMs: 10_000 };

/** Limits the work that one account has in flight. Further work waits. */
export class AccountSlots {
  readonly #limits: AccountLimits;
  readonly #queue: KeyedQueue;
  /** Work in flight and waiting work, by account. */
  readonly #counts = new Map<string, number>();

  constructor(limits: AccountLimits) {
    this.#limits = limits;
    this.#queue = new KeyedQueue({ perKey: limits.inFlightMax, total: limits.totalInFlightMax });
  }

  /**
   * Waits for a slot of the account, then does `work`.
   *
   * @param response the answer to the waiting client. The wait ends when the client disconnects.
   * @returns null when too much work waits already, the wait takes too long, or the client disconnects first.
   */
  async run<T>(accountId: string, work: () => Promise<T>, response?: ServerResponse): Promise<T | null> {
    const { inFlightMax, waitingMax, waitMs } = this.#limits;
    if ((this.#counts.get(accountId) ?? 0) >= inFlightMax + waitingMax) return null;
    if (response?.destroyed === true) return null;
    this.#count(accountId, 1);
    const slot = this.#queue.join(accountId, 1);
    try {
      const { granted } = slot;
      return granted === null || (await isInTime(granted, waitMs, response)) ? await work() : null;
    } finally {
      slot.release();
      this.#count(accountId, -1);
    }
  }

  #count(accountId: string, by: 1 | -1): void {
    const count = (this.#counts.get(accountId) ?? 0) + by;
    if (count === 0) this.#counts.delete(accountId);
    else this.#counts.set(accountId, count);
  }
}

/**
 * @param connections the connections to Postgres that all routes share. One always stays free for other
 * routes.
 */
export function createUnmeteredSlots(connections: number): AccountSlots {
  return new AccountSlots({ ...UNMETERED, totalInFlightMax: Math.max(1, connections - 1) });
}

/** Uses no abort signal: ending one with an error costs more than 20 µs. */
async function isInTime(granted: Promise<void>, waitMs: number, response?: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (inTime: boolean): void => {
      clearTimeout(timer);
      response?.off('close', giveUp);
      resolve(inTime);
    };
    const giveUp = (): void => end(false);
    const timer = setTimeout(giveUp, waitMs);
    response?.once('close', giveUp);
    void granted.then(() => end(true));
  });
}
