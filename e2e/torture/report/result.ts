import type { ExperimentResult } from '../harness/run-experiment.ts';
import type { Machine } from './machine.ts';

/** The machine-readable result of a run. */
export interface TortureResult {
  readonly seed: number;
  /** Every experiment of the run has held, and all of them ran. */
  readonly passed: boolean;
  readonly minutes: number;
  readonly machine: Machine;
  readonly experiments: readonly ExperimentResult[];
  /** Those that the machine cannot carry out, and why. */
  readonly skipped: readonly { readonly number: number; readonly title: string; readonly why: string }[];
}
