import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { AccountId } from '@postrider/domain';
import { KeyedQueue } from '@postrider/limits';

/** The limits on what one account's requests without a rate limit write. */
export interface DeliveryLimits {
  /** On average. */
  readonly perSecond: number;
  readonly outstandingMax: number;
  /** Counts the account's deliveries that are neither done nor given up; an estimate in a large table. */
  readonly outstandingOf: (accountId: AccountId) => Promise<number>;
}

/** Limits of this process. */
interface SlotLimits {
  /** Each of these three applies per account, and per client address on keyless routes. */
  readonly inFlightMax: number;
  readonly waitingMax: number;
  readonly waitMs: number;
  /** Limits all accounts together. */
  readonly totalInFlightMax: number;
}

/** The limits on routes without a rate limit. */
const UNMETERED = { inFlightMax: 4, waitingMax: 32, waitMs: 10_000 };

/** The outstanding deliveries are counted each time that the account has written this part of their limit. */
const STEPS = 100;
const RECOUNT_MS = 1_000;

/** What this process knows about an account, or about a client address. */
interface Use {
  /** Requests in flight, waiting requests, and slots that are still held. */
  slots: number;
  /** From this moment on the written deliveries are within the limit. Milliseconds of the monotonic clock. */
  paidAtMs: number;
  /** Deliveries written since the outstanding ones were counted. */
  written: number;
}

/** Limits the work that one account has in flight. Further work waits. */
export class AccountSlots {
  readonly #limits: SlotLimits;
  readonly #deliveries: DeliveryLimits | null;
  readonly #queue: KeyedQueue;
  readonly #uses = new Map<string, Use>();

  /** @param deliveries null: the work writes none. */
  constructor(limits: SlotLimits, deliveries: DeliveryLimits | null) {
    this.#limits = limits;
    this.#deliveries = deliveries;
    this.#queue = new KeyedQueue({ perKey: limits.inFlightMax, total: limits.totalInFlightMax });
  }

  /**
   * Waits for a slot, then does `work`. When the work has written deliveries, its slot stays taken for a time
   * that is proportional to them, and while the account has too many outstanding ones.
   *
   * @param owner an account, or the address of a client without a key.
   * @param response the answer to the waiting client. The wait ends when the client disconnects.
   * @param deliveriesOf the number of deliveries that the work has written.
   * @returns null when too much work waits already, the wait takes too long, or the client disconnects first.
   */
  async run<T>(
    owner: string,
    work: () => Promise<T>,
    response?: ServerResponse,
    deliveriesOf: (result: T) => number = () => 0,
  ): Promise<T | null> {
    const { inFlightMax, waitingMax, waitMs } = this.#limits;
    const use = this.#uses.get(owner) ?? { slots: 0, paidAtMs: 0, written: 0 };
    if (use.slots >= inFlightMax + waitingMax) return null;
    if (response?.destroyed === true) return null;
    use.slots += 1;
    this.#uses.set(owner, use);
    const slot = this.#queue.join(owner, 1);
    let written = 0;
    try {
      const { granted } = slot;
      if (granted !== null && !(await isInTime(granted, waitMs, response))) return null;
      const result = await work();
      written = deliveriesOf(result);
      return result;
    } finally {
      const release = (): void => {
        slot.release();
        use.slots -= 1;
        if (use.slots === 0 && use.written === 0) this.#uses.delete(owner);
      };
      if (written === 0 || this.#deliveries === null) release();
      else {
        slot.shrink();
        void untilPaid(owner as AccountId, use, written, this.#deliveries).finally(release);
      }
    }
  }
}

/** Resolves when the account may write more. */
async function untilPaid(
  accountId: AccountId,
  use: Use,
  written: number,
  { perSecond, outstandingMax, outstandingOf }: DeliveryLimits,
): Promise<void> {
  const now = performance.now();
  use.paidAtMs = Math.max(use.paidAtMs, now) + (written * 1_000) / perSecond;
  use.written += written;
  const waitMs = use.paidAtMs - now;
  if (waitMs >= 1) await pause(waitMs, undefined, { ref: false });
  if (use.written < outstandingMax / STEPS) return;
  use.written = 0;
  // When Postgres is away, the account's requests fail without this limit.
  const count = async () => outstandingOf(accountId).catch(() => 0);
  while ((await count()) >= outstandingMax) await pause(RECOUNT_MS, undefined, { ref: false });
}

/**
 * @param connections the connections to Postgres that all routes share. One always stays free for other
 * routes.
 */
export function createUnmeteredSlots(connections: number, deliveries: DeliveryLimits): AccountSlots {
  return new AccountSlots({ ...UNMETERED, totalInFlightMax: Math.max(1, connections - 1) }, deliveries);
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
