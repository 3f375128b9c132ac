import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment, Part } from '@postrider/runtime';
import { StartError } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { createChildLog } from './child-log.ts';

export interface ChildOptions {
  readonly name: string;
  readonly distDir: string;
  readonly env: Environment;
  /** Answers 200 once the process is up. */
  readonly readyUrl: string;
  readonly logFile: string;
  readonly terminal: Terminal;
  /** Told the number of each life. */
  readonly onPid: (pid: number) => void;
}

const READY_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 25;
const RESTART_DELAY_MS = 500;
const RESTART_DELAY_MS_MAX = 10_000;
/** Who lived this long is not failing again and again. */
const STEADY_AFTER_MS = 30_000;
/** What a process gets beyond its own deadline to stop. */
const STOP_TIMEOUT_MS = 8_000;

/**
 * Runs in the child before its program: the channel to us breaks when we end, even by SIGKILL, and then it stops as if
 * asked to. The channel itself does not keep it alive.
 */
const FOLLOW_PARENT = `data:text/javascript,${encodeURIComponent(
  "process.on('disconnect', () => process.kill(process.pid, 'SIGTERM')); process.channel?.unref();",
)}`;

/** One process of the system, started again when it ends by itself. */
export function createChild(options: ChildOptions): Required<Part> {
  const { name, terminal } = options;
  const log = createChildLog(options.logFile, (words) => terminal.say(name, words));
  let child: ChildProcess | null = null;
  let stopping = false;
  let restartDelayMs = RESTART_DELAY_MS;
  const wakeUp = new AbortController();

  function launch(): ChildProcess {
    const launched = spawn(
      process.execPath,
      ['--enable-source-maps', '--import', FOLLOW_PARENT, join(options.distDir, `${name}.js`)],
      // A group of its own: Ctrl-C reaches us alone, and we stop the processes in order.
      { env: { ...options.env }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'], detached: true },
    );
    if (launched.stdout !== null && launched.stderr !== null) log.follow(launched.stdout, launched.stderr);
    if (launched.pid !== undefined) options.onPid(launched.pid);
    child = launched;
    return launched;
  }

  async function keepAlive(current: ChildProcess): Promise<void> {
    const startedAt = performance.now();
    const [code, signal] = (await ended(current)) as [number | null, NodeJS.Signals | null];
    if (stopping) return;
    if (performance.now() - startedAt > STEADY_AFTER_MS) restartDelayMs = RESTART_DELAY_MS;
    terminal.say(name, `ended with ${signal ?? code}; starting again in ${restartDelayMs / 1000} s`);
    await delay(restartDelayMs, undefined, { signal: wakeUp.signal }).catch(() => undefined); // stopped meanwhile
    restartDelayMs = Math.min(2 * restartDelayMs, RESTART_DELAY_MS_MAX);
    if (!isStopping()) await keepAlive(launch());
  }

  // A function, because what changes between two awaits is invisible to the type checker's narrowing.
  const isStopping = (): boolean => stopping;

  return {
    async start() {
      const first = launch();
      try {
        await untilReady(first, options.readyUrl);
      } catch (error) {
        await end(first);
        await log.close();
        const complaint = log.lastComplaint();
        throw complaint === null ? error : new StartError(complaint.replace(/^postrider: /, ''));
      }
      void keepAlive(first);
    },
    async stop() {
      stopping = true;
      wakeUp.abort();
      if (child !== null) await end(child);
      await log.close();
    },
  };
}

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await answers(url))) {
    if (hasEnded(child)) throw new StartError(`it ended with ${child.signalCode ?? child.exitCode}`);
    if (performance.now() > deadline) throw new StartError(`it was not ready after ${READY_TIMEOUT_MS / 1000} s`);
    await delay(READY_POLL_MS);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // does not listen yet
  }
}

async function end(child: ChildProcess): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (hasEnded(child)) return;
    child.kill(signal);
    const timeout = new AbortController();
    await Promise.race([
      ended(child),
      delay(STOP_TIMEOUT_MS, undefined, { signal: timeout.signal }).catch(() => undefined), // it ended in time
    ]);
    timeout.abort();
  }
}

async function ended(child: ChildProcess): Promise<unknown[]> {
  return hasEnded(child) ? [child.exitCode, child.signalCode] : once(child, 'exit');
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
