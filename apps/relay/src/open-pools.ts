import { createPool } from '@postrider/store';
import type { RelayConfig } from './config.ts';

type RelayPoolConfig = Pick<RelayConfig, 'databaseUrl' | 'databasePoolSize'>;

export interface RelayPools {
  /** For claims, which are planned once: at low rates that would take longer than what they do. */
  readonly claims: ReturnType<typeof createPool>;
  /** For all else: counts and clean-ups may need a whole table. */
  readonly pool: ReturnType<typeof createPool>;
}

/** Of the connections, so many are for claims: the rounds and the news claim at a time. */
const CLAIM_POOL_SIZE = 2;

/** The relay's connections to Postgres. Opens none before the first statement. */
export function openRelayPools(config: RelayPoolConfig, onError: (error: Error) => void): RelayPools {
  const options = {
    databaseUrl: config.databaseUrl,
    applicationName: 'postrider-relay',
    durableCommits: false, // nothing but leases is written here, and what housekeeping drops
    onError,
  };
  const others = Math.max(1, config.databasePoolSize - CLAIM_POOL_SIZE);
  return {
    claims: createPool({ ...options, size: CLAIM_POOL_SIZE, plans: 'once' }),
    pool: createPool({ ...options, size: others, plans: 'each time' }),
  };
}
