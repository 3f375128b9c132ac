import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { loadConfig } from '@postrider/runtime';
import type { Environment } from '@postrider/runtime';

export interface Launch {
  readonly args: readonly string[];
  readonly env: Environment;
  /** Where api.js, relay.js, worker.js, inbound.js and cli.js lie. */
  readonly distDir: string;
  readonly rootDir: string;
}

/** What `npm start` was asked for. */
export interface Settings {
  readonly env: Environment;
  readonly distDir: string;
  /** POSTRIDER_DATA_DIR, else `.data` of the repository. */
  readonly dataDir: string;
  /** Undefined: an embedded Postgres. */
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  /** `--redis`: start a Redis where REDIS_URL names none. */
  readonly ownRedis: boolean;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly metricsHost: string;
  readonly metricsPorts: { readonly relay: number; readonly worker: number; readonly inbound: number };
  readonly smtpHost: string;
  /** 0: any free one. */
  readonly smtpPort: number;
  readonly blobStore: string;
  readonly sandboxDir: string;
  readonly signatureHeader: string;
}

/** Something that the person at the terminal has to put right: printed as one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** The deliveries' only excuse: our own receiver. */
export const OWN_NETWORK = '127.0.0.1/32';

/** Of those that may deliver to it: what the processes run in, unless the person says the other. */
const OWN_ENVIRONMENT = 'development';
const ENVIRONMENTS = [OWN_ENVIRONMENT, 'test'];

/** Stand in for what is made later, so that everything else can be checked before anything is started. */
const LATER = { DATABASE_URL: 'postgres://127.0.0.1/', SECRETS_KEY: Buffer.alloc(32).toString('base64') };

/**
 * Checks the whole environment of all four processes.
 *
 * @throws ConfigurationError or StartError, before anything was started.
 */
export function readSettings({ args, env, distDir, rootDir }: Launch): Settings {
  const unknown = args.find((arg) => arg !== '--redis');
  if (unknown !== undefined) throw new StartError(`unknown argument "${unknown}"; there is one: --redis`);
  const set = Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== '');
  const given: Environment = { NODE_ENV: OWN_ENVIRONMENT, ...Object.fromEntries(set) };
  const nodeEnv = given['NODE_ENV']?.trim() ?? '';
  if (!ENVIRONMENTS.includes(nodeEnv)) {
    throw new StartError(
      `npm start delivers to 127.0.0.1 and refuses NODE_ENV=${nodeEnv}; there, run start:api, start:relay, start:worker and start:inbound`,
    );
  }
  const complete = { ...LATER, ...given };
  const api = loadConfig('api', complete);
  const relay = loadConfig('relay', complete);
  const worker = loadConfig('worker', complete);
  const inbound = loadConfig('inbound', complete);
  // One variable for three processes: each takes the next port, as it does by default.
  const metricsPort = (port: number, place: number): number =>
    given['METRICS_PORT'] === undefined || port === 0 ? port : port + place;
  const dataDir = resolve(given['POSTRIDER_DATA_DIR'] ?? join(rootDir, '.data'));
  return {
    env: given,
    distDir,
    dataDir,
    databaseUrl: given['DATABASE_URL'],
    redisUrl: api.redisUrl,
    ownRedis: args.includes('--redis'),
    host: api.host,
    port: api.port,
    metricsHost: relay.metricsHost,
    metricsPorts: {
      relay: relay.metricsPort,
      worker: metricsPort(worker.metricsPort, 1),
      inbound: metricsPort(inbound.metricsPort, 2),
    },
    smtpHost: inbound.inboundSmtpHost,
    smtpPort: inbound.inboundSmtpPort,
    blobStore: given['BLOB_STORE'] ?? `file:${join(dataDir, 'blobs')}`,
    sandboxDir: resolve(given['SANDBOX_DIR'] ?? join(dataDir, 'sandbox')),
    signatureHeader: `${worker.signatureHeaderPrefix}-Signature`.toLowerCase(),
  };
}

/** One log a process. */
export function logsDirOf(settings: Settings): string {
  return join(settings.dataDir, 'logs');
}

/** Tells the state of one database from that of another, without naming it. */
export function databaseName(databaseUrl: string | undefined): string {
  if (databaseUrl === undefined) return 'embedded';
  const { host, pathname } = new URL(databaseUrl);
  return createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 12);
}
