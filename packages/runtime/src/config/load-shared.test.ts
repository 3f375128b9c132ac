import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, loadSharedConfig } from './load.ts';
import type { Environment } from './setting.ts';

const BASE: Environment = {
  DATABASE_URL: 'postgres://app:pw@db/postrider',
  SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
};

describe('the configuration of several roles in one process', () => {
  const rolesOf = (env: Environment) => loadSharedConfig({ ...BASE, ...env }).roles;

  test('has every role, and the console only when somebody may sign in', () => {
    const CONSOLE_KEYS = `ada:reader:${'0'.repeat(64)}`;
    expect(rolesOf({})).toEqual(['api', 'relay', 'worker', 'inbound']);
    expect(rolesOf({ ROLES: 'all', CONSOLE_KEYS: ' ' })).toEqual(['api', 'relay', 'worker', 'inbound']);
    expect(rolesOf({ CONSOLE_KEYS })).toEqual(['api', 'relay', 'worker', 'inbound', 'console']);
  });

  test('has the roles that ROLES names, each once, with the settings of each', () => {
    const { roles, of } = loadSharedConfig({ ...BASE, ROLES: 'worker, relay,worker', LEASE_SECONDS: '40' });
    expect(roles).toEqual(['worker', 'relay']);
    expect(of('relay').leaseSeconds).toBe(40);
    expect(of('worker').secretsKey).toEqual([Buffer.alloc(32, 7)]);
    expect(() => of('api')).toThrow('no role api');
  });

  test.each([
    ['api,pigeon', 'ROLES must be all, or some of api, relay, worker, inbound, console (got "api,pigeon")'],
    ['api,all', 'ROLES must be all, or some of api, relay, worker, inbound, console (got "api,all")'],
    ['console', 'CONSOLE_KEYS is required'],
  ])('ROLES=%s is refused', (ROLES, problem) => {
    expect(() => rolesOf({ ROLES })).toThrow(new ConfigurationError('all', [problem]));
  });

  test('refuses fewer connections than the roles need', () => {
    expect(() => rolesOf({ DATABASE_POOL_SIZE: '10' })).toThrow(
      /DATABASE_POOL_SIZE must be a whole number from 11 /,
    );
    expect(rolesOf({ DATABASE_POOL_SIZE: '11' })).toHaveLength(4);
  });

  test('names a bad setting of several roles once', () => {
    expect(() => loadSharedConfig({ ...BASE, SECRETS_KEY: '', NODE_ENV: 'test' })).toThrow(
      new ConfigurationError('all', ['SECRETS_KEY is required']),
    );
  });
});
