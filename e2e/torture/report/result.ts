import { arch, cpus, platform } from 'node:os';
import type { ExperimentResult } from '../harness/run-experiment.ts';

/** The machine-readable result of a run. */
export interface TortureResult {
  readonly seed: number;
  /** True when every chosen experiment ran and held. */
  readonly passed: boolean;
  readonly minutes: number;
  readonly machine: Machine;
  readonly experiments: readonly ExperimentResult[];
  /** The experiments that this machine cannot carry out, with the reason. */
  readonly skipped: readonly { readonly number: number; readonly title: string; readonly why: string }[];
}

interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly platform: string;
  readonly node: string;
  /** ISO 8601, UTC. */
  readonly finishedAt: string;
}

export function describeMachine(): Machine {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    platform: `${platform()} ${arch()}`,
    node: process.version,
    finishedAt: new Date().toISOString(),
  };
}

/** `4.3 s`, or `-` when it was not measured. */
export function inSeconds(ms: number | null): string {
  return ms === null ? '-' : `${(ms / 1000).toFixed(1)} s`;
}
