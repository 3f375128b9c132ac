import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, loadConfig, maskedConfig } from './load.ts';
import type { Environment, ProcessName } from './setting.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const BASE: Environment = { DATABASE_URL: 'postgres://app:pw@db/postrider', SECRETS_KEY: KEY };

function problemsOf(process: ProcessName, env: Environment): readonly string[] {
  try {
    loadConfig(process, env);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}

const worker = (env: Environment) => loadConfig('worker', { ...BASE, ...env });
const workerProblems = (env: Environment) => problemsOf('worker', { ...BASE, ...env });

describe('defaults', () => {
  test('an api starts with the two variables that have no default', () => {
    expect(loadConfig('api', BASE)).toEqual({
      databaseUrl: 'postgres://app:pw@db/postrider',
      databasePoolSize: 10,
      redisUrl: undefined,
      secretsKey: [Buffer.alloc(32, 7)],
      host: '127.0.0.1',
      port: 3000,
      problemsBase: 'https://postrider.example/problems',
      platformProblemsBase: 'https://platform.postrider.example/problems',
      keyRateLimitPerMinute: 60,
      deliveriesPerAccountPerSecond: 2000,
      outstandingDeliveriesPerAccountMax: 1_000_000,
      httpConnectionsPerAddressMax: 256,
      webhooksPerAccountMax: 100,
      signatureHeaderPrefix: 'Service',
      mailProvider: undefined,
      awsRegion: undefined,
      domainClaimDays: 7,
      domainsPerAccountMax: 100,
      unverifiedDomainsPerAccountMax: 10,
      domainTimeoutMs: 10_000,
      publicUrl: undefined,
      snsTopicArns: [],
      snsAllowSha1: false,
      snsSigningCertFile: undefined,
      inboundDomains: undefined,
      inboundReservedNames: [],
      inboundS3Buckets: [],
      blobStore: 'file:.data/blobs',
      nodeEnv: undefined,
      logLevel: 'info',
      shutdownDeadlineMs: 25_000,
    });
  });

  test('a worker tries a delivery and a message eight times on the schedule of the contract', () => {
    const config = worker({});
    expect(config.deliveryRetryDelaysSeconds).toEqual([30, 60, 120, 240, 480, 960, 1920]);
    expect(config.mailRetryDelaysSeconds).toEqual([30, 60, 120, 240, 480, 960, 1920]);
    expect(config).toMatchObject({
      signatureHeaderPrefix: 'Service',
      standardWebhooksHeaders: false,
      deliveryTimeoutMs: 10_000,
      deliveryHttpClient: 'https',
      deliveryConcurrency: 256,
      slowLaneConcurrency: 256,
      deliveryAllowedNetworks: [],
      deliveryDeniedNetworks: [],
      mailConcurrency: 16,
      mailTimeoutMs: 30_000,
      smtpReplyTimeoutMs: 300_000,
      smtpFinalReplyTimeoutMs: 600_000,
      sandboxDir: '.data/sandbox',
      queuePrefix: 'postrider',
      databasePoolSize: 6,
      leaseSeconds: 30,
      metricsHost: '127.0.0.1',
    });
  });

  test('relay and worker serve their metrics on ports of their own', () => {
    expect(loadConfig('relay', BASE).metricsPort).toBe(9101);
    expect(worker({}).metricsPort).toBe(9102);
  });

  test('an empty or blank variable counts as not set', () => {
    expect(worker({ REDIS_URL: '', LOG_LEVEL: '  ' })).toMatchObject({
      redisUrl: undefined,
      logLevel: 'info',
    });
    expect(problemsOf('cli', { DATABASE_URL: '' })).toEqual(['DATABASE_URL is required']);
  });

  test('a process neither needs nor gets what it does not use', () => {
    const config = loadConfig('relay', {
      DATABASE_URL: 'postgres://db/x',
      SECRETS_KEY: 'nonsense',
      PORT: 'abc',
    });
    expect(config).not.toHaveProperty('secretsKey');
    expect(config).not.toHaveProperty('port');
  });
});

describe('every bad variable is named, in one line', () => {
  test('missing and wrong ones together', () => {
    const env = { PORT: 'abc', LOG_LEVEL: 'loud', KEY_RATE_LIMIT_PER_MINUTE: '0' };
    expect(() => loadConfig('api', env)).toThrow(
      new ConfigurationError('api', [
        'DATABASE_URL is required',
        'SECRETS_KEY is required',
        'PORT must be a whole number from 0 to 65535 (got "abc")',
        'KEY_RATE_LIMIT_PER_MINUTE must be a whole number from 1 to 1000000 (got "0")',
        'LOG_LEVEL must be one of error, warn, info, debug, silent (got "loud")',
      ]),
    );
  });

  test('the message has no line break, whatever the value has', () => {
    const { message } = new ConfigurationError('worker', workerProblems({ LOG_LEVEL: 'a\nb' }));
    expect(message).toBe(
      'postrider worker: configuration: LOG_LEVEL must be one of error, warn, info, debug, silent (got "a\\nb")',
    );
  });

  test('a long value is cut', () => {
    expect(workerProblems({ LOG_LEVEL: 'x'.repeat(5000) })[0]?.length).toBeLessThan(150);
  });

  test.each<[ProcessName, ...string[]]>([
    ['worker', 'DATABASE_URL', 'REDIS_URL', 'SECRETS_KEY', 'SMTP_URL'],
    ['cli', 'DATABASE_URL', 'REDIS_URL', 'SECRETS_KEY'],
    ['relay', 'OPERATOR_WEBHOOK_URL', 'OPERATOR_WEBHOOK_SECRET'],
    ['console', 'CONSOLE_KEYS'],
  ])('a malformed secret is not repeated: %s', (process, ...keys) => {
    const wrong = Object.fromEntries(keys.map((key) => [key, 'http://:hunter2@r']));
    const problems = problemsOf(process, { ...BASE, ...wrong });
    expect(problems.map((problem) => problem.split(' ', 1)[0])).toEqual(keys);
    expect(problems.join()).not.toContain('hunter2');
  });
});

describe('whole numbers', () => {
  test.each([
    'abc',
    '-1',
    '1e9',
    '0x10',
    '+5',
    '5.0',
    '65536',
    '1 2',
    'NaN',
    'Infinity',
    '99999999999999999999',
  ])('the port %j is refused', (value) => {
    expect(workerProblems({ METRICS_PORT: value })).toEqual([
      `METRICS_PORT must be a whole number from 0 to 65535 (got "${value}")`,
    ]);
  });

  test.each([
    [' 5 ', 5],
    ['0', 0],
    ['007', 7],
    ['65535', 65_535],
  ])('the port %j is %j', (value, expected) => {
    expect(worker({ METRICS_PORT: value }).metricsPort).toBe(expected);
  });

  test('a domain operation may take 15 s at most', () => {
    expect(problemsOf('api', { ...BASE, DOMAIN_TIMEOUT_MS: '15001' })).toEqual([
      'DOMAIN_TIMEOUT_MS must be a whole number from 1 to 15000 (got "15001")',
    ]);
  });
});

describe('retry delays', () => {
  test('fractions, zero and blanks around entries are read', () => {
    expect(worker({ DELIVERY_RETRY_DELAYS_SECONDS: '0, 0.05,2' }).deliveryRetryDelaysSeconds).toEqual([
      0, 0.05, 2,
    ]);
  });

  test.each([',', '1,', '1,,2', '-1', '1e3', 'a', '1;2', '.5', '2592001', Array(101).fill('1').join()])(
    '%j is refused',
    (value) => {
      expect(workerProblems({ DELIVERY_RETRY_DELAYS_SECONDS: value })).toEqual([
        expect.stringMatching(/^DELIVERY_RETRY_DELAYS_SECONDS must/),
      ]);
    },
  );
});

describe('keys that encrypt secrets', () => {
  test('several are read in order, with or without padding', () => {
    const second = Buffer.alloc(32, 9);
    const config = worker({ SECRETS_KEY: `${KEY}, ${second.toString('base64url')}` });
    expect(config.secretsKey).toEqual([Buffer.alloc(32, 7), second]);
  });

  test.each([
    ['31 bytes', Buffer.alloc(31).toString('base64')],
    ['33 bytes', Buffer.alloc(33).toString('base64')],
    ['hexadecimal', Buffer.alloc(32).toString('hex')],
    ['an empty entry', `${KEY},`],
  ])('%s: refused', (_what, value) => {
    expect(workerProblems({ SECRETS_KEY: value })).toEqual([
      'SECRETS_KEY must be one or more 32-byte keys in base64, comma-separated (openssl rand -base64 32)',
    ]);
  });
});

describe('networks excused from the refusal', () => {
  test('CIDRs of both families are read', () => {
    const value = '127.0.0.1/32,::1/128, 10.0.0.0/8';
    expect(worker({ NODE_ENV: 'test', DELIVERY_ALLOWED_NETWORKS: value }).deliveryAllowedNetworks).toEqual([
      '127.0.0.1/32',
      '::1/128',
      '10.0.0.0/8',
    ]);
  });

  test.each([
    '127.0.0.1',
    '127.0.0.1/33',
    '::1/129',
    'localhost/8',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/008',
    '::/00',
    'fe80::1%lo/64',
    '127.1/8',
  ])('%j is refused', (value) => {
    expect(workerProblems({ DELIVERY_ALLOWED_NETWORKS: value })).toEqual([
      expect.stringMatching(/^DELIVERY_ALLOWED_NETWORKS must/),
    ]);
  });
});

describe('addresses', () => {
  test.each([
    'postgres://u:p@db:5432/x',
    'postgresql://db/x?sslmode=require',
    'postgresql:///x?host=/run/postgresql',
    'postgres://u@/x?host=/run/postgresql',
  ])('DATABASE_URL %s is accepted as it stands', (value) => {
    expect(worker({ DATABASE_URL: value }).databaseUrl).toBe(value);
  });

  test.each(['mysql://db/x', 'db', 'postgres:db', 'postgres://u:p/w@db/x'])(
    'DATABASE_URL %s is refused',
    (value) => {
      expect(workerProblems({ DATABASE_URL: value })).toEqual([
        'DATABASE_URL must be a postgres:// or postgresql:// URL',
      ]);
    },
  );

  test('REDIS_URL is redis:// or rediss:// with a host', () => {
    expect(worker({ REDIS_URL: 'rediss://:pw@r:6380/1' }).redisUrl).toBe('rediss://:pw@r:6380/1');
    for (const wrong of ['http://r', 'redis://:pw@/1', 'redis:///1', 'redis://']) {
      expect(workerProblems({ REDIS_URL: wrong })).toEqual(['REDIS_URL must be a redis:// or rediss:// URL']);
    }
  });

  test('a base of problems loses its trailing slash and may have no query', () => {
    expect(loadConfig('api', { ...BASE, PROBLEMS_BASE: 'https://x.example/p/' }).problemsBase).toBe(
      'https://x.example/p',
    );
    expect(problemsOf('api', { ...BASE, PROBLEMS_BASE: 'https://x.example/?a' })).toEqual([
      'PROBLEMS_BASE must have neither query nor fragment (got "https://x.example/?a")',
    ]);
  });

  test('where the world reaches the API is https, as RFC 8058 has it', () => {
    expect(worker({ PUBLIC_URL: 'https://x.example/p/' }).publicUrl).toBe('https://x.example/p');
    expect(worker({}).publicUrl).toBeUndefined();
    expect(workerProblems({ PUBLIC_URL: 'http://x.example' })).toEqual([
      'PUBLIC_URL must be a https:// URL (got "http://x.example")',
    ]);
  });

  test.each(['a b', 'http://x', ''.padEnd(1, '/')])('HOST %j is refused', (value) => {
    expect(problemsOf('api', { ...BASE, HOST: value })).toEqual([expect.stringMatching(/^HOST must/)]);
  });

  test('SNS messages signed with SHA-1 are believed only when that is said outright', () => {
    expect(loadConfig('api', BASE).snsAllowSha1).toBe(false);
    expect(loadConfig('api', { ...BASE, SNS_ALLOW_SHA1: 'true' }).snsAllowSha1).toBe(true);
    expect(problemsOf('api', { ...BASE, SNS_ALLOW_SHA1: '1' })).toEqual([
      'SNS_ALLOW_SHA1 must be true or false (got "1")',
    ]);
  });

  test('SNS topics are ARNs', () => {
    const arn = 'arn:aws:sns:eu-central-1:123456789012:ses-events';
    expect(loadConfig('api', { ...BASE, SNS_TOPIC_ARNS: `${arn},${arn}2` }).snsTopicArns).toEqual([
      arn,
      `${arn}2`,
    ]);
    expect(problemsOf('api', { ...BASE, SNS_TOPIC_ARNS: 'ses-events' })).toHaveLength(1);
    for (const [partition, region] of [
      ['aws', 'moon-base-1'],
      ['aws', 'eusc-de-east-1'],
      ['aws-eusc', 'eu-central-1'],
    ] as const) {
      const unknown = `arn:${partition}:sns:${region}:123456789012:t`;
      expect(problemsOf('api', { ...BASE, SNS_TOPIC_ARNS: unknown })).toHaveLength(1);
    }
  });

  test('buckets of inbound mail are names', () => {
    const config = loadConfig('api', { ...BASE, INBOUND_S3_BUCKETS: 'mail-in, mail.in-2' });
    expect(config.inboundS3Buckets).toEqual(['mail-in', 'mail.in-2']);
    for (const value of ['s3://mail-in', 'Mail', 'mail/in', 'a,,b', 'mail..in'])
      expect(problemsOf('api', { ...BASE, INBOUND_S3_BUCKETS: value })).toHaveLength(1);
  });

  test.each(['X Y', 'X:', 'Ü', 'a\r\nb'])('SIGNATURE_HEADER_PREFIX %j is no HTTP token', (value) => {
    expect(workerProblems({ SIGNATURE_HEADER_PREFIX: value })).toHaveLength(1);
  });

  test('QUEUE_PREFIX takes the braces of a Redis Cluster but no colon', () => {
    expect(worker({ QUEUE_PREFIX: '{wh}' }).queuePrefix).toBe('{wh}');
    expect(workerProblems({ QUEUE_PREFIX: 'a:b' })).toHaveLength(1);
  });
});

describe('rules between variables', () => {
  test('the prefix webhook would name a header of Standard Webhooks twice', () => {
    const standard = { STANDARD_WEBHOOKS_HEADERS: 'true' };
    expect(worker(standard)).toMatchObject({ standardWebhooksHeaders: true });
    expect(worker({ ...standard, SIGNATURE_HEADER_PREFIX: 'Webhooks' }).signatureHeaderPrefix).toBe(
      'Webhooks',
    );
    expect(worker({ SIGNATURE_HEADER_PREFIX: 'Webhook' }).signatureHeaderPrefix).toBe('Webhook');
    expect(workerProblems({ ...standard, SIGNATURE_HEADER_PREFIX: 'Webhook' })).toEqual([
      expect.stringContaining('SIGNATURE_HEADER_PREFIX must not be webhook'),
    ]);
  });

  describe('what is for development only', () => {
    const holes = { DELIVERY_ALLOWED_NETWORKS: '127.0.0.1/32', SNS_SIGNING_CERT_FILE: 'a.pem' };

    test.each<[string, Record<string, string>]>([
      ['without NODE_ENV', {}],
      ['with an empty one', { NODE_ENV: '' }],
      ['in production', { NODE_ENV: 'production' }],
      ['in any other environment', { NODE_ENV: 'staging' }],
      ['with other letters', { NODE_ENV: 'Development' }],
    ])('is refused %s', (_, env) => {
      expect(workerProblems({ ...holes, ...env })).toEqual([
        'DELIVERY_ALLOWED_NETWORKS is for development only: it needs NODE_ENV=development or NODE_ENV=test',
      ]);
      expect(problemsOf('api', { ...BASE, ...holes, ...env })).toEqual([
        'SNS_SIGNING_CERT_FILE is for development only: it needs NODE_ENV=development or NODE_ENV=test',
      ]);
      expect(workerProblems(env)).toEqual([]);
    });

    test.each(['development', 'test'])('is allowed with NODE_ENV=%s', (NODE_ENV) => {
      expect(workerProblems({ ...holes, NODE_ENV })).toEqual([]);
      expect(problemsOf('api', { ...BASE, ...holes, NODE_ENV })).toEqual([]);
    });
  });

  test('smtp needs its server, in the process that talks to it', () => {
    expect(workerProblems({ MAIL_PROVIDER: 'smtp' })).toEqual([
      'SMTP_URL is required when MAIL_PROVIDER=smtp',
    ]);
    expect(workerProblems({ MAIL_PROVIDER: 'smtp', SMTP_URL: 'smtp://u:p@mx:25' })).toEqual([]);
    expect(problemsOf('api', { ...BASE, MAIL_PROVIDER: 'smtp' })).toEqual([]);
  });

  test.each(['api', 'worker'] as const)('ses needs its region, in the %s too', (process) => {
    const env = { ...BASE, MAIL_PROVIDER: 'ses' };
    expect(problemsOf(process, env)).toEqual(['AWS_REGION is required when MAIL_PROVIDER=ses']);
    expect(problemsOf(process, { ...env, AWS_REGION: ' ' })).toEqual([
      'AWS_REGION is required when MAIL_PROVIDER=ses',
    ]);
    expect(loadConfig(process, { ...env, AWS_REGION: 'eu-central-1' }).awsRegion).toBe('eu-central-1');
    expect(problemsOf(process, { ...env, AWS_REGION: 'moon-base-1' })).toHaveLength(1);
  });

  test('a configuration set of SES is named as SES names one', () => {
    expect(worker({ SES_CONFIGURATION_SET: 'live_events-1' }).sesConfigurationSet).toBe('live_events-1');
    for (const wrong of ['a b', 'a:b', 'x'.repeat(65)]) {
      expect(workerProblems({ SES_CONFIGURATION_SET: wrong })).toHaveLength(1);
    }
  });

  test('a slow lane with more than half of all slots is refused', () => {
    const env = { DELIVERY_CONCURRENCY: '16', SLOW_LANE_CONCURRENCY: '33' };
    expect(workerProblems(env)).toEqual([
      'SLOW_LANE_CONCURRENCY must be at most twice DELIVERY_CONCURRENCY (got 33 and 16)',
    ]);
    expect(worker({ ...env, SLOW_LANE_CONCURRENCY: '32' }).slowLaneConcurrency).toBe(32);
    expect(worker({ DELIVERY_CONCURRENCY: '16' }).slowLaneConcurrency).toBe(32);
    expect(worker({ DELIVERY_CONCURRENCY: '1000' }).slowLaneConcurrency).toBe(256);
  });

  test('a lease that an attempt could outlast is refused', () => {
    expect(workerProblems({ LEASE_SECONDS: '15' })).toEqual([
      'LEASE_SECONDS must exceed DELIVERY_TIMEOUT_MS by more than 5 s (got 15 s and 10000 ms)',
    ]);
    expect(worker({ LEASE_SECONDS: '16' }).leaseSeconds).toBe(16);
  });

  test('a longer time limit alone moves the lease with it', () => {
    expect(worker({ DELIVERY_TIMEOUT_MS: '60000' }).leaseSeconds).toBe(70);
    expect(worker({ DELIVERY_TIMEOUT_MS: '500' }).leaseSeconds).toBe(30);
    expect(workerProblems({ DELIVERY_TIMEOUT_MS: 'abc' })).toHaveLength(1);
  });
});

describe('the configuration shown at start', () => {
  test('has every value that is set, by variable, without a secret', () => {
    const shown = maskedConfig(
      'worker',
      worker({
        REDIS_URL: 'redis://default:hunter2@r:6379',
        SMTP_URL: 'smtps://mx?proxy=http%3A%2F%2Fu%3Ahunter2%40proxy',
        DELIVERY_TIMEOUT_MS: '2000',
      }),
    );
    expect(shown).toMatchObject({
      DATABASE_URL: 'postgres://app:***@db/postrider',
      REDIS_URL: 'redis://default:***@r:6379',
      SMTP_URL: '***',
      SECRETS_KEY: '***',
      DELIVERY_TIMEOUT_MS: 2000,
    });
    expect(shown).not.toHaveProperty('AWS_REGION');
    expect(JSON.stringify(shown)).not.toMatch(/hunter2|BwcH/);
  });
});
