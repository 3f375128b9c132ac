import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, loadConfig } from '../load.ts';
import type { Environment } from '../setting.ts';

const BASE: Environment = { DATABASE_URL: 'postgres://app:pw@db/postrider' };

const inbound = (env: Environment = {}) => loadConfig('inbound', { ...BASE, ...env });

function problemsOf(env: Environment): readonly string[] {
  try {
    inbound(env);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}

describe('the process that receives mail', () => {
  test('needs only DATABASE_URL', () => {
    expect(inbound()).toMatchObject({
      inboundSmtpHost: '127.0.0.1',
      inboundSmtpPort: 2525,
      inboundProtocol: 'smtp',
      metricsPort: 9103,
      inboundDomains: undefined,
      inboundTlsCertFile: undefined,
      inboundTlsKeyFile: undefined,
      dnsServers: [],
      inboundClamd: undefined,
      inboundRspamd: undefined,
      inboundSpamThreshold: undefined,
      inboundScreeningRequired: true,
      blobStore: 'file:.data/blobs',
    });
    expect(loadConfig('relay', BASE)).toMatchObject({ inboundRetentionDays: 30 });
  });

  test('reads lists, addresses of scanners, and a score', () => {
    const env = {
      INBOUND_DOMAINS: 'in.example, xn--bcher-kva.example',
      DNS_SERVERS: '127.0.0.1:5353,[::1]:65535',
      INBOUND_CLAMD: 'unix:/run/clamd.sock',
      INBOUND_RSPAMD: 'rspamd:11333',
      INBOUND_SPAM_THRESHOLD: '7.5',
      INBOUND_SCREENING_REQUIRED: 'false',
      INBOUND_PROTOCOL: 'lmtp',
    };
    expect(inbound(env)).toMatchObject({
      inboundDomains: ['in.example', 'xn--bcher-kva.example'],
      dnsServers: ['127.0.0.1:5353', '[::1]:65535'],
      inboundClamd: { path: '/run/clamd.sock' },
      inboundRspamd: { host: 'rspamd', port: 11333 },
      inboundSpamThreshold: 7.5,
      inboundScreeningRequired: false,
      inboundProtocol: 'lmtp',
    });
  });

  test.each([
    ['INBOUND_DOMAINS', 'In.example'],
    ['INBOUND_DOMAINS', 'b\u00fccher.example'],
    ['INBOUND_DOMAINS', 'in.example;other.example'],
    ['INBOUND_DOMAINS', '192.0.2.25'],
    ['DNS_SERVERS', '127.0.0.1'],
    ['DNS_SERVERS', 'unbound:53'],
    ['DNS_SERVERS', '127.0.0.1:53,localhost:53'],
    ['DNS_SERVERS', '127.0.0.1:0'],
    ['DNS_SERVERS', '127.0.0.1:65536'],
    ['DNS_SERVERS', '[::zz]:53'],
    ['DNS_SERVERS', '[:::]:53'],
    ['INBOUND_CLAMD', 'clamd:65536'],
    ['INBOUND_RSPAMD', 'rspamd:0'],
    ['INBOUND_CLAMD', 'clamd'],
    ['INBOUND_RSPAMD', 'http://rspamd:11333'],
    ['INBOUND_RSPAMD', 'unix:/run/rspamd.sock'],
    ['INBOUND_SPAM_THRESHOLD', 'high'],
    ['INBOUND_SCREENING_REQUIRED', 'no'],
    ['INBOUND_PROTOCOL', 'smtps'],
    ['INBOUND_SMTP_PORT', '65536'],
    ['BLOB_STORE', '/var/blobs'],
    ['BLOB_STORE', 'file://host/var/blobs'],
    ['BLOB_STORE', 's3://bucket/a//b'],
    ['BLOB_STORE', 's3://bu..cket'],
  ])('does not start with %s=%s', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name} must be `))]);
  });

  test.each(['INBOUND_TLS_CERT_FILE', 'INBOUND_TLS_KEY_FILE'])('does not start with %s alone', (name) => {
    expect(problemsOf({ [name]: '/etc/mail.pem' })).toEqual([
      'INBOUND_TLS_CERT_FILE and INBOUND_TLS_KEY_FILE are set together or not at all',
    ]);
  });
});

/** The API compares them with names in lower case: another one would reserve nothing. */
test.each(['Sales', 'a b', 'a@b', 'a,,b'])(
  'an API does not start with INBOUND_RESERVED_NAMES=%s',
  (value) => {
    const env = { ...BASE, SECRETS_KEY: Buffer.alloc(32).toString('base64'), INBOUND_RESERVED_NAMES: value };
    expect(() => loadConfig('api', env)).toThrow(/: INBOUND_RESERVED_NAMES must be .* in lower case/);
  },
);
