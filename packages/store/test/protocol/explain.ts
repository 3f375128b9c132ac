import type { Act } from './acts.ts';
import { Contradiction, droppable, follow } from './follow.ts';
import type { Circumstances } from './follow.ts';
import { differences } from './snapshot.ts';
import type { Snapshot } from './snapshot.ts';
import { copyOf } from './state.ts';
import type { State } from './state.ts';

/**
 * Looks for an order of the acts, each thread's in its own order, in which every answer is what the protocol gives
 * and after which Postgres holds what the model does: the acts are then linearizable.
 *
 * @param threads what ran at the same time, each with its acts in order.
 * @param order the deliveries outstanding before, in the order in which they are due.
 * @throws Error when there is none, with the reasons against every order that was tried.
 */
export function explain(
  before: State,
  threads: readonly (readonly Act[])[],
  seen: Snapshot,
  order: readonly string[],
): State {
  const at: Circumstances = { begun: before, seen, order, alone: threads.length === 1 };
  const reasons = new Set<string>();
  const search = (state: State, rest: readonly (readonly Act[])[]): State | null => {
    const going = rest.filter((thread) => thread.length > 0);
    if (going.length === 0) return agreed(state, threads, seen, reasons);
    for (const thread of going) {
      const [act, ...others] = thread;
      if (act === undefined) continue;
      for (const next of tried(state, act, at, reasons)) {
        const found = search(next, [...going.filter((other) => other !== thread), others]);
        if (found !== null) return found;
      }
    }
    return null;
  };
  const found = search(before, threads);
  if (found !== null) return found;
  const what = threads.map((thread) => thread.map((act) => JSON.stringify(act)).join('\n  then '));
  throw new Error(
    `no order of these acts explains what Postgres answered and holds:\n- ${what.join('\n- ')}\n` +
      `because:\n- ${[...reasons].slice(0, 12).join('\n- ')}`,
  );
}

function tried(state: State, act: Act, at: Circumstances, reasons: Set<string>): State[] {
  try {
    return follow(state, act, at);
  } catch (error) {
    if (!(error instanceof Contradiction)) throw error;
    reasons.add(error.message);
    return [];
  }
}

function agreed(
  state: State,
  threads: readonly (readonly Act[])[],
  seen: Snapshot,
  reasons: Set<string>,
): State | null {
  const last = copyOf(state);
  if (threads.length > 1 && threads.flat().some(({ kind }) => kind === 'retention')) {
    for (const id of droppable(last)) if (!seen.storedEvents.has(id)) last.storedEvents.delete(id);
  }
  const against = [...differences(last, seen), ...unmade(last, seen)];
  for (const reason of against) reasons.add(reason);
  return against.length === 0 ? last : null;
}

/** A delivery that Postgres made and the model did not, whatever became of it. */
function unmade(state: State, seen: Snapshot): string[] {
  return [...seen.made]
    .filter(([pair, ids]) => ids.length !== (state.sets.get(pair) ?? 0))
    .map(([pair, ids]) => `${pair}: queued ${ids.length} times, the model says ${state.sets.get(pair) ?? 0}`);
}
