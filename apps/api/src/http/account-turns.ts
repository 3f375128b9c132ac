import type { ServerResponse } from 'node:http';
import { KeyedQueue } from '@postrider/limits';

/** In this process. */
interface TurnLimits {
  /** Of one account. */
  readonly atWorkMax: number;
  readonly waitingMax: number;
  readonly waitMs: number;
  /** Of all accounts together. */
  readonly totalAtWorkMax: number;
}

/** For routes that have no request limit. */
const UNMETERED = { atWorkMax: 4, waitingMax: 32, waitMs: 10_000 };

/** Bounds what one account has at work, and lets the rest wait. */
export interface AccountTurns {
  /**
   * Waits until the account has less at work than it may, then does `work`.
   *
   * @param response of the client that waits; without, the wait lasts as long as it may.
   * @returns null when too many wait already, when its turn did not come in time, or when the client has gone before.
   */
  during<T>(accountId: string, work: () => Promise<T>, response?: ServerResponse): Promise<T | null>;
}

/** @param connections to Postgres that these routes share with others: one is always left for the others. */
export function createUnmeteredTurns(connections: number): AccountTurns {
  return createAccountTurns({ ...UNMETERED, totalAtWorkMax: Math.max(1, connections - 1) });
}

export function createAccountTurns(limits: TurnLimits): AccountTurns {
  const { atWorkMax, waitingMax, waitMs, totalAtWorkMax } = limits;
  const line = new KeyedQueue({ perKey: atWorkMax, total: totalAtWorkMax });
  /** How many are at work or wait, by account. */
  const counts = new Map<string, number>();

  function count(accountId: string, by: 1 | -1): void {
    const left = (counts.get(accountId) ?? 0) + by;
    if (left === 0) counts.delete(accountId);
    else counts.set(accountId, left);
  }

  return {
    async during(accountId, work, response) {
      if ((counts.get(accountId) ?? 0) >= atWorkMax + waitingMax) return null;
      if (response?.destroyed === true) return null;
      count(accountId, 1);
      const place = line.join(accountId, 1); // each takes one of all
      try {
        const { granted } = place;
        return granted === null || (await isInTime(granted, waitMs, response)) ? await work() : null;
      } finally {
        place.release();
        count(accountId, -1);
      }
    },
  };
}

/** Without abort signals: what ends one with an error costs more than 20 µs. */
async function isInTime(
  admitted: Promise<void>,
  waitMs: number,
  response?: ServerResponse,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (inTime: boolean): void => {
      clearTimeout(timer);
      response?.off('close', giveUp);
      resolve(inTime);
    };
    const giveUp = (): void => end(false);
    const timer = setTimeout(giveUp, waitMs);
    response?.once('close', giveUp);
    void admitted.then(() => end(true));
  });
}
