import type { Experiment } from '../experiment.ts';
import { startPrivatePostgres } from './postgres.ts';
import type { PrivatePostgres } from './postgres.ts';
import { startPrivateRedis } from './redis.ts';
import type { PrivateRedis } from './redis.ts';

/** The servers of one run: a Postgres that the experiments share, and the experiments' own servers. */
export interface Servers {
  forExperiment(experiment: Pick<Experiment, 'ownPostgres' | 'queue'>): Promise<ExperimentServers>;
  stop(): Promise<void>;
}

export interface ExperimentServers {
  /** The folder for files that end with the servers. */
  readonly folder: string;
  readonly postgres: PrivatePostgres;
  readonly redis: PrivateRedis | null;
  /** Stops the experiment's own servers. */
  release(): Promise<void>;
}

/** @param folder the parent of clusters and files. The caller removes it. */
export async function startServers(folder: string): Promise<Servers> {
  const shared = await startPrivatePostgres(folder);
  return {
    async forExperiment({ ownPostgres = false, queue = 'redis' }) {
      const wish = ownPostgres === true ? {} : ownPostgres;
      const postgres = wish === false ? shared : await startPrivatePostgres(folder, wish);
      const redis = queue === 'redis' ? await startPrivateRedis() : null;
      return {
        folder,
        postgres,
        redis,
        async release() {
          await redis?.stop();
          if (postgres !== shared) await postgres.stop();
        },
      };
    },
    stop: () => shared.stop(),
  };
}
