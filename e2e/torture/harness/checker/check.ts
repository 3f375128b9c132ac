import { findDelays, findExcesses } from './bounds.ts';
import { findCauseFaults } from './causes.ts';
import { findContentFaults } from './contents.ts';
import { findEndingFaults } from './endings.ts';
import type { History, Violation } from './history.ts';
import { indexHistory } from './index-history.ts';
import { withoutWhatWasLost } from './lost-history.ts';
import { findLosses } from './losses.ts';
import { findLostMail, findRepeatedMail } from './mail.ts';
import { findRepeats, repeatsOf } from './repeats.ts';
import { findScheduleFaults } from './schedule.ts';

/** The figures of every experiment. */
export interface Figures {
  /** Committed events. */
  readonly events: number;
  /** Events times the endpoints they went to. */
  readonly deliveries: number;
  /** Requests that reached an endpoint. */
  readonly requests: number;
  readonly faults: number;
  /** Lost deliveries and lost mail. */
  readonly lost: number;
  readonly deadLetters: number;
  readonly duplicates: number;
  /** Attempts begun and not recorded, over all faults that may repeat one: the duplicates may not be more. */
  readonly inFlightAtFaults: number;
  readonly causesWithoutEvents: number;
  readonly eventsWithoutCauses: number;
  /** Null: without a fault there is nothing to recover from. */
  readonly recoveryMs: number | null;
}

export interface Verdict {
  readonly figures: Figures;
  readonly violations: readonly Violation[];
}

/** Joins the producer's log, the receivers' log and Postgres' rows, and finds the violations. */
export function check(whole: History): Verdict {
  const history = withoutWhatWasLost(whole);
  const index = indexHistory(history);
  const losses = [...findLosses(history, index), ...findLostMail(history)];
  const repeats = findRepeats(index);
  const causes = findCauseFaults(history);
  const keys = new Set([...index.receipts.keys(), ...index.attempts.keys(), ...index.deadLetters.keys()]);
  return {
    figures: {
      events: history.store.events.length,
      deliveries: keys.size,
      requests: history.receipts.length,
      faults: history.faults.length,
      lost: losses.length,
      deadLetters: index.deadLetters.size,
      duplicates: [...index.receipts.keys()].reduce((sum, key) => sum + repeatsOf(key, index), 0),
      inFlightAtFaults: [...index.excuses.values()].reduce((sum, faults) => sum + faults.length, 0),
      causesWithoutEvents: causes.causesWithoutEvents,
      eventsWithoutCauses: causes.eventsWithoutCauses,
      recoveryMs: history.faults.length === 0 ? null : history.recoveryMs,
    },
    violations: [
      ...losses,
      ...repeats,
      ...findRepeatedMail(history),
      ...causes.violations,
      ...findScheduleFaults(index, history.rules),
      ...findEndingFaults(history, index),
      ...findContentFaults(index, history.rules),
      ...refusals(history),
      ...findDelays(history),
      ...findExcesses(history),
      ...recovery(history),
    ],
  };
}

function refusals({ canaryConnections }: History): Violation[] {
  if (canaryConnections === 0) return [];
  return [
    { invariant: 'I7', text: `${canaryConnections} connections reached an address that must be refused` },
  ];
}

function recovery({ faults, recoveryMs, rules }: History): Violation[] {
  if (faults.length === 0) return [];
  if (recoveryMs === null) {
    return [{ invariant: 'I10', text: 'what was due when the last fault healed was not all attempted' }];
  }
  if (recoveryMs <= rules.recoveryMsMax) return [];
  return [
    { invariant: 'I10', text: `recovery took ${Math.round(recoveryMs)} ms, over ${rules.recoveryMsMax} ms` },
  ];
}
