import type { Figures } from '../harness/checker/check.ts';
import type { ExperimentResult } from '../harness/run-experiment.ts';
import { inSeconds } from './result.ts';

const VIOLATIONS_SHOWN = 8;

/** How an experiment went, in a few lines. */
export function linesOf(result: ExperimentResult): string[] {
  const head = `${result.number} ${result.passed ? 'held' : 'FAILED'} in ${result.seconds.toFixed(1)} s`;
  return [
    result.figures === null ? head : `${head}: ${figuresIn(result.figures)}`,
    ...(result.passed ? [] : failuresIn(result)),
  ];
}

function figuresIn(figures: Figures): string {
  return [
    `events ${figures.events}`,
    `deliveries ${figures.deliveries}`,
    `requests ${figures.requests}`,
    `faults ${figures.faults}`,
    `lost ${figures.lost}`,
    `dead letters ${figures.deadLetters}`,
    `duplicates ${figures.duplicates} of ${figures.inFlightAtFaults} in flight`,
    `causes without events ${figures.causesWithoutEvents}`,
    `events without causes ${figures.eventsWithoutCauses}`,
    `recovery ${inSeconds(figures.recoveryMs)}`,
  ].join(', ');
}

function failuresIn(result: ExperimentResult): string[] {
  const claims = result.claims.filter((claim) => !claim.held);
  const more = result.violations.length - VIOLATIONS_SHOWN;
  return [
    ...(result.error === null ? [] : [`    error: ${result.error}`]),
    ...claims.map((claim) => `    not so: ${claim.text} (saw: ${claim.saw ?? '-'})`),
    ...result.violations
      .slice(0, VIOLATIONS_SHOWN)
      .map(({ invariant, key, text }) => `    ${invariant} ${key ?? ''} ${text}`),
    ...(more > 0 ? [`    and ${more} violations more`] : []),
    `    again: npm run torture -- --only ${result.number} --seed ${result.seed}`,
  ];
}
