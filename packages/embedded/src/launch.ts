import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { SERVER_ENVIRONMENT } from './cluster.ts';
import { statOrNull } from './files.ts';
import { freePort, portFault } from './free-port.ts';
import type { Placement } from './placement.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { lastPort, readPostmaster, type Postmaster } from './postmaster-file.ts';

const POLL_MS = 10;
const READY_TIMEOUT_MS = 60_000;
/** A start may fail: another program takes the port first, or the children of a killed server still run. */
const TRIES = 20;
const RETRY_DELAY_MS = 250;
/** A start empties a larger log. */
const LOG_BYTES_MAX = 5_000_000;

const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };

export interface LaunchOptions {
  /** TCP port on 127.0.0.1. 0 or unset: the port of the last start if it is free, or any free port. */
  port?: number;
  /** False: a crash may lose data, but writes are faster. For tests and throw-away data only. */
  durable: boolean;
  /**
   * Server settings, such as `{ shared_preload_libraries: 'pg_stat_statements' }`. A server that already runs
   * does not get them.
   */
  settings?: Readonly<Record<string, string>>;
  /**
   * Extra environment variables of the server, for preloaded libraries. A server that already runs does not
   * get them.
   */
  environment?: Readonly<Record<string, string>>;
}

/** Starts the server of an existing cluster and waits until it accepts connections. */
export async function launchServer(
  place: Placement,
  binaries: PostgresBinaries,
  options: LaunchOptions,
): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(place, options.port);
    const result = await launchOnce(place, binaries, settingsFor(port, options), options.environment);
    if (result.server !== null) return result.server;
    if (!isTemporary(result.log) || attempt === TRIES) {
      throw new Error(`Postgres did not start; ${place.logFile} says:\n${result.log.trim()}`);
    }
    await delay(RETRY_DELAY_MS);
  }
}

async function choosePort(place: Placement, wanted: number | undefined): Promise<number> {
  if (wanted !== undefined && wanted !== 0) return wanted;
  const last = lastPort(place.dataDir);
  return last !== null && (await portFault('127.0.0.1', last)) === null ? last : freePort();
}

function settingsFor(port: number, options: LaunchOptions): Record<string, string> {
  return {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200', // the pools of all processes, BullMQ's clients, and a person with psql
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(options.durable ? {} : NOT_DURABLE),
    ...options.settings,
  };
}

type Launch = { server: Postmaster; log: '' } | { server: null; log: string };

async function launchOnce(
  place: Placement,
  binaries: PostgresBinaries,
  settings: Record<string, string>,
  environment: Readonly<Record<string, string>> = {},
): Promise<Launch> {
  const bytesBefore = statOrNull(place.logFile)?.size ?? 0;
  const keepsLog = bytesBefore < LOG_BYTES_MAX;
  const log = openSync(place.logFile, keepsLog ? 'a' : 'w', 0o600);
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(binaries.postgres, ['-D', place.dataDir, ...flags], {
    ...place.runAs,
    cwd: '/',
    env: { ...SERVER_ENVIRONMENT, ...environment },
    detached: true, // Ctrl-C must reach the application first, so that it can drain
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
  const server = await waitUntilReady(child, place);
  if (server !== null) return { server, log: '' };
  return {
    server: null,
    log: readFileSync(place.logFile)
      .subarray(keepsLog ? bytesBefore : 0)
      .toString(),
  };
}

/** Returns null when the server ends first. */
async function waitUntilReady(child: ChildProcess, place: Placement): Promise<Postmaster | null> {
  const failures: Error[] = [];
  child.once('error', (error) => failures.push(error));
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null) {
    if (failures[0] !== undefined) throw failures[0];
    const server = readPostmaster(place.dataDir);
    if (server !== null && server.pid === child.pid && server.ready) return server;
    if (performance.now() > deadline) {
      child.kill('SIGQUIT');
      throw new Error(`Postgres was not ready within ${READY_TIMEOUT_MS / 1000} s; see ${place.logFile}`);
    }
    await delay(POLL_MS);
  }
  return null;
}

function isTemporary(log: string): boolean {
  return /pre-existing shared memory block|Address already in use/.test(log);
}
