import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning } from './process-state.ts';

/** What a running server says about itself in `postmaster.pid`. */
export interface Postmaster {
  pid: number;
  port: number;
  /** False while it starts, recovers or stops. */
  ready: boolean;
}

/** The content of `postmaster.pid` (lines: 1 pid, 4 port, 8 status), or null when there is no server's file. */
export function readPostmaster(dataDir: string): Postmaster | null {
  const lines = readOrNull(join(dataDir, 'postmaster.pid'))?.split('\n');
  const pid = Number(lines?.[0]);
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return null;
  return { pid, port: Number(lines[3] ?? 0), ready: lines[7]?.trim() === 'ready' };
}

/** The port of the last start, kept by Postgres in `postmaster.opts`, or null. */
export function lastPort(dataDir: string): number | null {
  const found = /"port=(\d+)"/.exec(readOrNull(join(dataDir, 'postmaster.opts')) ?? '');
  return found === null ? null : Number(found[1]);
}

/**
 * Whether `pid` is the server of this data directory. After a reboot, or in a new container, the number in a stale
 * file often belongs to something else.
 */
export function isPostmasterOf(dataDir: string, pid: number): boolean {
  if (!isRunning(pid)) return false;
  const command = commandLine(pid);
  return command === null || command.includes(dataDir);
}

/** Null when the system does not tell; Postgres then decides for itself whether the file is stale. */
function commandLine(pid: number): string | null {
  if (process.platform === 'linux') return readOrNull(`/proc/${pid}/cmdline`);
  try {
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return null;
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
