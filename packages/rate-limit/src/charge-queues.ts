import { unlessAborted } from './fail-closed.ts';
import type { SpentWindows } from './spent-windows.ts';

/** A waiting charge. A cost of 0 means a peek. */
interface WaitingCharge {
  readonly cost: number;
  readonly limit: number;
  /** Aborts at the charge's time limit. */
  readonly overdue: AbortSignal;
  readonly answer: (allowed: boolean) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * One request to the store: charges that fit into one window together, or one charge alone, or only peeks.
 */
export interface StoreCharge {
  readonly key: string;
  readonly cost: number;
  readonly limit: number;
}

/**
 * One queue of waiting charges per key. Each key has one request to the store in flight, for many waiting
 * charges together: forty charges at once take two requests, not forty in a row. Each charge gets the answer
 * that it would get alone, in order of arrival.
 */
export class ChargeQueues {
  readonly #ask: (charge: StoreCharge) => Promise<boolean>;
  readonly #spent: SpentWindows;
  readonly #queues = new Map<string, WaitingCharge[]>();

  /**
   * @param ask resolves to true when the store allows the whole cost. It adds what it learns of the window to
   *   `spent`.
   */
  constructor(ask: (charge: StoreCharge) => Promise<boolean>, spent: SpentWindows) {
    this.#ask = ask;
    this.#spent = spent;
  }

  charge(key: string, cost: number, limit: number, overdue: AbortSignal): Promise<boolean> {
    return new Promise((answer, fail) => {
      const waiting = { cost, limit, overdue, answer, fail };
      const queue = this.#queues.get(key);
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      const started = [waiting];
      this.#queues.set(key, started);
      void this.#serve(key, started);
    });
  }

  async #serve(key: string, queue: WaitingCharge[]): Promise<void> {
    let groupMax = Number.MAX_SAFE_INTEGER;
    while (settleKnown(key, queue, this.#spent)) {
      const group = groupOf(queue, groupMax, this.#spent.left(key, queue[0]?.limit ?? 0));
      const allowed = await this.#answerOf(key, group);
      // When the store refuses several charges together, fewer may fit.
      const isSettled = allowed !== false || group.length === 1;
      groupMax = isSettled ? Number.MAX_SAFE_INTEGER : Math.ceil(group.length / 2);
      if (!isSettled) continue;
      queue.splice(0, group.length);
      if (allowed !== null) for (const each of group) each.answer(allowed);
    }
    this.#queues.delete(key);
  }

  /** @returns null when the store did not answer. Each charge of the group has failed then. */
  async #answerOf(key: string, group: readonly WaitingCharge[]): Promise<boolean | null> {
    const [first] = group;
    const last = group.at(-1);
    if (first === undefined || last === undefined) return null;
    const cost = group.reduce((sum, each) => sum + each.cost, 0);
    try {
      // A hanging store blocks the queue only until the time limit of the group's last charge.
      return await unlessAborted(this.#ask({ key, cost, limit: first.limit }), last.overdue);
    } catch (error) {
      for (const each of group) each.fail(error);
      return null;
    }
  }
}

/** Removes charges that need no answer from the store. @returns true when charges are left. */
function settleKnown(key: string, queue: WaitingCharge[], spent: SpentWindows): boolean {
  const waiting = queue.filter(({ cost, limit, overdue, answer }) => {
    if (overdue.aborted) return false; // the caller of `charge` has stopped waiting
    const costMin = Math.max(1, cost); // a peek asks whether a charge of 1 would fit
    if (!spent.refuses(key, costMin, limit)) return true;
    answer(false);
    return false;
  });
  queue.splice(0, queue.length, ...waiting);
  return queue.length > 0;
}

/**
 * The first charges that can share a request: at most `lengthMax`, within the remaining limit. At least one.
 */
function groupOf(queue: readonly WaitingCharge[], lengthMax: number, left: number): WaitingCharge[] {
  const [first] = queue;
  if (first === undefined) return [];
  let sum = first.cost;
  const end = queue.findIndex((each, index) => {
    if (index === 0) return false;
    sum += each.cost;
    const isSameKind = each.limit === first.limit && (each.cost === 0) === (first.cost === 0);
    return !isSameKind || sum > left || index >= lengthMax;
  });
  return queue.slice(0, end === -1 ? undefined : end);
}
