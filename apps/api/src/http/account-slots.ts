import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { AccountId } from '@postrider/domain';
import { KeyedQueue, Semaphore } from '@postrider/limits';

/** Limits the deliveries that an account writes through routes without a rate limit. */
export interface DeliveryLimits {
  /** Deliveries per second, on average. */
  readonly perSecond: number;
  readonly outstandingMax: number;
  /** Counts the account's deliveries that are neither done nor given up. In a large table, it estimates. */
  readonly outstandingOf: (accountId: AccountId) => Promise<number>;
}

/**
 * Limits of this process. `inFlightMax`, `waitingMax` and `waitMs` apply to each account, or on keyless
 * routes to each client address.
 */
interface SlotLimits {
  readonly inFlightMax: number;
  readonly waitingMax: number;
  readonly waitMs: number;
  /** Limits all accounts together. */
  readonly totalInFlightMax: number;
}

/** The connection to a client that waits for its answer. */
export type WaitingClient = Pick<ServerResponse, 'destroyed' | 'once' | 'off'>;

/** The limits on routes without a rate limit. */
const UNMETERED = { inFlightMax: 4, waitingMax: 32, waitMs: 10_000 };
/**
 * A quarter of the slots, rounded down and at least one, is for clients without a key, such as a recipient
 * who unsubscribes. They never wait for an account.
 */
const SLOTS_PER_CLIENT_SLOT = 4;

/** The outstanding deliveries are counted again when an account has written 1/100 of `outstandingMax`. */
const COUNTS_PER_LIMIT = 100;
/** Pause before the next count, while too many deliveries are outstanding or a count fails. */
const RECOUNT_MS = 1_000;
/** After this many failed counts in a row, the account may write until its next count is due. */
const FAILED_COUNTS_MAX = 5;

/** The state of an account, or of a client address. */
interface Use {
  /** Requests that wait or are in flight, and requests that have ended but still hold their slot. */
  requests: number;
  /** A slot stays held after its work until this time. Milliseconds of the monotonic clock. */
  pacedUntilMs: number;
  /** Deliveries written since the outstanding ones were counted. */
  written: number;
  /** Resolves when few enough deliveries are outstanding, or all counts fail. Null: no count runs. */
  counting: Promise<void> | null;
}

/**
 * Limits the work in flight, per account and in total. Further work waits. It also limits what an account
 * writes.
 */
export class AccountSlots {
  readonly #limits: SlotLimits;
  readonly #deliveries: DeliveryLimits | null;
  readonly #queue: KeyedQueue;
  /** Has one entry for each account that has work, or has written. */
  readonly #uses = new Map<string, Use>();
  /** A count reads up to 32 MB, so one runs at a time. */
  readonly #counts = new Semaphore(1);

  /** @param deliveries null: the work writes no deliveries. */
  constructor(limits: SlotLimits, deliveries: DeliveryLimits | null) {
    this.#limits = limits;
    this.#deliveries = deliveries;
    this.#queue = new KeyedQueue({ perKey: limits.inFlightMax, total: limits.totalInFlightMax });
  }

  /**
   * Waits for a slot, then does `work`. If the work has written deliveries, this account goes without the
   * slot for a time in proportion to their number, and while it has too many outstanding deliveries.
   *
   * @param owner an account, or the address of a client without a key.
   * @param client waits for the answer. The wait ends when the client disconnects.
   * @param writtenBy the number of deliveries that the work has written. A suppression or topic without a
   * delivery counts as 1.
   * @returns null when too much work waits already, the wait takes too long, or the client disconnects
   * first.
   */
  async run<T>(
    owner: string,
    work: () => Promise<T>,
    client?: WaitingClient,
    writtenBy: (result: T) => number = () => 0,
  ): Promise<T | null> {
    const { inFlightMax, waitingMax, waitMs } = this.#limits;
    const use = this.#uses.get(owner) ?? { requests: 0, pacedUntilMs: 0, written: 0, counting: null };
    if (use.requests >= inFlightMax + waitingMax) return null;
    if (client?.destroyed === true) return null;
    use.requests += 1;
    this.#uses.set(owner, use);
    const slot = this.#queue.join(owner, 1);
    let written = 0;
    try {
      const { granted } = slot; // null: the slot was free at once
      if (granted !== null && !(await isInTime(granted, waitMs, client))) return null;
      const result = await work();
      written = writtenBy(result);
      return result;
    } finally {
      const release = (): void => {
        slot.release();
        use.requests -= 1;
        if (use.requests === 0 && use.written === 0) this.#uses.delete(owner);
      };
      if (written === 0 || this.#deliveries === null) release();
      else {
        slot.shrink(); // other accounts may use the slot at once, this account not until its release
        void this.#untilMayWrite(owner as AccountId, use, written, this.#deliveries).finally(release);
      }
    }
  }

  /** Resolves when the account may write more. */
  async #untilMayWrite(
    accountId: AccountId,
    use: Use,
    written: number,
    { perSecond, outstandingMax, outstandingOf }: DeliveryLimits,
  ): Promise<void> {
    const now = performance.now();
    use.pacedUntilMs = Math.max(use.pacedUntilMs, now) + (written * 1_000) / perSecond;
    use.written += written;
    const waitMs = use.pacedUntilMs - now;
    if (waitMs >= 1) await pause(waitMs, undefined, { ref: false });
    if (use.written >= outstandingMax / COUNTS_PER_LIMIT) {
      use.written = 0;
      use.counting ??= this.#untilFew(async () => outstandingOf(accountId), outstandingMax).finally(() => {
        use.counting = null;
      });
    }
    await use.counting;
  }

  /**
   * A count that fails is made again: it may fail because this account has overloaded Postgres. Counts that
   * always fail must not block the account for ever.
   */
  async #untilFew(outstanding: () => Promise<number>, outstandingMax: number): Promise<void> {
    const count = async () => this.#counts.run(outstanding).catch(() => null);
    for (let failed = 0; failed < FAILED_COUNTS_MAX;) {
      const found = await count();
      if (found !== null && found < outstandingMax) return;
      failed = found === null ? failed + 1 : 0;
      await pause(RECOUNT_MS, undefined, { ref: false });
    }
  }
}

/**
 * The slots of routes without a rate limit. If there are at least four connections, no account can hold all
 * slots.
 *
 * @param connections the connections to Postgres that all routes share. If there are at least three, one
 * stays free for other routes.
 */
export function createUnmeteredSlots(connections: number, deliveries: DeliveryLimits) {
  const total = Math.max(2, connections - 1);
  const ofClients = Math.max(1, Math.floor(total / SLOTS_PER_CLIENT_SLOT));
  const ofAccounts = total - ofClients;
  const inFlightMax = Math.max(1, Math.min(UNMETERED.inFlightMax, ofAccounts - 1));
  return {
    accountSlots: new AccountSlots({ ...UNMETERED, inFlightMax, totalInFlightMax: ofAccounts }, deliveries),
    clientSlots: new AccountSlots({ ...UNMETERED, totalInFlightMax: ofClients }, null),
  };
}

/**
 * Whether the slot is granted within `waitMs`, while the client is connected. An `AbortSignal` that aborts
 * costs over 20 µs, so this uses a timer and a listener.
 */
async function isInTime(granted: Promise<void>, waitMs: number, client?: WaitingClient): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (inTime: boolean): void => {
      clearTimeout(timer);
      client?.off('close', giveUp);
      resolve(inTime);
    };
    const giveUp = (): void => end(false);
    const timer = setTimeout(giveUp, waitMs);
    client?.once('close', giveUp);
    void granted.then(() => end(true));
  });
}
