import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseUrl } from '@postrider/domain';
import { loadSharedConfig, messageOf, parseServerUrl } from '@postrider/runtime';
import type { Environment } from '@postrider/runtime';

export interface Launch {
  readonly args: readonly string[];
  readonly env: Environment;
  /** The folder of all.js and cli.js. */
  readonly distDir: string;
  readonly rootDir: string;
}

/** The checked arguments and environment of `npm start`. */
export interface Settings {
  readonly env: Environment;
  readonly distDir: string;
  /** POSTRIDER_DATA_DIR, or `.data` in the repository. */
  readonly dataDir: string;
  /** Undefined: an embedded Postgres. */
  readonly databaseUrl: string | undefined;
  /** Undefined: see `ownRedis`. */
  readonly redisUrl: string | undefined;
  /** `--redis`: starts a Redis when REDIS_URL is not set. */
  readonly ownRedis: boolean;
  /** `--forward`: the receiver passes every delivery on to this address. Null: it answers itself. */
  readonly forward: URL | null;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The system ends by itself within this time after SIGTERM. */
  readonly shutdownDeadlineMs: number;
  readonly metricsHost: string;
  /** 0: any free port. */
  readonly metricsPort: number;
  readonly smtpHost: string;
  /** 0: any free port. */
  readonly smtpPort: number;
  readonly consoleHost: string;
  /** 0: any free port. */
  readonly consolePort: number;
  readonly blobStore: string;
  readonly sandboxDir: string;
  readonly signatureHeader: string;
}

/** An error that the user can fix. It is printed as one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** The network of the demonstration's receiver. Deliveries may reach it, and the user's allowed networks. */
export const OWN_NETWORK = '127.0.0.1/32';

/** NODE_ENV of the system. The address guard allows private networks only in `development` and `test`. */
const OWN_ENVIRONMENT = 'development';
/** Short, so that Ctrl-C is quick. The next start repeats deliveries that this deadline cuts. */
const SHUTDOWN_DEADLINE_MS = '5000';
const ENVIRONMENTS = [OWN_ENVIRONMENT, 'test'];

/** npm keeps the arguments before the first `--`. */
const USAGE = 'npm start -- [--redis] [--forward http://HOST:PORT/PATH]';

/** Placeholders for values made later, so that all other settings are checked before the start. */
const LATER = {
  DATABASE_URL: 'postgres://127.0.0.1/',
  SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  CONSOLE_KEYS: `operator:operator:${'0'.repeat(64)}`,
};

/**
 * Checks the whole environment of all roles.
 *
 * @throws ConfigurationError or StartError, before anything was started.
 */
export function readSettings({ args, env, distDir, rootDir }: Launch): Settings {
  const { redis: ownRedis, forward } = readArguments(args);
  const nonEmpty = Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== '');
  const given: Environment = {
    NODE_ENV: OWN_ENVIRONMENT,
    SHUTDOWN_DEADLINE_MS,
    ...Object.fromEntries(nonEmpty),
  };
  const nodeEnv = given['NODE_ENV']?.trim() ?? '';
  if (!ENVIRONMENTS.includes(nodeEnv)) {
    throw new StartError(
      `npm start delivers to 127.0.0.1 and refuses NODE_ENV=${nodeEnv}; there, run start:all, or start:api, start:relay, start:worker, start:inbound and start:console`,
    );
  }
  // `own` has the settings of the whole process. `of` returns one role's settings.
  const { own, of } = loadSharedConfig({ ...LATER, ...given, ROLES: 'all' });
  const [api, worker, inbound, console] = [of('api'), of('worker'), of('inbound'), of('console')];
  const dataDir = resolve(given['POSTRIDER_DATA_DIR'] ?? join(rootDir, '.data'));
  return {
    env: given,
    distDir,
    dataDir,
    databaseUrl: given['DATABASE_URL'],
    redisUrl: own.redisUrl,
    ownRedis,
    forward: forward === undefined ? null : readForward(forward),
    host: api.host,
    port: api.port,
    shutdownDeadlineMs: own.shutdownDeadlineMs,
    metricsHost: own.metricsHost,
    metricsPort: own.metricsPort,
    smtpHost: inbound.inboundSmtpHost,
    smtpPort: inbound.inboundSmtpPort,
    consoleHost: console.consoleHost,
    consolePort: console.consolePort,
    blobStore: given['BLOB_STORE'] ?? `file:${join(dataDir, 'blobs')}`,
    sandboxDir: resolve(given['SANDBOX_DIR'] ?? join(dataDir, 'sandbox')),
    signatureHeader: `${worker.signatureHeaderPrefix}-Signature`.toLowerCase(),
  };
}

function readArguments(args: readonly string[]): { redis: boolean; forward?: string | undefined } {
  const options = { redis: { type: 'boolean', default: false }, forward: { type: 'string' } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const [fault = ''] = messageOf(error).split(/\. |\n/);
    throw new StartError(`${fault}; the usage is: ${USAGE}`, { cause: error });
  }
}

function readForward(text: string): URL {
  const url = parseUrl(text);
  if (url?.protocol === 'http:' && url.username === '' && url.password === '') return url;
  throw new StartError(`--forward ${text}: an address like http://localhost:8080/webhooks is needed`);
}

/** The folder of the log files. */
export function logsDirOf(settings: Settings): string {
  return join(settings.dataDir, 'logs');
}

/** Names a database in the names of files. The name does not reveal the URL. */
export function databaseName(databaseUrl: string | undefined): string {
  if (databaseUrl === undefined) return 'embedded';
  const url = parseServerUrl(databaseUrl); // not null: the configuration accepted it
  const socket = url?.searchParams.get('host') ?? '';
  return createHash('sha256').update(`${url?.host}${url?.pathname}${socket}`).digest('hex').slice(0, 12);
}
