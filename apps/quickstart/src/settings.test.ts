import { describe, expect, test } from '@jest/globals';
import { databaseName, readSettings } from './settings.ts';
import { systemEnvironment } from './system/environment.ts';

const CONNECTIONS = { databaseUrl: 'postgres://127.0.0.1/x', redisUrl: undefined, secretsKey: 'key' };

const settingsFor = (env: Record<string, string>, ...args: string[]) =>
  readSettings({ args, env, distDir: '/project/dist', rootDir: '/project' });

describe('readSettings', () => {
  test('an empty environment starts everything embedded, on the documented ports, below .data', () => {
    expect(settingsFor({ DATABASE_URL: ' ' })).toMatchObject({
      databaseUrl: undefined,
      redisUrl: undefined,
      ownRedis: false,
      host: '127.0.0.1',
      port: 3000,
      metricsPort: 9101,
      smtpHost: '127.0.0.1',
      smtpPort: 2525,
      consoleHost: '127.0.0.1',
      consolePort: 3001,
      blobStore: 'file:/project/.data/blobs',
      dataDir: '/project/.data',
      sandboxDir: '/project/.data/sandbox',
      signatureHeader: 'service-signature',
    });
  });

  test('the processes have 5 s to end, or what the user sets', () => {
    expect(settingsFor({}).shutdownDeadlineMs).toBe(5_000);
    expect(settingsFor({ SHUTDOWN_DEADLINE_MS: '30000' }).shutdownDeadlineMs).toBe(30_000);
  });

  test('ROLES of the user is not used: the demonstration needs every role', () => {
    expect(systemEnvironment(settingsFor({ ROLES: 'relay' }), CONNECTIONS, '/ca.pem')).toMatchObject({
      ROLES: 'all',
    });
  });

  test.each([
    ['the API', { PORT: 'x' }, 'PORT must be'],
    ['the relay', { EVENT_RETENTION_DAYS: 'x' }, 'EVENT_RETENTION_DAYS must be'],
    ['the worker', { DELIVERY_TIMEOUT_MS: 'x' }, 'DELIVERY_TIMEOUT_MS must be'],
    ['the console', { CONSOLE_KEYS: 'x' }, 'CONSOLE_KEYS must be'],
    ['production', { NODE_ENV: 'production' }, 'refuses NODE_ENV=production'],
    ['another environment', { NODE_ENV: 'staging' }, 'refuses NODE_ENV=staging'],
  ])('a wrong value for %s is named before anything starts', (_, env, words) => {
    expect(() => settingsFor(env as unknown as Record<string, string>)).toThrow(words);
  });

  test('--redis and --forward are read, and an unknown argument is named', () => {
    expect(settingsFor({})).toMatchObject({ ownRedis: false, forward: null });
    expect(settingsFor({}, '--redis').ownRedis).toBe(true);
    expect(settingsFor({}, '--forward', 'http://localhost:8080/a?b=c').forward?.href).toBe(
      'http://localhost:8080/a?b=c',
    );
    expect(() => settingsFor({}, '--reddis')).toThrow("'--reddis'; the usage is: npm start -- [--redis]");
    expect(() => settingsFor({}, 'http://127.0.0.1:8080/')).toThrow("'http://127.0.0.1:8080/'; the usage is");
    expect(() => settingsFor({}, '--forward')).toThrow('argument missing; the usage is');
  });

  test.each(['https://localhost:8443/', 'localhost:8080', '/webhooks', '', 'http://user@localhost/'])(
    '--forward "%s" is refused',
    (address) => {
      expect(() => settingsFor({}, `--forward=${address}`)).toThrow(
        `--forward ${address}: an address like http://localhost:8080/webhooks is needed`,
      );
    },
  );
});

describe('the name of a database', () => {
  test('is that of its address, whatever the password', () => {
    const name = databaseName('postgres://me:pw@db/x');
    expect(databaseName('postgres://me:changed@db/x')).toBe(name);
    expect(databaseName('postgres://me:pw@db/y')).not.toBe(name);
    expect(databaseName(undefined)).toBe('embedded');
  });

  test('there is one for a socket, too', () => {
    const name = databaseName('postgres://me:pw@/x?host=/run/postgresql');
    expect(name).toMatch(/^[0-9a-f]{12}$/);
    expect(databaseName('postgres://me:pw@/y?host=/run/postgresql')).not.toBe(name);
    expect(databaseName('postgres://me:pw@/x?host=/run/other')).not.toBe(name);
  });
});

describe('the environment of the system', () => {
  test("extends the user's environment and keeps the rest", () => {
    const settings = settingsFor({ LOG_LEVEL: 'debug', SHUTDOWN_DEADLINE_MS: '9' });
    expect(systemEnvironment(settings, CONNECTIONS, '/ca.pem')).toEqual({
      LOG_LEVEL: 'debug',
      SHUTDOWN_DEADLINE_MS: '9',
      NODE_ENV: 'development',
      DATABASE_URL: 'postgres://127.0.0.1/x',
      REDIS_URL: undefined,
      SECRETS_KEY: 'key',
      BLOB_STORE: 'file:/project/.data/blobs',
      SANDBOX_DIR: '/project/.data/sandbox',
      ROLES: 'all',
      DELIVERY_ALLOWED_NETWORKS: '127.0.0.1/32',
      NODE_EXTRA_CA_CERTS: '/ca.pem',
    });
  });

  test('keeps NODE_ENV=test of the user', () => {
    const settings = settingsFor({ NODE_ENV: 'test', DELIVERY_ALLOWED_NETWORKS: '10.0.0.0/8' });
    expect(systemEnvironment(settings, CONNECTIONS, '/ca.pem')).toMatchObject({ NODE_ENV: 'test' });
  });

  test('allows 127.0.0.1 besides the networks that the user allows', () => {
    const settings = settingsFor({ DELIVERY_ALLOWED_NETWORKS: '10.0.0.0/8' });
    expect(systemEnvironment(settings, CONNECTIONS, '/ca.pem')).toMatchObject({
      DELIVERY_ALLOWED_NETWORKS: '10.0.0.0/8,127.0.0.1/32',
    });
  });
});
