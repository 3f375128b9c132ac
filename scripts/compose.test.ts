import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { settingsOf } from '../packages/runtime/src/config/load.ts';
import { ROLES } from '../packages/runtime/src/config/setting.ts';

const compose = readFileSync(new URL('../docker/compose.yaml', import.meta.url), 'utf8');

/** The lines of a service, or of an extension, up to the next one. */
function section(name: string): string {
  const found = new RegExp(`^( *)${name}:.*\\n((?:\\1 +.*\\n|\\n)*)`, 'm').exec(compose);
  if (found === null) throw new Error(`compose.yaml has no ${name}`);
  return found[2] ?? '';
}

/** The variables that a service gets, with those of the extensions that it merges. */
function variablesOf(service: string): string[] {
  const lines = section(service);
  const own = [...lines.matchAll(/^ +([A-Z][A-Z0-9_]+):/gm)].map(([, key = '']) => key);
  const merged = /<<: \[?((?:\*[\w-]+,? ?)+)\]?\n/g;
  return [...lines.matchAll(merged)]
    .flatMap(([, names = '']) => names.match(/[\w-]+/g) ?? [])
    .filter((name) => compose.includes(`\nx-${name}: &${name}`))
    .reduce((all, name) => [...all, ...variablesOf(`x-${name}`)], own);
}

const image = readFileSync(new URL('../docker/Dockerfile', import.meta.url), 'utf8');
/**
 * Settings that compose must not pass: the image sets addresses, and the file publishes ports and mounts the
 * sandbox. The last two are for development.
 */
const FIXED = new Set([
  ...(image.match(/\b[A-Z_]+(?==\S+ ?\\?\n)/g) ?? []),
  ...['PORT', 'METRICS_PORT', 'CONSOLE_PORT', 'INBOUND_SMTP_PORT', 'SANDBOX_DIR'],
  ...['DELIVERY_ALLOWED_NETWORKS', 'SNS_SIGNING_CERT_FILE'],
]);

test.each(ROLES)(
  'compose passes to the %s each of its settings, and no secret of another process',
  (role) => {
    const passed = variablesOf(role);
    const read = settingsOf(role).map(([, { key }]) => key);
    expect(read.filter((key) => !FIXED.has(key) && !passed.includes(key))).toEqual([]);
    expect(passed.filter((key) => FIXED.has(key))).toEqual([]);
    // The file's own Redis has no password.
    const secrets = ROLES.flatMap((each) => settingsOf(each))
      .filter(([, { key, secret }]) => secret !== undefined && key !== 'REDIS_URL')
      .map(([, { key }]) => key);
    expect(passed.filter((key) => secrets.includes(key) && !read.includes(key))).toEqual([]);
  },
);

test.each(['AWS_SECRET_ACCESS_KEY', 'AWS_ENDPOINT_URL_SESV2', 'AWS_ENDPOINT_URL_S3'])(
  'compose passes %s to the processes that call AWS, and to no other',
  (key) => {
    const calling = ROLES.filter((role) => variablesOf(role).includes(key));
    expect(calling).toEqual(['api', 'worker', 'inbound']);
  },
);

test('compose passes NODE_EXTRA_CA_CERTS to every process', () => {
  expect(ROLES.filter((role) => !variablesOf(role).includes('NODE_EXTRA_CA_CERTS'))).toEqual([]);
});

test('compose gives API and inbound the same blob store', () => {
  expect(section('x-environment')).toContain('  BLOB_STORE: ${BLOB_STORE:-file:/app/.data/blobs}\n');
  for (const service of ['api', 'inbound']) expect(section(service)).toContain('- blobs:/app/.data/blobs\n');
});

test.each(['compose.yaml', 'compose.small.yaml'])('%s limits the log of every service', (name) => {
  const text = readFileSync(new URL(`../docker/${name}`, import.meta.url), 'utf8');
  const services = text.slice(text.indexOf('\nservices:\n'), text.indexOf('\nvolumes:\n'));
  const unlimited = services
    .split(/\n(?=  [a-z]+:\n)/)
    .slice(1)
    .filter((service) => !/\n    (?:<<: \*postrider|logging: \*logging)\n/.test(service));
  expect(unlimited).toEqual([]);
  expect(text).toMatch(/\nx-postrider: &postrider\n(?: .*\n)*  logging: \*logging\n/);
  expect(text).toMatch(/\nx-logging: &logging.*\n(?: .*\n)*    max-size: /);
});

describe.each(['compose.yaml', 'compose.small.yaml'])('%s', (name) => {
  const text = readFileSync(new URL(`../docker/${name}`, import.meta.url), 'utf8');

  test('runs an init process in each of our containers: a program without handlers ends at SIGTERM', () => {
    expect(text).toMatch(/\nx-postrider: &postrider\n(?: .*\n)*  init: true\n/);
    const ours = text.match(/^    command: \[node, /gm) ?? [];
    expect(ours.length).toBeGreaterThan(1);
    expect(text.match(/^    <<: \*postrider$/gm)).toHaveLength(ours.length);
  });

  test('has one service that builds the image: parallel builds of one tag fail', () => {
    expect(text.match(/^ +build:$/gm)).toHaveLength(1);
    expect(text).toMatch(/\n  migrate:\n    <<: \*postrider\n    build:\n/);
    expect(text).toMatch(/\nx-postrider: &postrider\n  image: postrider\n  pull_policy: never/);
  });

  test('asks Postgres over TCP, which the image opens when the database is complete', () => {
    expect(text).toContain('test: [CMD, pg_isready, --host=127.0.0.1, ');
  });
});

test('the small compose file fixes hosts and ports: docker/.env could move them from the published ones', () => {
  const small = readFileSync(new URL('../docker/compose.small.yaml', import.meta.url), 'utf8');
  const addresses = [...FIXED].filter((key) => /(?:HOST|PORT)$/.test(key));
  expect(addresses).toContain('METRICS_PORT');
  expect(addresses.filter((key) => !small.includes(`\n      ${key}: `))).toEqual([]);
});

test('compose starts the console only when asked', () => {
  expect(section('console')).toContain('profiles: [console]\n');
});

test('the image has every process, with the files beside it', () => {
  for (const name of ['api', 'relay', 'worker', 'inbound', 'console', 'all', 'cli'])
    expect(image).toContain(`COPY --from=build /src/dist/${name}.js /src/dist/${name}.js.map ./dist/\n`);
  expect(image).toContain('COPY --from=build /src/dist/console-assets ./dist/console-assets/\n');
  expect(image).toContain('COPY --from=build /src/dist/package.json /src/dist/query-compiler.wasm ./dist/\n');
});

test('the image runs as a user with a number, which `runAsNonRoot` of Kubernetes needs', () => {
  expect(image.match(/^USER .*$/gm)).toEqual(['USER 1000:1000']);
});

test('the small compose file has the servers, volumes and secrets of the large one, and one process', () => {
  const small = readFileSync(new URL('../docker/compose.small.yaml', import.meta.url), 'utf8');
  const lines = new Set(small.split('\n').map((line) => line.trim()));
  const shared = [
    'name: postrider',
    'image: postgres:18',
    'DATABASE_URL: postgres://postrider:${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD}@postgres:5432/postrider',
    'SECRETS_KEY: ${SECRETS_KEY:?set SECRETS_KEY}',
    '- postgres:/var/lib/postgresql',
    '- sandbox:/app/.data',
    '- blobs:/app/.data/blobs',
    'stop_grace_period: 35s',
    "MALLOC_MMAP_THRESHOLD_: '131072'",
  ];
  const large = new Set(compose.split('\n').map((line) => line.trim()));
  for (const line of shared) expect([lines.has(line), large.has(line), line]).toEqual([true, true, line]);
  expect(small).toContain('    command: [node, dist/all.js]\n');
});
