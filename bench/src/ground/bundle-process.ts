import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { endsWithUs } from '../ends-with-us.ts';
import { waitFor } from '@postrider/testing';

export type ProductProcess = 'api' | 'relay' | 'worker' | 'inbound';

/** A process of the product, started as in production: its bundle alone, its log to a file. */
export interface BundleProcess {
  readonly name: ProductProcess;
  readonly pid: number;
  /** Of its health and metrics, or of the API, or the one that mail comes in on. */
  readonly port: number;
  /** SIGTERM, and waits. @throws Error when it does not exit with 0 */
  stop(): Promise<void>;
  /** SIGKILL, and waits. */
  kill(): Promise<void>;
}

export interface BundleOptions {
  /** Where the bundles are. */
  readonly bundles: string;
  /** Where its log goes. */
  readonly folder: string;
  /** All of its environment but PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Writes a CPU profile there when it is stopped. */
  readonly profileFolder: string | null;
}

const START_TIMEOUT_MS = 60_000;

let started = 0;

/** Resolves once it listens. @throws Error with its last words when it ends instead */
export async function startBundle(name: ProductProcess, options: BundleOptions): Promise<BundleProcess> {
  const label = `${name}-${++started}`;
  const logFile = join(options.folder, `${label}.log`);
  const log = openSync(logFile, 'w');
  const flags = options.profileFolder === null ? [] : profileFlags(options.profileFolder, label);
  const child = spawn(process.execPath, [...flags, join(options.bundles, `${name}.js`)], {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  endsWithUs(child);

  const port = await waitFor(
    () => listeningPort(name, logFile) ?? ((child.exitCode !== null || child.signalCode !== null) && 'ended'),
    {
      what: `${name} to listen`,
      timeoutMs: START_TIMEOUT_MS,
    },
  );
  if (port === 'ended') {
    throw new Error(`${name} ended while starting: ${lastLine(logFile)}`);
  }
  return {
    name,
    pid: child.pid ?? 0,
    port,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exited;
      if (code !== 0) throw new Error(`${name} ended with ${code ?? 'a signal'}; see ${basename(logFile)}`);
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function profileFlags(folder: string, label: string): string[] {
  return ['--cpu-prof', `--cpu-prof-dir=${join(folder, label)}`]; // a file for each thread
}

function lastLine(logFile: string): string {
  return readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? '';
}

/** From the one line of its log that says so. */
function listeningPort(name: ProductProcess, logFile: string): number | null {
  const words = name === 'inbound' ? /\binbound server listens\b/ : /\blisten(s|ing)\b/;
  const line = readFileSync(logFile, 'utf8')
    .split('\n')
    .find((text) => words.test(text) && text.includes('"port":'));
  return line === undefined ? null : Number(/"port":(\d+)/.exec(line)?.[1]);
}
