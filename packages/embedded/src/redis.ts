import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onPath } from './files.ts';
import { freePort } from './free-port.ts';
import { Guard } from './guard.ts';
import { endProcess, signalProcess } from './process-state.ts';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 5;
/** Chunks of the server's last output, for the error of a failed start. */
const OUTPUT_CHUNKS_MAX = 20;

export interface RedisOptions {
  /** TCP port on 127.0.0.1. 0 or unset: any free port. */
  port?: number;
  /** More arguments of the server, such as `['--maxmemory', '10mb']`. They win over the defaults. */
  args?: readonly string[];
}

export class RunningRedis {
  readonly port: number;
  readonly pid: number;
  readonly #folder: string;

  /** @param folder the server's working directory, which `stop` removes */
  constructor(port: number, pid: number, folder: string) {
    this.port = port;
    this.pid = pid;
    this.#folder = folder;
  }

  /** `redis://127.0.0.1:PORT` */
  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.resume(); // after SIGSTOP, a process does not handle SIGTERM
    await endProcess(this.pid, [
      { signal: 'SIGTERM', graceMs: 5_000 },
      { signal: 'SIGKILL', graceMs: 5_000 },
    ]);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  kill(signal: NodeJS.Signals): void {
    signalProcess(this.pid, signal);
  }

  /** SIGSTOP: connections stay open, but the server does not answer, as behind a dead network. */
  pause(): void {
    this.kill('SIGSTOP');
  }

  resume(): void {
    this.kill('SIGCONT');
  }
}

/** The path of `redis-server` or `valkey-server` on PATH, or null. */
export function findRedisServer(): string | null {
  return onPath('redis-server', 'valkey-server');
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
  const folder = mkdtempSync(join(tmpdir(), 'postrider-redis-'));
  const address = ['--port', String(port), '--bind', '127.0.0.1'];
  const storage = ['--dir', folder, '--save', '', '--appendonly', 'no'];
  const child = spawn(binary, [...address, ...storage, ...(options.args ?? [])], {
    detached: true, // Ctrl-C must reach the application first, so that it can drain
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output.push(String(chunk));
      if (output.length > OUTPUT_CHUNKS_MAX) output.shift();
    });
    (stream as unknown as { unref(): void }).unref();
  }
  try {
    await once(child, 'spawn');
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  const redis = new RunningRedis(port, child.pid ?? 0, folder);
  const guard = new Guard(redis.pid, 'SIGTERM', [folder]);
  child.once('exit', () => {
    guard.release();
    rmSync(folder, { recursive: true, force: true });
  });
  child.unref();
  try {
    await waitForPong(port, () => child.exitCode !== null || child.signalCode !== null);
  } catch (error) {
    await redis.stop();
    throw new Error(`${binary} did not start on port ${port}: ${output.join('').trim()}`, { cause: error });
  }
  return redis;
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
