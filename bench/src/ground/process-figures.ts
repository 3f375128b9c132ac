import { readdirSync, readFileSync } from 'node:fs';

/*
 * CPU time and resident memory of processes, read from Linux's /proc. Elsewhere both are not available, and figures
 * that need them are not measured.
 */

/** One line of /proc/PID/stat, as far as it matters here. Times are in clock ticks. */
export interface ProcessStat {
  readonly parent: number;
  /** Of all its threads, user and system. */
  readonly ticks: number;
  /** Of its children that have ended and were waited for. */
  readonly endedChildrenTicks: number;
}

/** A process, or one with its children: a Postgres server is a process for each connection and more. */
export interface Measured {
  readonly pid: number;
  readonly withChildren?: boolean;
}

/** USER_HZ, in which Linux tells programs of CPU time: the same on all machines that Node runs on. */
const TICKS_PER_SECOND = 100;

/** @throws Error on a system without /proc */
export function requireProcessFigures(): void {
  if (process.platform !== 'linux') {
    throw new Error('CPU time and memory of processes are not available here: they are read from /proc');
  }
}

/** Seconds of CPU that it has used so far. A process that is gone has used none. */
export function cpuSecondsOf({ pid, withChildren = false }: Measured): number {
  const own = statOf(pid);
  if (own === null) return 0;
  if (!withChildren) return own.ticks / TICKS_PER_SECOND;
  const children = livingChildren(pid).reduce((sum, child) => sum + child.ticks, 0);
  return (own.ticks + own.endedChildrenTicks + children) / TICKS_PER_SECOND;
}

/** Resident memory in bytes. */
export function residentBytesOf(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kib === undefined) throw new Error(`process ${pid} has no resident memory`);
  return Number(kib) * 1024;
}

/** proc(5): the second field is the program's name in parentheses, and may hold any character. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const number = (field: number): number => Number(fields[field - 3]); // proc(5) counts from 1
  return { parent: number(4), ticks: number(14) + number(15), endedChildrenTicks: number(16) + number(17) };
}

function livingChildren(parent: number): ProcessStat[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = pids.map((pid) => statOf(Number(pid)));
  return stats.filter((stat) => stat?.parent === parent).filter((stat) => stat !== null);
}

function statOf(pid: number): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}
