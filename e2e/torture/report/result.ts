import type { Machine } from '@postrider/testing';
import type { ExperimentResult } from '../harness/run-experiment.ts';

/** The machine-readable result of a run. */
export interface TortureResult {
  readonly seed: number;
  /** True when every chosen experiment ran and held. */
  readonly passed: boolean;
  readonly minutes: number;
  /** `finishedAt` is ISO 8601, UTC. */
  readonly machine: Machine & { readonly finishedAt: string };
  readonly experiments: readonly ExperimentResult[];
  /** The experiments that this machine cannot carry out, with the reason. */
  readonly skipped: readonly { readonly number: number; readonly title: string; readonly why: string }[];
}

/** `4.3 s`, or `-` when it was not measured. */
export function inSeconds(ms: number | null): string {
  return ms === null ? '-' : `${(ms / 1000).toFixed(1)} s`;
}
