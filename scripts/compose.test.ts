import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const compose = readFileSync(new URL('../docker/compose.yaml', import.meta.url), 'utf8');

/** The lines of a service, or of an extension, up to the next one. */
function section(name: string): string {
  const found = new RegExp(`^( *)${name}:.*\\n((?:\\1 +.*\\n|\\n)*)`, 'm').exec(compose);
  if (found === null) throw new Error(`compose.yaml has no ${name}`);
  return found[2] ?? '';
}

test('compose tells API and worker alike who takes the mail, and gives both the way to SES', () => {
  for (const key of ['MAIL_PROVIDER', 'AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])
    expect(section('x-mail')).toContain(`  ${key}:\n`);
  for (const service of ['api', 'worker']) {
    expect(section(service)).toMatch(/<<: \[\*environment, \*mail[^\n]*\]\n/);
    expect(section(service)).not.toContain('MAIL_PROVIDER');
  }
});

test('compose gives API and inbound the same domains and the same store of what is received', () => {
  expect(section('x-inbound')).toContain('  INBOUND_DOMAINS:\n');
  expect(section('x-inbound')).toContain('  BLOB_STORE: ${BLOB_STORE:-file:/app/.data/blobs}\n');
  for (const service of ['api', 'inbound']) {
    expect(section(service)).toContain('<<: [*environment, *mail, *inbound]\n');
    expect(section(service)).toContain('- blobs:/app/.data/blobs\n');
  }
});

test.each([
  [
    'api',
    [
      ...[
        'SNS_ALLOW_SHA1',
        'UNVERIFIED_DOMAINS_PER_ACCOUNT_MAX',
        'DOMAIN_CLAIM_DAYS',
        'WEBHOOKS_PER_ACCOUNT_MAX',
      ],
      'INBOUND_S3_BUCKETS',
    ],
  ],
  ['worker', ['DELIVERY_DENIED_NETWORKS', 'DELIVERY_HTTP_CLIENT', 'SMTP_ALLOW_PLAINTEXT']],
  ['inbound', ['INBOUND_HOSTNAME', 'INBOUND_CLAMD', 'INBOUND_RSPAMD', 'DNS_SERVERS']],
  [
    'relay',
    [
      ...[
        'EVENT_RETENTION_DAYS',
        'ATTEMPT_RETENTION_DAYS',
        'MAIL_CONTENT_RETENTION_DAYS',
        'MAIL_RETENTION_DAYS',
      ],
      ...['INBOUND_RETENTION_DAYS', 'DEAD_LETTER_RETENTION_DAYS', 'DEAD_LETTERS_PER_WEBHOOK_MAX'],
    ],
  ],
  ['console', ['CONSOLE_KEYS', 'PUBLIC_URL', 'ATTEMPT_RETENTION_DAYS', 'DEAD_LETTERS_PER_WEBHOOK_MAX']],
])('compose passes to the %s what an operator may set: %j', (service, keys) => {
  for (const key of keys) expect(section(service)).toContain(`      ${key}:\n`);
});

test('compose starts the console only when asked', () => {
  expect(section('console')).toContain('profiles: [console]\n');
});

test('the image has every process, with the files beside it', () => {
  const image = readFileSync(new URL('../docker/Dockerfile', import.meta.url), 'utf8');
  for (const name of ['api', 'relay', 'worker', 'inbound', 'console', 'all', 'cli'])
    expect(image).toContain(`COPY --from=build /src/dist/${name}.js /src/dist/${name}.js.map ./dist/\n`);
  expect(image).toContain('COPY --from=build /src/dist/console-assets ./dist/console-assets/\n');
  expect(image).toContain('COPY --from=build /src/dist/package.json /src/dist/query-compiler.wasm ./dist/\n');
});

test('the small compose file differs from the large one in processes alone: the same servers, volumes and secrets', () => {
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
    'stop_grace_period: 30s',
  ];
  const large = new Set(compose.split('\n').map((line) => line.trim()));
  for (const line of shared) expect([lines.has(line), large.has(line), line]).toEqual([true, true, line]);
  expect(small).toContain('    command: [node, dist/all.js]\n');
});
