import { fetchMetrics } from '@postrider/testing';
import type { ProcessName, SystemProcess } from '@postrider/testing';
import type { PeakUse } from '../checker/history.ts';
import type { PrivateRedis } from '../servers/redis.ts';
import { usedMemoryBytes } from '../servers/redis.ts';
import type { OpenStore } from '../../../open-store.ts';

/** Samples the use of the machine and of the servers during the run (I9). */
export interface UseWatch {
  /** The sample of each thing that is closest to its bound, or farthest over it. */
  peaks(): PeakUse[];
  /** The kinds of process of which one ran for over two seconds and none gave a sample. */
  unmeasured(): ProcessName[];
  stop(): void;
}

const EVERY_MS = 1_000;
const ANSWER_WITHIN_MS = 5_000;
const MEASURED_AFTER_MS = 2_000;
const MIB = 1024 * 1024;

/**
 * Per process: twice the use of a worker with 500 dead endpoints. A worker that kept an endless body would
 * exceed it within seconds.
 */
const MEMORY_MIB_MAX = 1_024;
/**
 * Per process: twice the use of an API with 500 clients at once. A worker may make 2,048 attempts at once, but
 * no experiment has so many under way.
 */
const OPEN_FILES_MAX = 1_200;
/** The defaults of DATABASE_POOL_SIZE, and what each role needs besides (docs/operations/scale.md). */
const CONNECTIONS_MAX: Readonly<Record<ProcessName, number>> = {
  api: 10,
  relay: 7,
  worker: 8,
  inbound: 7,
  console: 6,
  all: 23,
};
/** Connections of a queue in Postgres. */
const QUEUE_CONNECTIONS_MAX: Readonly<Record<ProcessName, number>> = {
  api: 0,
  relay: 3,
  worker: 12,
  inbound: 0,
  console: 3,
  all: 18,
};
/**
 * Postgres notices a killed process with the next byte that it sends. Its connections count for this time.
 */
const NOTICED_WITHIN_MS = 10_000;
/** The queue holds jobs that are due within a minute, without bodies, for any backlog. */
const REDIS_MIB_MAX = 64;

export function watchUse(parts: {
  readonly processes: readonly SystemProcess[];
  readonly store: Pick<OpenStore, 'count'>;
  readonly redis: PrivateRedis | null;
}): UseWatch {
  const peaks = new Map<string, PeakUse>();
  const ranAtMs = new Map<SystemProcess, { first: number; last: number }>();
  const asking = new Set<unknown>();

  function note(sample: PeakUse): void {
    const before = peaks.get(sample.what);
    if (before === undefined || sample.most / sample.max > before.most / before.max) {
      peaks.set(sample.what, sample);
    }
  }

  /** Asks each process and server once at a time. A killed or frozen one gives no sample. */
  function ask(whom: unknown, question: () => Promise<void>): void {
    if (asking.has(whom)) return;
    asking.add(whom);
    question()
      .catch(() => undefined)
      .finally(() => asking.delete(whom));
  }

  async function sampleProcess(process: SystemProcess): Promise<void> {
    const page = await fetchMetrics(await process.port(), AbortSignal.timeout(ANSWER_WITHIN_MS));
    const memory = page.read('process_resident_memory_bytes') / MIB;
    note({ what: memoryOf(process.name), unit: 'MiB', most: memory, max: MEMORY_MIB_MAX });
    const files = page.find('process_open_fds');
    if (files === null) return; // the system does not report it
    note({ what: `open files of the ${process.name}`, unit: 'files', most: files, max: OPEN_FILES_MAX });
  }

  const connectionsMax = (name: ProcessName): number =>
    CONNECTIONS_MAX[name] + (parts.redis === null ? QUEUE_CONNECTIONS_MAX[name] : 0);

  async function sampleConnections(): Promise<void> {
    const most = await parts.store.count(
      `pg_stat_activity where datname = current_database() and application_name like 'postrider%'`,
    );
    const nowMs = performance.now();
    const max = [...ranAtMs]
      .filter(([, { last }]) => nowMs - last < NOTICED_WITHIN_MS)
      .reduce((sum, [{ name }]) => sum + connectionsMax(name), 0);
    if (max > 0) note({ what: 'connections to Postgres', unit: 'connections', most, max });
  }

  async function sampleRedis(redis: PrivateRedis): Promise<void> {
    const most = (await usedMemoryBytes(redis)) / MIB;
    note({ what: 'memory of Redis', unit: 'MiB', most, max: REDIS_MIB_MAX });
  }

  const timer = setInterval(() => {
    const running = parts.processes.filter((process) => process.running);
    for (const process of running) {
      const last = performance.now();
      ranAtMs.set(process, { first: ranAtMs.get(process)?.first ?? last, last });
      ask(process, () => sampleProcess(process));
    }
    ask(parts.store, sampleConnections);
    const { redis } = parts;
    if (redis !== null) ask(redis, () => sampleRedis(redis));
  }, EVERY_MS);

  return {
    peaks: () => [...peaks.values()],
    unmeasured() {
      const ran = [...ranAtMs].filter(([, { first, last }]) => last - first > MEASURED_AFTER_MS);
      const names = new Set(ran.map(([{ name }]) => name));
      return [...names].filter((name) => !peaks.has(memoryOf(name)));
    },
    stop: () => clearInterval(timer),
  };
}

function memoryOf(name: ProcessName): string {
  return `memory of the ${name}`;
}
