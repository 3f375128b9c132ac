import type { Environment } from '@postrider/runtime';
import { OWN_NETWORK } from '../settings.ts';
import type { Settings } from '../settings.ts';

/** Where things turned out to be. */
export interface Places {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly secretsKey: string;
}

/** Ctrl-C should not take long; deliveries that are cut are made again by the next start. */
const SHUTDOWN_DEADLINE_MS = '5000';

/** What every process of the system gets: the person's own environment, completed. */
export function systemEnvironment(settings: Settings, places: Places): Environment {
  return {
    SHUTDOWN_DEADLINE_MS,
    ...settings.env,
    DATABASE_URL: places.databaseUrl,
    REDIS_URL: places.redisUrl,
    SECRETS_KEY: places.secretsKey,
    SANDBOX_DIR: settings.sandboxDir,
    BLOB_STORE: settings.blobStore,
  };
}

/** The worker alone delivers to our receiver, and trusts its certificate. */
export function workerEnvironment(settings: Settings, certificatesFile: string): Environment {
  const own = settings.env['DELIVERY_ALLOWED_NETWORKS'];
  return {
    DELIVERY_ALLOWED_NETWORKS: own === undefined ? OWN_NETWORK : `${own},${OWN_NETWORK}`,
    NODE_EXTRA_CA_CERTS: certificatesFile,
  };
}
