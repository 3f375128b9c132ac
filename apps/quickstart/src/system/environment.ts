import type { Environment } from '@postrider/runtime';
import { OWN_NETWORK } from '../settings.ts';
import type { Settings } from '../settings.ts';

/** The values that the start has found or made. */
export interface Connections {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly secretsKey: string;
}

/** The environment of every process: the user's environment and our additions. */
export function systemEnvironment(settings: Settings, connections: Connections): Environment {
  return {
    ...settings.env,
    DATABASE_URL: connections.databaseUrl,
    REDIS_URL: connections.redisUrl,
    SECRETS_KEY: connections.secretsKey,
    SANDBOX_DIR: settings.sandboxDir,
    BLOB_STORE: settings.blobStore,
  };
}

/** Lets the worker deliver to the demonstration's receiver and trust its certificate. */
export function workerEnvironment(settings: Settings, certificatesFile: string): Environment {
  const own = settings.env['DELIVERY_ALLOWED_NETWORKS'];
  return {
    DELIVERY_ALLOWED_NETWORKS: own === undefined ? OWN_NETWORK : `${own},${OWN_NETWORK}`,
    NODE_EXTRA_CA_CERTS: certificatesFile,
  };
}
