import { unlessAborted } from './fail-closed.ts';
import type { SpentWindows } from './spent-windows.ts';

/** A charge, or with a cost of 0 a look, that waits for its answer. */
interface WaitingCharge {
  readonly cost: number;
  readonly limit: number;
  /** Aborted when its time is over. */
  readonly overdue: AbortSignal;
  readonly answer: (allowed: boolean) => void;
  readonly fail: (error: unknown) => void;
}

/** What the store is asked in one go: charges that fit in one window together, or one alone; or looks only. */
export interface StoreCharge {
  readonly key: string;
  readonly cost: number;
  readonly limit: number;
}

export interface ChargeLines {
  charge(key: string, cost: number, limit: number, overdue: AbortSignal): Promise<boolean>;
}

/**
 * One line of waiting charges for each key. The store is asked about a key once at a time, and for all that wait
 * meanwhile together: forty requests at once take two statements, not forty one behind the other. What is allowed and
 * refused is what it would be one by one, in the order they came.
 *
 * @param ask whether the store allows the cost as a whole; what it learns of the window it adds to `spent`.
 */
export function createChargeLines(
  ask: (question: StoreCharge) => Promise<boolean>,
  spent: Pick<SpentWindows, 'refuses' | 'left'>,
): ChargeLines {
  const lines = new Map<string, WaitingCharge[]>();

  async function serve(key: string, line: WaitingCharge[]): Promise<void> {
    let together = Number.MAX_SAFE_INTEGER;
    while (settleKnown(key, line, spent)) {
      const group = groupOf(line, together, spent.left(key, line[0]?.limit ?? 0));
      const allowed = await answerOf(key, group);
      // More than one, refused as a whole: fewer may fit.
      const settled = allowed !== false || group.length === 1;
      together = settled ? Number.MAX_SAFE_INTEGER : Math.ceil(group.length / 2);
      if (!settled) continue;
      line.splice(0, group.length);
      if (allowed !== null) for (const each of group) each.answer(allowed);
    }
    lines.delete(key);
  }

  /** @returns null when the store did not answer: each of the group is told so. */
  async function answerOf(key: string, group: readonly WaitingCharge[]): Promise<boolean | null> {
    const [first] = group;
    const last = group.at(-1);
    if (first === undefined || last === undefined) return null;
    const cost = group.reduce((sum, each) => sum + each.cost, 0);
    try {
      // A store that hangs holds up the line until the last of the group has no time left, not until it answers.
      return await unlessAborted(ask({ key, cost, limit: first.limit }), last.overdue);
    } catch (error) {
      for (const each of group) each.fail(error);
      return null;
    }
  }

  return {
    charge: (key, cost, limit, overdue) =>
      new Promise((answer, fail) => {
        const waiting = { cost, limit, overdue, answer, fail };
        const line = lines.get(key);
        if (line !== undefined) {
          line.push(waiting);
          return;
        }
        const begun = [waiting];
        lines.set(key, begun);
        void serve(key, begun);
      }),
  };
}

/** Takes out of the line whom the store need not be asked about. @returns whether anybody is left. */
function settleKnown(key: string, line: WaitingCharge[], spent: Pick<SpentWindows, 'refuses'>): boolean {
  const left = line.filter(({ cost, limit, overdue, answer }) => {
    if (overdue.aborted) return false; // answered already
    if (!spent.refuses(key, Math.max(1, cost), limit)) return true;
    answer(false);
    return false;
  });
  line.splice(0, line.length, ...left);
  return line.length > 0;
}

/** The longest run from the front, `atMost` long, that can be one question; the first, in any case. */
function groupOf(line: readonly WaitingCharge[], atMost: number, left: number): WaitingCharge[] {
  const [first] = line;
  if (first === undefined) return [];
  let sum = first.cost;
  const end = line.findIndex((each, index) => {
    if (index === 0) return false;
    sum += each.cost;
    const alike = each.limit === first.limit && (each.cost === 0) === (first.cost === 0);
    return !alike || sum > left || index >= atMost;
  });
  return line.slice(0, end === -1 ? undefined : end);
}
