import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '@postrider/runtime';
import { StartError } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { ChildLog } from './child-log.ts';

export interface ChildOptions {
  readonly name: string;
  readonly distDir: string;
  readonly env: Environment;
  /** Answers 200 when the process is ready. */
  readonly readyUrl: string;
  readonly logFile: string;
  readonly terminal: Terminal;
  /** The process ends by itself within this time after SIGTERM. */
  readonly shutdownDeadlineMs: number;
  /** Gets the process number of each run. */
  readonly onPid: (pid: number) => void;
}

const READY_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 25;
const READY_ANSWER_TIMEOUT_MS = 2_000;
const RESTART_DELAY_MS = 500;
const RESTART_DELAY_MS_MAX = 10_000;
/** After a run of this length the restart delay begins anew. */
const STEADY_AFTER_MS = 30_000;
/** Wait after the process's own deadline, before SIGKILL. */
const STOP_MARGIN_MS = 3_000;

/**
 * Code that runs in the child before its program. When this process ends, even by SIGKILL, the IPC channel
 * closes and the child sends itself SIGTERM. The channel does not keep the child alive.
 */
const FOLLOW_PARENT = `data:text/javascript,${encodeURIComponent(
  "process.on('disconnect', () => process.kill(process.pid, 'SIGTERM')); process.channel?.unref();",
)}`;

/**
 * Starts a process of the system, and restarts it when it ends by itself. Resolves when it is ready.
 *
 * @throws StartError when it ends first, with its last error on stderr, or when it is not ready in time.
 * AbortError after `signal`. In each case the process has ended.
 */
export async function startChild(
  options: ChildOptions,
  signal: AbortSignal,
): Promise<{ stop(): Promise<void> }> {
  const log = new ChildLog(options.logFile, (words, role) =>
    options.terminal.say(role ?? options.name, words),
  );
  const first = launch(options, log);
  try {
    await untilReady(first, options.readyUrl, signal);
  } catch (error) {
    // Only a child that ended has written the reason on stderr. A child that runs has written warnings.
    const hasFailed = hasEnded(first.child);
    await end(first, options);
    await log.close();
    const reason = signal.aborted || !hasFailed ? null : log.lastErrorLine();
    // A StartError is printed with the prefix `postrider: `, so the child's own prefix goes.
    throw reason === null ? error : new StartError(reason.replace(/^postrider: /, ''), { cause: error });
  }
  const stopping = new AbortController();
  const kept = keepAlive(first, options, log, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await kept;
      await log.close();
    },
  };
}

interface Run {
  readonly child: ChildProcess;
  /** Resolves when the process has ended and its output is read. */
  readonly ended: Promise<void>;
}

function launch(options: ChildOptions, log: ChildLog): Run {
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', '--import', FOLLOW_PARENT, join(options.distDir, `${options.name}.js`)],
    // The child has its own process group: Ctrl-C reaches only this process, which stops its children in
    // order.
    { env: { ...options.env }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'], detached: true },
  );
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.on('error', ({ message }) => log.noteError(message)); // such as EAGAIN: too many processes
  const { stdout, stderr, pid } = child as Partial<ChildProcess>; // Node sets no pipes after EMFILE
  if (stdout && stderr) log.follow(stdout, stderr);
  if (pid !== undefined) options.onPid(pid);
  return { child, ended };
}

/** Restarts the child until `stopping`, and then ends it. */
async function keepAlive(
  first: Run,
  options: ChildOptions,
  log: ChildLog,
  stopping: AbortSignal,
): Promise<void> {
  let restartDelayMs = RESTART_DELAY_MS;
  for (let run = first; ; run = launch(options, log)) {
    const startedAt = performance.now();
    await Promise.race([run.ended, aborted(stopping)]);
    if (stopping.aborted) return end(run, options);
    if (performance.now() - startedAt > STEADY_AFTER_MS) restartDelayMs = RESTART_DELAY_MS;
    const how = run.child.signalCode ?? run.child.exitCode;
    options.terminal.say(options.name, `ended with ${how}; starting again in ${restartDelayMs / 1000} s`);
    await Promise.race([delay(restartDelayMs), aborted(stopping)]);
    if (isAborted(stopping)) return;
    restartDelayMs = Math.min(2 * restartDelayMs, RESTART_DELAY_MS_MAX);
  }
}

async function untilReady({ child }: Run, url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await answers(url))) {
    if (hasEnded(child)) throw new StartError(`it ended with ${child.signalCode ?? child.exitCode}`);
    if (performance.now() > deadline)
      throw new StartError(`it was not ready after ${READY_TIMEOUT_MS / 1000} s`);
    await delay(READY_POLL_MS, undefined, { signal });
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_ANSWER_TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // not listening yet
  }
}

async function end({ child, ended }: Run, { shutdownDeadlineMs }: ChildOptions): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!hasEnded(child)) child.kill(signal);
    const timeout = new AbortController();
    const tooLate = delay(shutdownDeadlineMs + STOP_MARGIN_MS, false, { signal: timeout.signal });
    const hasClosed = await Promise.race([ended.then(() => true), tooLate.catch(() => false)]);
    timeout.abort();
    if (hasClosed) return;
  }
}

/** A function, because TypeScript does not see that the signal may change between two awaits. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
