import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { buildSync } from 'esbuild';

/** Begins a worker in a process of its own, as `main.ts` does. By default it prints its metrics port. */
function startProcess(env: Record<string, string>, script = 'console.log(shell.config.metricsPort);') {
  const { outputFiles } = buildSync({
    stdin: {
      contents: `
        import { processShell, sharedShell } from './process-shell.ts';
        const shell = processShell('worker', ({ leaseSeconds }) => ({ also: leaseSeconds }));
        ${script}`,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(process.execPath);" },
  });
  const input = outputFiles[0]?.text ?? '';
  return spawnSync(process.execPath, ['--input-type=module'], { input, env, encoding: 'utf8' });
}

test('a bad value stops the process with one line on stderr and exit code 1', () => {
  const { status, stdout, stderr } = startProcess({ METRICS_PORT: 'abc', DELIVERY_CONCURRENCY: '-1' });
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toBe(
    'postrider worker: configuration: DATABASE_URL is required; SECRETS_KEY is required; ' +
      'DELIVERY_CONCURRENCY must be a whole number from 1 to 10000 (got "-1"); ' +
      'METRICS_PORT must be a whole number from 0 to 65535 (got "abc")\n',
  );
});

const GOOD = {
  DATABASE_URL: 'postgres://db/x',
  SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  METRICS_PORT: '0',
  LEASE_SECONDS: '50',
};

test('a good configuration is logged without secrets, and the process goes on', () => {
  const { status, stdout } = startProcess(GOOD);
  expect(status).toBe(0);
  const [line = '', port] = stdout.split('\n');
  expect(JSON.parse(line)).toMatchObject({
    level: 'info',
    msg: 'configuration',
    service: 'worker',
    METRICS_PORT: 0,
    SECRETS_KEY: '***',
    also: 50,
  });
  expect(port).toBe('0');
});

test('an outage of Postgres is one line for each code, whatever number of errors it causes', () => {
  const { stdout } = startProcess(
    GOOD,
    `for (const code of ['57P01', '28P01', '57P01', '28P01'])
       shell.onPostgresError(Object.assign(new Error('gone ' + code), { code }));`,
  );
  const lines = stdout.split('\n').filter((line) => line.includes('"postgres error"'));
  expect(lines).toEqual([expect.stringContaining('gone 57P01'), expect.stringContaining('gone 28P01')]);
});

test('roles that share a process have one log line each for Postgres, and one counter', () => {
  const { stdout } = startProcess(
    { ...GOOD, ROLES: 'relay,worker' },
    `const { shellOf, metrics } = sharedShell(() => ({}));
    for (const role of ['relay', 'worker'])
      shellOf(role).onPostgresError(Object.assign(new Error('gone'), { code: '57P01' }));
    console.log(await metrics.registry.metrics());`,
  );
  const lines = stdout.split('\n');
  const errors = lines.filter((line) => line.includes('"postgres error"'));
  expect(errors.map((line) => (JSON.parse(line) as { service: string }).service)).toEqual([
    'relay',
    'worker',
  ]);
  expect(lines).toContainEqual(
    expect.stringMatching(/^postrider_postgres_errors_total\{code="57P01".*\} 2$/),
  );
});
