import { arch, cpus, platform } from 'node:os';

/** Where the figures come from. */
export interface Machine {
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
