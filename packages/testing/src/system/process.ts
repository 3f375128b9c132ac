import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitFor } from '../wait-for.ts';
import { endsWithUs } from './ends-with-us.ts';
import { forEveryProcess } from './for-every-process.ts';

export type ProcessName = 'api' | 'relay' | 'worker' | 'inbound' | 'console' | 'all';

/** One JSON line of a process's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Long, for a busy machine. A start takes half a second of CPU time. */
const START_MS_MAX = 60_000;

/** A real process of the system, started from its bundle. */
export interface SystemProcess {
  readonly name: ProcessName;
  readonly pid: number;
  /** All lines of its log so far. */
  readonly log: readonly LogLine[];
  /** All lines on stderr so far. Empty with a log file: its lines are in `log`. */
  readonly stderr: readonly string[];
  readonly running: boolean;
  /**
   * The port of health and metrics, which is the only port of an API or console. Waits until the process
   * listens.
   * @param role for a process with several roles: `api` or `console`, for the port of that role
   */
  port(role?: ProcessName): Promise<number>;
  /** The SMTP port of the inbound process. Waits until the process listens. */
  smtpPort(): Promise<number>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves to its exit code, or null when a signal ended it. */
  exited(): Promise<number | null>;
  /** Sends SIGTERM and waits. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and waits. */
  kill(): Promise<void>;
}

/** The folder of the bundles: `dist` of the repository, or the copy of `dist` that contains this bundle. */
export const DIST = join(projectFolder(), 'dist');

/**
 * V8 has up to 16 MB for new objects. It begins with 1 MB, and collects garbage each time that this space is
 * full. With 16 MB from the beginning, a start takes a quarter less CPU time.
 */
const QUICK_START = ['--min-semi-space-size=16'];

export interface StartOptions {
  /** The folder of the bundle. Default: {@link DIST}. */
  readonly dist?: string | undefined;
  /** Node's own arguments. Default: {@link QUICK_START}. */
  readonly flags?: readonly string[];
  /** Takes all output of the process, so that this process spends no time on it. */
  readonly logFile?: string;
}

/** @param env added to that of `forEveryProcess` */
export function startProcess(
  name: ProcessName,
  env: Readonly<Record<string, string>>,
  { dist = DIST, flags = QUICK_START, logFile }: StartOptions = {},
): SystemProcess {
  const file = logFile === undefined ? null : openSync(logFile, 'w');
  const child = spawn(process.execPath, [...flags, join(dist, `${name}.js`)], {
    env: { ...forEveryProcess(), ...env },
    stdio: ['ignore', file ?? 'pipe', file ?? 'pipe'],
  });
  if (file !== null) closeSync(file);
  endsWithUs(child);
  const lines: LogLine[] = [];
  const stderr: string[] = [];
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(parseLine(line)));
  }
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line));
  }
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  const readLog = (): readonly LogLine[] =>
    logFile === undefined ? lines : readFileSync(logFile, 'utf8').trim().split('\n').map(parseLine);

  async function portOf(saysThePort: (line: LogLine) => boolean): Promise<number> {
    // True: the process has ended without such a line.
    const line = await waitFor(() => readLog().find(saysThePort) ?? !running(), {
      what: `${name} to listen`,
      timeoutMs: START_MS_MAX,
    });
    if (line !== true) return line['port'] as number;
    const last = readLog()
      .slice(-3)
      .map((each) => JSON.stringify(each));
    throw new Error(`${name} ended while starting: ${[...stderr, ...last].join('\n')}`);
  }

  return {
    name,
    pid: child.pid ?? -1,
    get log() {
      return readLog();
    },
    stderr,
    get running() {
      return running();
    },
    port: (role = name) => portOf((line) => saysItListens(line) && line['service'] === role),
    smtpPort: () => portOf((line) => line['msg'] === 'inbound server listens'),
    signal: (signal) => void child.kill(signal),
    exited: () => exit,
    async stop() {
      child.kill('SIGTERM');
      return exit;
    },
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

function saysItListens(line: LogLine): boolean {
  return typeof line['port'] === 'number' && /\blisten(s|ing)\b/.test(String(line['msg']));
}

function parseLine(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { unparsed: line };
  }
}

function projectFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'pnpm-workspace.yaml'))) return folder;
    if (folder === dirname(folder)) return dirname(import.meta.dirname);
  }
}
