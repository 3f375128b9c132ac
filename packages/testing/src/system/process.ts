import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitFor } from '../wait-for.ts';

export type ProcessName = 'api' | 'relay' | 'worker' | 'inbound';

/** One JSON line of a process's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** On a busy machine. A start takes half a second of CPU time. */
const START_MS_MAX = 60_000;

/** A real process of the system, run from its bundle. */
export interface SystemProcess {
  readonly name: ProcessName;
  readonly pid: number;
  /** Every line it has logged. */
  readonly log: readonly LogLine[];
  /** What it wrote to stderr. */
  readonly stderr: readonly string[];
  readonly running: boolean;
  /** The port of its health and metrics, or of the API. Waits until it listens. */
  port(): Promise<number>;
  /** The port on which the inbound process receives mail. Waits until it listens. */
  smtpPort(): Promise<number>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves to its exit code, or null when a signal ended it. */
  exited(): Promise<number | null>;
  /** SIGTERM, and waits. */
  stop(): Promise<number | null>;
  /** SIGKILL, and waits. */
  kill(): Promise<void>;
}

/** Where the bundles are: in the repository's `dist`, whether this runs from the sources or from a bundle in it. */
export const DIST = join(projectFolder(), 'dist');

/**
 * @param env all of its environment; nothing is inherited but PATH.
 * @param dist where its bundle is.
 */
export function startProcess(
  name: ProcessName,
  env: Readonly<Record<string, string>>,
  dist = DIST,
): SystemProcess {
  const child = spawn(process.execPath, ['--enable-source-maps', join(dist, `${name}.js`)], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithUs(child);
  const log: LogLine[] = [];
  const stderr: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => log.push(parseLine(line)));
  createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line));
  const exit = exitOf(child);

  async function portOf(says: (line: LogLine) => boolean): Promise<number> {
    const line = await waitFor(() => log.find(says) ?? !running(), {
      what: `${name} to listen`,
      timeoutMs: START_MS_MAX,
    });
    if (line === true)
      throw new Error(`${name} ended while starting: ${stderr.join('\n')} ${lastWords(log)}`);
    return line['port'] as number;
  }

  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    name,
    pid: child.pid ?? -1,
    log,
    stderr,
    get running() {
      return running();
    },
    port: () => portOf(saysItListens),
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

/** A program that crashes leaves nothing running. */
function endWithUs(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

function saysItListens(line: LogLine): boolean {
  return typeof line['port'] === 'number' && /\blisten(s|ing)\b/.test(String(line['msg']));
}

function lastWords(log: readonly LogLine[]): string {
  return log
    .slice(-3)
    .map((line) => JSON.stringify(line))
    .join('\n');
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
    if (folder === dirname(folder)) throw new Error('this is not in the project');
  }
}
