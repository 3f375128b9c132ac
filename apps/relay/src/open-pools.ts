import { poolShares } from '@postrider/runtime';
import type { ConfigurationOf } from '@postrider/runtime';
import { createPool } from '@postrider/store';

export interface RelayPools {
  /**
   * Claims and the sweep use this pool. Postgres plans them once: at low rates, planning takes longer than
   * a claim.
   */
  readonly leases: ReturnType<typeof createPool>;
  /** All other statements. Counts and clean-ups may need a whole table, so each is planned anew. */
  readonly pool: ReturnType<typeof createPool>;
}

/** The relay's connections to Postgres. Opens none before the first statement. */
export function openRelayPools(
  config: Pick<ConfigurationOf<'relay'>, 'databaseUrl' | 'databasePoolSize'>,
  onError: (error: Error) => void,
): RelayPools {
  const options = {
    databaseUrl: config.databaseUrl,
    applicationName: 'postrider-relay',
    durableCommits: false, // the relay repeats whatever a crash of Postgres undoes
    onError,
  };
  const shares = poolShares(config.databasePoolSize);
  return {
    leases: createPool({ ...options, size: shares.leases, plans: 'once' }),
    pool: createPool({ ...options, size: shares.others, plans: 'each time' }),
  };
}
