import type { Machine } from '@postrider/testing';
import type { ExperimentResult } from '../harness/run-experiment.ts';

/** The machine-readable result of a run. */
export interface TortureResult {
  /** As it was typed. */
  readonly command: string;
  readonly seed: number;
  /** The share of every count, in percent. */
  readonly percent: number;
  /** The number of the experiments that the run was to make. */
  readonly chosen: number;
  /** True when every chosen experiment ran and held. */
  readonly passed: boolean;
  readonly minutes: number;
  /** `finishedAt` is ISO 8601, UTC. */
  readonly machine: Machine & { readonly finishedAt: string };
  readonly experiments: readonly ExperimentResult[];
  /** All other experiments, with the reason. */
  readonly notRun: readonly NotRun[];
}

export interface NotRun {
  readonly number: number;
  readonly title: string;
  readonly why: string;
}

/** `4.3 s`, or `-` when it was not measured. */
export function inSeconds(ms: number | null): string {
  return ms === null ? '-' : `${(ms / 1000).toFixed(1)} s`;
}
