import { rmSync } from 'node:fs';
import { adoptServer } from './adopt.ts';
import { clusterVersion, createCluster, readPassword, ROLE } from './cluster.ts';
import { guardProcess, type Guard } from './guard.ts';
import { launchServer } from './launch.ts';
import { filesOf, placeCluster, type Placement } from './placement.ts';
import { findPostgresBinaries } from './postgres-binaries.ts';
import type { Postmaster } from './postmaster-file.ts';
import { endProcess, signalProcess } from './process-state.ts';
import { withStartLock } from './start-lock.ts';

export interface PostgresOptions {
  /** Created if missing. Its neighbours are `.password` (mode 0600), `.log` and, during a start, `.lock`. */
  dataDir: string;
  /** TCP port on 127.0.0.1. 0 or unset: the port of the last start if it is free, or any free port. */
  port?: number;
  /** False: a crash may lose data, but writes are faster. For tests and throw-away data only. */
  durable: boolean;
  /** Password of a new cluster. Unset: a random one. An existing cluster keeps its password. */
  password?: string;
  /**
   * Server settings, such as `{ shared_preload_libraries: 'pg_stat_statements' }`. Not for an adopted server.
   */
  settings?: Readonly<Record<string, string>>;
  /** Extra environment variables of the server, for preloaded libraries. Not for an adopted server. */
  environment?: Readonly<Record<string, string>>;
  /** True: when this process ends, even by SIGKILL, the server ends and its files are removed. */
  throwAway?: boolean;
  /** Receives one line per step. */
  log?: (line: string) => void;
}

export interface RunningPostgres {
  /** The database `postgres` as its superuser: `postgres://app:PASSWORD@127.0.0.1:PORT/postgres` */
  url: string;
  port: number;
  pid: number;
  /** The real data directory; see `placeCluster`. */
  dataDir: string;
  /** True when an earlier launcher had left the server running. */
  adopted: boolean;
  /** Fast shutdown: ends all sessions, writes a checkpoint and waits for the end. */
  stop(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a private Postgres on 127.0.0.1 without a socket file, or adopts the one that already serves this
 * directory. The server outlives its launcher, unless `stop` is called or it is `throwAway`.
 * @throws when no binaries are found (naming all attempts), or when the server is not ready in time
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const place = placeCluster(options.dataDir);
  return withStartLock(place.lockFile, async () => {
    const adopted = await adoptServer(place);
    if (adopted !== null) {
      options.log?.(`adopted the Postgres that runs on port ${adopted.port} (process ${adopted.pid})`);
      return runningPostgres(place, adopted, options, true);
    }
    const version = clusterVersion(place.dataDir);
    const binaries = findPostgresBinaries(place.runAs, version);
    if (version === null) {
      options.log?.(`making a new Postgres ${binaries.major} cluster in ${place.dataDir}`);
      await createCluster(place, binaries, options.password);
    }
    readPassword(place); // fails before the start: without the password no client could log in
    const started = await launchServer(place, binaries, options);
    options.log?.(`Postgres ${binaries.major} runs on port ${started.port} (process ${started.pid})`);
    return runningPostgres(place, started, options, false);
  });
}

function runningPostgres(
  place: Placement,
  { pid, port }: Postmaster,
  options: PostgresOptions,
  adopted: boolean,
): RunningPostgres {
  const files = options.throwAway === true ? filesOf(place) : [];
  const guard: Guard | null = options.throwAway === true ? guardProcess(pid, 'SIGQUIT', files) : null;
  return {
    url: `postgres://${ROLE}:${encodeURIComponent(readPassword(place))}@127.0.0.1:${port}/postgres`,
    port,
    pid,
    dataDir: place.dataDir,
    adopted,
    stop: async () => {
      // SIGINT: fast. SIGQUIT: at once, recovery at the next start. A stopped process sees them only when
      // continued.
      signalProcess(pid, 'SIGCONT');
      await endProcess(pid, [
        { signal: 'SIGINT', graceMs: 30_000 },
        { signal: 'SIGQUIT', graceMs: 5_000 },
        { signal: 'SIGKILL', graceMs: 5_000 },
      ]);
      guard?.release();
      for (const file of files) rmSync(file, { recursive: true, force: true });
    },
    kill: (signal) => void signalProcess(pid, signal),
  };
}
