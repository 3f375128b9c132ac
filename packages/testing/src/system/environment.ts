import { join } from 'node:path';

/** The environment of each process of a test system. The process listens on free ports. */
export function systemEnvironment(system: {
  /** The folder of its sandbox and its blobs. */
  readonly folder: string;
  /** The authorities that it trusts besides the public ones. */
  readonly caFile: string;
  readonly secretsKey: Buffer;
}): Record<string, string> {
  return {
    SECRETS_KEY: system.secretsKey.toString('base64'),
    NODE_EXTRA_CA_CERTS: system.caFile,
    NODE_ENV: 'test',
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.1/32',
    SANDBOX_DIR: join(system.folder, 'sandbox'),
    BLOB_STORE: `file:${join(system.folder, 'blobs')}`,
    INBOUND_SMTP_PORT: '0',
    PORT: '0',
    METRICS_PORT: '0',
    CONSOLE_PORT: '0',
  };
}
