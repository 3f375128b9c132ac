import { startProcess } from '@postrider/testing';
import type { ProcessName, SystemProcess } from '@postrider/testing';
import { TIMES } from '../times.ts';
import type { ProxiedServer, ServerProxy, StartWish } from './world.ts';

/** The real processes of one experiment. */
export interface Processes {
  readonly all: readonly SystemProcess[];
  start(name: ProcessName, wish?: StartWish): Promise<SystemProcess>;
  /** The experiment ends this process, so its end is no crash. */
  expectEnd(process: SystemProcess): void;
  /** The processes that ended by themselves. */
  crashed(): SystemProcess[];
  /** Sends SIGTERM to all. @returns the processes that did not exit with 0 in time */
  stopAll(): Promise<SystemProcess[]>;
  killAll(): Promise<void>;
}

const STOP_MARGIN_MS = 5_000;

export function createProcesses(
  environment: Readonly<Record<string, string>>,
  servers: Readonly<Record<ProxiedServer, string | null>>,
): Processes {
  const all: SystemProcess[] = [];
  const ended = new Set<SystemProcess>();
  const running = (): SystemProcess[] => all.filter((process) => process.running);

  async function stop(process: SystemProcess): Promise<boolean> {
    ended.add(process);
    const late = new Promise<null>((resolve) => {
      setTimeout(() => resolve(null), TIMES.shutdownDeadlineMs + STOP_MARGIN_MS).unref();
    });
    return (await Promise.race([process.stop(), late])) === 0;
  }

  return {
    all,
    async start(name, { through = [], env = {}, dist } = {}) {
      const process = startProcess(
        name,
        { ...environment, ...addresses(servers, through), ...env },
        { dist },
      );
      all.push(process);
      await process.port();
      return process;
    },
    expectEnd: (process) => void ended.add(process),
    crashed: () => all.filter((process) => !process.running && !ended.has(process)),
    async stopAll() {
      const stopping = running();
      const clean = await Promise.all(stopping.map(stop));
      return stopping.filter((_, index) => clean[index] === false);
    },
    async killAll() {
      await Promise.all(running().map((process) => process.kill()));
    },
  };
}

function addresses(
  servers: Readonly<Record<ProxiedServer, string | null>>,
  through: readonly ServerProxy[],
): Record<string, string> {
  const address = (server: ProxiedServer): string | null => {
    const direct = servers[server];
    const proxy = through.find((candidate) => candidate.server === server);
    if (direct === null || proxy === undefined) return direct;
    return proxy.url(direct);
  };
  const redisUrl = address('redis');
  return {
    DATABASE_URL: address('postgres') ?? '',
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
  };
}
