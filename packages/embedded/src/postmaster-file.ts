import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { readOrNull } from './files.ts';
import { isRunning } from './process-state.ts';

/** The content of `postmaster.pid`, which a running server writes. */
export interface Postmaster {
  pid: number;
  port: number;
  /** False while it starts, recovers or stops. */
  ready: boolean;
}

/** Reads `postmaster.pid` (lines: 1 pid, 4 port, 8 status). Returns null when it is missing or malformed. */
export function readPostmaster(dataDir: string): Postmaster | null {
  const lines = readOrNull(join(dataDir, 'postmaster.pid'))?.split('\n');
  const pid = Number(lines?.[0]);
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return null;
  return { pid, port: Number(lines[3] ?? 0), ready: lines[7]?.trim() === 'ready' };
}

/** The port of the last start, from `postmaster.opts`, or null. */
export function lastPort(dataDir: string): number | null {
  const found = /"port=(\d+)"/.exec(readOrNull(join(dataDir, 'postmaster.opts')) ?? '');
  return found === null ? null : Number(found[1]);
}

/** Separates the arguments in `commandLine`. */
const GAP = process.platform === 'linux' ? '\0' : ' ';

/**
 * Checks that `pid` is the server of this data directory. After a reboot, or in a new container, the number
 * in a stale file often belongs to another program.
 */
export function isPostmasterOf(dataDir: string, pid: number): boolean {
  if (!isRunning(pid)) return false;
  const command = commandLine(pid);
  return command === null || command.includes(`${GAP}-D${GAP}${dataDir}${GAP}`);
}

/**
 * The arguments, each with a `GAP` after it. Returns null when the system does not show them. Postgres then
 * decides whether the file is stale.
 */
function commandLine(pid: number): string | null {
  if (process.platform === 'linux') return readOrNull(`/proc/${pid}/cmdline`);
  try {
    const shown = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return `${shown.trimEnd()}${GAP}`;
  } catch {
    return null;
  }
}
