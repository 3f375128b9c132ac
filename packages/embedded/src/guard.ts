import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Writable } from 'node:stream';
import { processIdentity } from './process-state.ts';

/**
 * Waits for the end of its standard input. Only the launcher holds it open, and the kernel closes it when
 * the launcher ends, even by SIGKILL. `$1` is the server's pid, `$2` its `processIdentity`, `$3` the signal,
 * and the rest are paths to remove. On Linux, a later process with the same pid has another start time, so
 * it gets no signal. macOS has no /proc: there, only the pid counts.
 */
const SCRIPT = `
while read -r word; do [ "$word" = release ] && exit 0; done
pid=$1; identity=$2; signal=$3; shift 3
runs() { # true while the server runs; a zombie does not
  [ -n "$identity" ] && kill -0 "$pid" 2>/dev/null || return 1
  [ -r "/proc/$pid/stat" ] || return 0
  read -r stat < "/proc/$pid/stat"
  set -- \${stat##*) } # "pid (name) state …": the name may contain ") "
  # now $1 is the state and \${20} the start time: fields 3 and 22 of proc(5)
  [ "$1" != Z ] && [ "$pid \${20}" = "$identity" ]
}
if runs; then
  kill -s "$signal" "$pid" 2>/dev/null
  kill -s CONT "$pid" 2>/dev/null # after SIGSTOP, a process does not act on the signal
  tries=0 # 5 s, then SIGKILL
  while runs && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
  runs && kill -s KILL "$pid" 2>/dev/null
fi
[ $# -gt 0 ] && rm -rf -- "$@"
exit 0
`;

/**
 * A shell (about 1 MB) that outlives this process. When this process ends, the shell signals `pid` and
 * removes `files`.
 */
export class Guard {
  readonly #shell: ChildProcessByStdio<Writable, null, null>;

  /** @param identity only tests pass it: an earlier process with the same pid */
  constructor(
    pid: number,
    signal: NodeJS.Signals,
    files: readonly string[],
    identity: string | null = processIdentity(pid),
  ) {
    const name = signal.replace(/^SIG/, '');
    const server = [String(pid), identity ?? '', name];
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'guard', ...server, ...files], {
      detached: true, // Ctrl-C signals the whole process group; the guard must survive it
      cwd: '/',
      env: { PATH: `/usr/bin:/bin:${process.env['PATH'] ?? ''}` }, // NixOS has sleep and rm elsewhere
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const { stdin } = this.#shell;
    this.#shell.on('error', () => undefined); // without a shell, the launcher alone ends the server
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
