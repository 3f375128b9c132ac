import { rmSync } from 'node:fs';
import { adoptServer } from './adopt.ts';
import { clusterVersion, createCluster, readPassword, ROLE } from './cluster.ts';
import { Guard } from './guard.ts';
import { launchServer, type LaunchOptions } from './launch.ts';
import { filesOf, placeCluster, type Placement } from './placement.ts';
import { findPostgresBinaries, NoPrivatePostgresError } from './postgres-binaries.ts';
import type { Postmaster } from './postmaster-file.ts';
import { endProcess, signalProcess } from './process-state.ts';
import { withStartLock } from './start-lock.ts';

export interface PostgresOptions extends LaunchOptions {
  /** Created if missing. Beside it: `<dataDir>.password` (mode 0600), `.log` and, during a start, `.lock`. */
  dataDir: string;
  /** Password of a new cluster. Unset: a random one. An existing cluster keeps its password. */
  password?: string;
  /** True: when this process ends, even by SIGKILL, the server ends and its files are removed. */
  throwAway?: boolean;
  /** A remedy for the user if no private Postgres can run here, such as `set DATABASE_URL`. */
  otherRemedy?: string | undefined;
  /** Receives one line per step. */
  log?: (line: string) => void;
}

export class RunningPostgres {
  /** The database `postgres` as its superuser: `postgres://app:PASSWORD@127.0.0.1:PORT/postgres` */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The real data directory. It is not the requested one when the server's user cannot reach that. */
  readonly dataDir: string;
  /** True when an earlier launcher had left the server running. */
  readonly adopted: boolean;
  readonly #files: readonly string[];
  readonly #guard: Guard | null;

  constructor(
    place: Placement,
    { pid, port }: Postmaster,
    { throwAway, adopted }: { readonly throwAway: boolean; readonly adopted: boolean },
  ) {
    this.url = `postgres://${ROLE}:${encodeURIComponent(readPassword(place))}@127.0.0.1:${port}/postgres`;
    this.port = port;
    this.pid = pid;
    this.dataDir = place.dataDir;
    this.adopted = adopted;
    this.#files = throwAway ? filesOf(place) : [];
    this.#guard = throwAway ? new Guard(pid, 'SIGQUIT', this.#files) : null;
  }

  /** Fast shutdown: ends all sessions, writes a checkpoint and waits for the end. */
  async stop(): Promise<void> {
    signalProcess(this.pid, 'SIGCONT'); // after SIGSTOP, a process does not handle the signals below
    await endProcess(this.pid, [
      { signal: 'SIGINT', graceMs: 30_000 }, // fast
      { signal: 'SIGQUIT', graceMs: 5_000 }, // at once, with recovery at the next start
      { signal: 'SIGKILL', graceMs: 5_000 },
    ]);
    this.#guard?.release();
    for (const file of this.#files) rmSync(file, { recursive: true, force: true });
  }

  kill(signal: NodeJS.Signals): void {
    signalProcess(this.pid, signal);
  }
}

/**
 * Starts a private Postgres on 127.0.0.1 without a socket file, or adopts the one that already serves this
 * directory. The server outlives its launcher, unless `stop` is called or it is `throwAway`.
 * @throws when no binaries are found (naming all attempts), or when the server is not ready in time
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  try {
    return await startOrAdopt(options);
  } catch (error) {
    if (!(error instanceof NoPrivatePostgresError) || options.otherRemedy === undefined) throw error;
    throw new Error(`${error.message}, or ${options.otherRemedy}`, { cause: error });
  }
}

async function startOrAdopt(options: PostgresOptions): Promise<RunningPostgres> {
  const place = placeCluster(options.dataDir);
  const { throwAway = false } = options;
  return withStartLock(place.lockFile, async () => {
    const adopted = await adoptServer(place);
    if (adopted !== null) {
      options.log?.(`adopted the Postgres that runs on port ${adopted.port} (process ${adopted.pid})`);
      return new RunningPostgres(place, adopted, { throwAway, adopted: true });
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
    return new RunningPostgres(place, started, { throwAway, adopted: false });
  });
}
