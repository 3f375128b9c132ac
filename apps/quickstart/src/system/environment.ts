import type { Environment } from '@postrider/runtime';
import { OWN_NETWORK } from '../settings.ts';
import type { Settings } from '../settings.ts';

/** The values that the start has found or made. */
export interface Connections {
  readonly databaseUrl: string;
  /** Undefined: the queue and the rate limiter run on Postgres. */
  readonly redisUrl: string | undefined;
  readonly secretsKey: string;
}

/**
 * The environment of the system: the user's environment and our additions. The system delivers to the
 * demonstration's receiver and trusts its certificate.
 */
export function systemEnvironment(
  settings: Settings,
  connections: Connections,
  certificatesFile: string,
): Environment {
  const networks = settings.env['DELIVERY_ALLOWED_NETWORKS'];
  return {
    ...settings.env,
    ROLES: 'all',
    DATABASE_URL: connections.databaseUrl,
    REDIS_URL: connections.redisUrl,
    SECRETS_KEY: connections.secretsKey,
    SANDBOX_DIR: settings.sandboxDir,
    BLOB_STORE: settings.blobStore,
    DELIVERY_ALLOWED_NETWORKS: networks === undefined ? OWN_NETWORK : `${networks},${OWN_NETWORK}`,
    NODE_EXTRA_CA_CERTS: certificatesFile,
  };
}
