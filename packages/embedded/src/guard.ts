import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * Waits for the end of its standard input. The launcher holds it open, and the kernel closes it even after
 * SIGKILL. `$1` is the pid, `$2` the signal; the rest are paths to remove.
 */
const SCRIPT = `
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

/** A shell (about 1 MB) that outlives this process. Then it signals `pid` and removes `files`. */
export class Guard {
  readonly #shell: ChildProcessByStdio<Writable, null, null>;

  constructor(pid: number, signal: NodeJS.Signals, files: readonly string[]) {
    const name = signal.replace(/^SIG/, '');
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'guard', String(pid), name, ...files], {
      detached: true, // Ctrl-C signals the whole process group; the guard must survive it
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const { stdin } = this.#shell;
    this.#shell.unref();
    stdin.on('error', () => stdin.destroy()); // the pipe breaks when the guard is killed first
    (stdin as unknown as { unref(): void }).unref();
  }

  get pid(): number {
    return this.#shell.pid ?? 0;
  }

  /** Ends the guard without a signal to the server: the launcher ends the server itself. */
  release(): void {
    if (this.#shell.stdin.writable) this.#shell.stdin.end('release\n');
  }
}
