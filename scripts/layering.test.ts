import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

/*
 * Each rule of .dependency-cruiser.cjs must find a planted fault. The faults are in a small workspace, laid out
 * as pnpm does. One run checks all.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Imports that break a rule: the rule that must find it, the file, and what it imports. */
const FAULTS: readonly [rule: string, file: string, imported: string][] = [
  ['no-cycles', 'packages/queue/src/hen.ts', './egg.ts'],
  ['resolvable', 'apps/api/src/typo.ts', './nowhere.ts'],
  ['domain-is-pure', 'packages/domain/src/fs.ts', 'node:fs'],
  ['web-receiver-without-node', 'packages/receiver/src/signed-request.ts', 'node:crypto'],
  ['domain-is-pure', 'packages/domain/src/store.ts', '@postrider/store'],
  ['domain-is-pure', 'packages/domain/src/express.ts', 'express'],
  ['domain-is-pure', 'packages/domain/src/bullmq.ts', 'bullmq'],
  ['domain-is-pure', 'packages/domain/src/ioredis.ts', 'ioredis'],
  ['domain-is-pure', 'packages/domain/src/prisma.ts', '@prisma/client'],
  ['domain-is-pure', 'packages/domain/src/pg.ts', 'pg'],
  ['domain-is-pure', 'packages/domain/src/got.ts', 'got'],
  ['domain-is-pure', 'packages/domain/src/winston.ts', 'winston'],
  ['prisma-only-in-store', 'apps/api/src/prisma.ts', '@prisma/client'],
  ['bullmq-only-in-queue', 'apps/worker/src/bullmq.ts', 'bullmq'],
  ['bullmq-only-in-queue', 'e2e/src/bullmq.test.ts', 'bullmq'],
  ['express-only-in-api-and-console', 'apps/worker/src/express.ts', 'express'],
  ['got-only-in-outbound', 'apps/worker/src/got.ts', 'got'],
  ['aws-only-in-mail-and-blobs', 'apps/worker/src/ses.ts', '@aws-sdk/client-sesv2'],
  ['aws-only-in-mail-and-blobs', 'apps/worker/src/s3.ts', '@aws-sdk/client-s3'],
  ['aws-only-in-mail-and-blobs', 'packages/testing/src/s3.ts', '@aws-sdk/client-s3'],
  ['aws-only-in-mail-and-blobs', 'e2e/src/ses.test.ts', '@aws-sdk/client-sesv2'],
  ['winston-only-in-runtime', 'packages/store/src/winston.ts', 'winston'],
  ['drivers-only-in-adapters', 'apps/api/src/pg.ts', 'pg'],
  ['drivers-only-in-adapters', 'apps/worker/src/ioredis.ts', 'ioredis'],
  ['packages-never-import-apps', 'packages/queue/src/app.ts', '../../../apps/api/src/app.ts'],
  ['apps-never-import-each-other', 'apps/worker/src/app.ts', '../../api/src/app.ts'],
  ['all-imports-the-module-of-a-role', 'apps/all/src/app.ts', '../../api/src/app.ts'],
  ['packages-by-their-index', 'apps/api/src/inside.ts', '../../../packages/store/src/db/pool.ts'],
  ['packages-by-their-index', 'packages/queue/src/inside.ts', '../../store/src/db/pool.ts'],
  ['production-never-imports-tests', 'apps/api/src/testing.ts', '@postrider/testing'],
  ['production-never-imports-tests', 'packages/queue/src/test.ts', './job.test.ts'],
  ['production-never-imports-tests', 'apps/api/src/support.ts', '../test/start-api.ts'],
  ['production-never-imports-tests', 'apps/api/src/bench.ts', '../../../bench/src/load.ts'],
  ['production-never-needs-dev-dependencies', 'apps/api/src/supertest.ts', 'supertest'],
];

/** Imports that look like a fault and are allowed. */
const ALLOWED: readonly [file: string, imported: string][] = [
  ['packages/domain/src/zod.ts', 'zod'],
  ['packages/domain/src/ulid.ts', 'ulid'],
  ['packages/domain/src/crypto.ts', 'node:crypto'],
  ['packages/domain/src/rule.test.ts', '@postrider/testing'],
  ['packages/store/src/db/pool.ts', 'pg'],
  ['packages/store/src/prisma.ts', '@prisma/client'],
  ['packages/queue/src/bullmq.ts', 'bullmq'],
  ['packages/queue/src/job.test.ts', '@postrider/testing'],
  ['packages/outbound/src/client.ts', 'got'],
  ['packages/mail/src/ses.ts', '@aws-sdk/client-sesv2'],
  ['packages/blobs/src/s3.ts', '@aws-sdk/client-s3'],
  ['bench/src/load.ts', 'got'],
  ['apps/api/src/app.ts', 'express'],
  ['apps/api/src/app.test.ts', 'supertest'],
  ['apps/api/test/start-api.ts', 'supertest'],
  ['apps/api/test/receiver.ts', '@postrider/testing'],
  ['apps/api/src/store.ts', '@postrider/store'],
  ['apps/all/src/main.ts', '../../api/src/api.ts'],
  ['apps/worker/src/domain.ts', '@postrider/domain'],
  ['e2e/src/rows.test.ts', 'pg'],
];

const PACKAGES = ['domain', 'store', 'queue', 'outbound', 'mail', 'blobs', 'testing'];
const FROM_NPM = [
  'zod',
  'ulid',
  'express',
  'bullmq',
  'ioredis',
  '@prisma/client',
  'pg',
  'got',
  '@aws-sdk/client-s3',
  '@aws-sdk/client-sesv2',
  'winston',
  'supertest',
];
const DEV_ONLY = ['supertest'];

let folder: string;
let found: Set<string>;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-layering-')));
  plantWorkspace();
  for (const [, file, imported] of FAULTS) plant(file, `import '${imported}';`);
  for (const [file, imported] of ALLOWED) plant(file, `import '${imported}';`);
  plant('apps/api/src/api.ts', '');
  plant('packages/queue/src/egg.ts', "import type {} from './hen.ts';");
  found = cruise();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function plant(file: string, text: string): void {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${text}\nexport {};\n`);
}

function plantJson(file: string, value: object): void {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value));
}

function link(target: string, path: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  symlinkSync(join(folder, target), join(folder, path), 'junction');
}

/** Links every package into every other, so that only the rules forbid an import. */
function plantWorkspace(): void {
  const versions = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, '1.0.0']));
  const dependencies = versions(FROM_NPM.filter((name) => !DEV_ONLY.includes(name)));
  plantJson('package.json', { type: 'module' });
  for (const name of FROM_NPM) {
    const path = pathInPnpm(name);
    plantJson(`${path}/package.json`, { name, version: '1.0.0', exports: './index.js' });
    plant(`${path}/index.js`, '');
  }
  const folders = [
    ...PACKAGES.map((name) => `packages/${name}`),
    'apps/all',
    'apps/api',
    'apps/worker',
    'e2e',
    'bench',
  ];
  for (const path of folders) {
    const name = `@postrider/${path.split('/').at(-1) ?? ''}`;
    const manifest = { name, type: 'module', dependencies, devDependencies: versions(DEV_ONLY) };
    plantJson(`${path}/package.json`, { ...manifest, exports: { '.': './src/index.ts' } });
    plant(`${path}/src/index.ts`, '');
    for (const npm of FROM_NPM) link(pathInPnpm(npm), `${path}/node_modules/${npm}`);
    for (const other of PACKAGES) link(`packages/${other}`, `${path}/node_modules/@postrider/${other}`);
  }
}

function pathInPnpm(name: string): string {
  return `node_modules/.pnpm/${name.replace('/', '+')}@1.0.0/node_modules/${name}`;
}

interface Report {
  summary: { violations: { from: string; rule: { name: string }; cycle?: { name: string }[] }[] };
}

/** Returns `rule: file` for each violation. A cycle counts for each of its files. */
function cruise(): Set<string> {
  const binary = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const config = join(ROOT, '.dependency-cruiser.cjs');
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [binary, '--config', config, '--output-type', 'json', 'apps', 'packages', 'e2e', 'bench'],
    { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  if (stdout === '') throw new Error(stderr);
  const { violations } = (JSON.parse(stdout) as Report).summary;
  return new Set(
    violations.flatMap(({ rule, from, cycle = [] }) => {
      return [from, ...cycle.map(({ name }) => name)].map((file) => `${rule.name}: ${file}`);
    }),
  );
}

describe('a planted fault is found', () => {
  test.each(FAULTS)('%s: %s imports %s', (rule, file) => {
    expect(found).toContain(`${rule}: ${file}`);
  });
});

describe('what is allowed stays allowed', () => {
  test.each(ALLOWED)('%s imports %s', (file) => {
    expect([...found].filter((violation) => violation.endsWith(`: ${file}`))).toEqual([]);
  });
});

test('every rule has a planted fault', () => {
  const planted = new Set(FAULTS.map(([rule]) => rule));
  const { stdout } = spawnSync(
    process.execPath,
    ['-p', `JSON.stringify(require('./.dependency-cruiser.cjs').forbidden.map((rule) => rule.name))`],
    { cwd: ROOT, encoding: 'utf8' },
  );
  expect(JSON.parse(stdout)).toEqual([...planted]);
});
