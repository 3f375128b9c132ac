import { spawn } from 'node:child_process';

/** Ends a server when its launcher is gone, even after SIGKILL. */
export interface Guard {
  /** The process of the guard. It ends when its work is done. */
  pid: number;
  /** Ends the guard without a signal to the server: the launcher ends the server itself. */
  release(): void;
}

/**
 * Waits for the end of its standard input. The launcher holds it open, and the kernel closes it even after
 * SIGKILL. `$1` is the pid, `$2` the signal; the rest are paths to remove.
 */
const GUARD = `
while read -r word; do [ "$word" = release ] && exit 0; done
pid=$1; signal=$2; shift 2
runs() { # a zombie does not
  kill -0 "$pid" 2>/dev/null || return 1
  state=; [ -r "/proc/$pid/stat" ] && read -r _ _ state _ < "/proc/$pid/stat"
  [ "$state" != Z ]
}
kill -s "$signal" "$pid" 2>/dev/null
kill -s CONT "$pid" 2>/dev/null
tries=0
while runs && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -s KILL "$pid" 2>/dev/null
[ $# -gt 0 ] && rm -rf -- "$@"
exit 0
`;

/** Starts a shell (about 1 MB) that outlives this process, then signals `pid` and removes `files`. */
export function guardProcess(pid: number, signal: NodeJS.Signals, files: readonly string[]): Guard {
  const name = signal.replace(/^SIG/, '');
  const child = spawn('/bin/sh', ['-c', GUARD, 'guard', String(pid), name, ...files], {
    detached: true, // Ctrl-C signals the whole process group; the guard must survive it
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  // The pipe breaks when the guard is killed first.
  child.stdin.on('error', () => child.stdin.destroy());
  (child.stdin as unknown as { unref(): void }).unref();
  return {
    pid: child.pid ?? 0,
    release: () => {
      if (child.stdin.writable) child.stdin.end('release\n');
    },
  };
}
