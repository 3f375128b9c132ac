import { createPool } from '@postrider/store';
import type { RelayConfig } from './config.ts';

type RelayPoolConfig = Pick<RelayConfig, 'databaseUrl' | 'databasePoolSize'>;

/** The relay's connections to Postgres. Opens none before the first statement. */
export function openRelayPool(
  config: RelayPoolConfig,
  onError: (error: Error) => void,
): ReturnType<typeof createPool> {
  return createPool({
    databaseUrl: config.databaseUrl,
    size: config.databasePoolSize,
    applicationName: 'postrider-relay',
    durableCommits: false, // nothing but leases is written here, and what housekeeping drops
    planEachTime: true,
    onError,
  });
}
