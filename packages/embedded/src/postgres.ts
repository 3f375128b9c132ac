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
  /** Made when it does not exist. Beside it stand `.password` (mode 0600), `.log` and, during a start, `.lock`. */
  dataDir: string;
  /** TCP port on 127.0.0.1. 0 or unset: the port of the last start when it is free, else any free one. */
  port?: number;
  /** False trades every safety on a crash for speed: for tests and throw-away data only. */
  durable: boolean;
  /** Password of a new cluster; unset makes a random one. An existing cluster keeps its own. */
  password?: string;
  /** Server settings, such as `{ shared_preload_libraries: 'pg_stat_statements' }`. An adopted server keeps its own. */
  settings?: Readonly<Record<string, string>>;
  /** Beside the little that a server is given: what a library that is preloaded goes by. An adopted server keeps its own. */
  environment?: Readonly<Record<string, string>>;
  /** True: the server ends with this process, even a killed one, and its files are removed. */
  throwAway?: boolean;
  /** Takes one line for each step that is worth knowing. */
  log?: (line: string) => void;
}

export interface RunningPostgres {
  /** The database `postgres` as its superuser: `postgres://app:PASSWORD@127.0.0.1:PORT/postgres` */
  url: string;
  port: number;
  pid: number;
  /** Where the data really is: see `placeCluster`. */
  dataDir: string;
  /** True when the server was already running, left behind by an earlier launcher. */
  adopted: boolean;
  /** Fast shutdown: breaks the sessions off, writes a checkpoint, waits for the end. */
  stop(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a private Postgres on 127.0.0.1 (no socket file), or adopts the one that already serves this directory. The
 * server is detached: it outlives its launcher unless `stop` is called or it is `throwAway`.
 * @throws when no binaries are found (naming what was tried), or the server does not get ready
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
    readPassword(place); // a server that nobody can log in to would only be left behind
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
      // SIGINT: fast. SIGQUIT: at once, recovery at the next start. A stopped process sees them only when continued.
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
