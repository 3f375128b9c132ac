import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { guardProcess } from './guard.ts';
import { endProcess, signalProcess } from './process-state.ts';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 5;

export interface RedisOptions {
  /** TCP port on 127.0.0.1. 0 or unset: any free port. */
  port?: number;
  /** Working directory of the server. Unset: a temporary one that `stop` removes. */
  dir?: string;
  /** More arguments of the server, such as `['--maxmemory', '10mb']`. They win over the defaults. */
  args?: readonly string[];
}

export interface RunningRedis {
  /** `redis://127.0.0.1:PORT` */
  url: string;
  port: number;
  pid: number;
  stop(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** SIGSTOP: connections stay open, but the server does not answer, as behind a dead network. */
  pause(): void;
  resume(): void;
}

/** The path of `redis-server` or `valkey-server` on PATH, or null. */
export function findRedisServer(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const name of ['redis-server', 'valkey-server']) {
    const path = folders.map((folder) => join(folder, name)).find(isExecutable);
    if (path !== undefined) return path;
  }
  return null;
}

/**
 * Starts a private Redis on 127.0.0.1. It writes nothing to disk, and ends when this process ends, even by
 * SIGKILL.
 * @throws when no server is on PATH, or it does not answer within 10 s
 */
export async function startRedis(options: RedisOptions = {}): Promise<RunningRedis> {
  const binary = findRedisServer();
  if (binary === null) throw new Error('neither redis-server nor valkey-server is on PATH');
  const port = options.port === undefined || options.port === 0 ? await freePort() : options.port;
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'postrider-redis-'));
  const child = spawn(binary, serverArguments(port, dir, options.args ?? []), {
    detached: true, // Ctrl-C must reach the application first, so that it can drain
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  const keep = (chunk: Buffer): void => void output.splice(0, Math.max(0, output.push(String(chunk)) - 20));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const { pid } = await new Promise<{ pid: number }>((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve({ pid: child.pid ?? 0 }));
  });
  const temporary = options.dir === undefined ? [dir] : [];
  const guard = guardProcess(pid, 'SIGTERM', temporary);
  const removeFiles = (): void => {
    for (const path of temporary) rmSync(path, { recursive: true, force: true });
  };
  child.once('exit', () => {
    guard.release();
    removeFiles();
  });
  child.unref();
  for (const stream of [child.stdout, child.stderr]) (stream as unknown as { unref(): void }).unref();

  const stop = async (): Promise<void> => {
    signalProcess(pid, 'SIGCONT'); // a stopped process does not handle SIGTERM
    await endProcess(pid, [
      { signal: 'SIGTERM', graceMs: 5_000 },
      { signal: 'SIGKILL', graceMs: 5_000 },
    ]);
    removeFiles();
  };
  const exited = (): boolean => child.exitCode !== null || child.signalCode !== null;
  try {
    await waitForPong(port, exited);
  } catch (error) {
    await stop();
    throw new Error(`${binary} did not start on port ${port}: ${output.join('').trim()}`, { cause: error });
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid,
    stop,
    kill: (signal) => void signalProcess(pid, signal),
    pause: () => void signalProcess(pid, 'SIGSTOP'),
    resume: () => void signalProcess(pid, 'SIGCONT'),
  };
}

function serverArguments(port: number, dir: string, more: readonly string[]): string[] {
  const own = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    dir,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  return [...own, ...more];
}

async function waitForPong(port: number, exited: () => boolean): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await answersPing(port))) {
    if (exited()) throw new Error('it exited');
    if (performance.now() > deadline) throw new Error(`no answer within ${START_TIMEOUT_MS} ms`);
    await delay(POLL_MS);
  }
}

async function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 });
    const settle = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    // Accepts `+PONG`, or an error when `args` set a password.
    socket.once('data', (data) => settle(/^[+-]/.test(data.toString())));
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
