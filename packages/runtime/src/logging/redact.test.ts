import { describe, expect, test } from '@jest/globals';
import { maskSecrets, redact, REDACTED } from './redact.ts';

const field = (value: unknown) => redact('field', value);

describe('by name', () => {
  test.each([
    'authorization',
    'Authorization',
    'Proxy-Authorization',
    'cookie',
    'set-cookie',
    'api_key',
    'apiKey',
    'x-api-key',
    'key',
    'keys',
    'secret',
    'signing_secret',
    'signingSecret',
    'standard_secret',
    'SECRETS_KEY',
    'secretsKey',
    'password',
    'token',
    'unsubscribe_token',
    'x-amz-security-token',
    'X-Vault-Token',
    'accessToken',
    'passphrase',
    'credential',
    'credentials',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'aws_session_token',
    'body',
    'data',
  ])('%s is redacted, whatever it holds', (name) => {
    expect(redact(name, 'x')).toBe(REDACTED);
    expect(redact(name, { a: 1 })).toBe(REDACTED);
    expect(field({ list: [{ [name]: ['x'] }] })).toEqual({ list: [{ [name]: REDACTED }] });
    expect(field(new Map([[name, 'x']]))).toEqual({ [name]: REDACTED });
  });

  test.each(['key_id', 'idempotency', 'tokenizer', 'AWSOME', 'database', 'body_bytes', 'keyboard'])(
    '%s is not',
    (name) => {
      expect(redact(name, 'x')).toBe('x');
    },
  );

  test('a missing secret stays missing, and a masked one stays masked', () => {
    expect(redact('secret', null)).toBeNull();
    expect(redact('secret', undefined)).toBeUndefined();
    expect(redact('SECRETS_KEY', '***')).toBe('***');
  });
});

describe('by its form, inside any text', () => {
  test.each([
    ['whsec_AbC-12_z', 'whsec_[redacted]'],
    ['whsec_d2+z/Q==', 'whsec_[redacted]'],
    ['Bearer pr_live_abc.', 'Bearer pr_live_[redacted].'],
    ['pr_console_x-Y', 'pr_console_[redacted]'],
    ['two: pr_test_a and pr_test_b', 'two: pr_test_[redacted] and pr_test_[redacted]'],
    ['GET /u/AbC-12.z~x_ 200', 'GET /u/[redacted] 200'],
    ['<https://mail.example/u/AbC?x=1>', '<https://mail.example/u/[redacted]?x=1>'],
    ['env AWS_SECRET_ACCESS_KEY=a/b+c= set', 'env AWS_SECRET_ACCESS_KEY=[redacted] set'],
    ['{"AWS_SESSION_TOKEN": "a b"}', '{"AWS_SESSION_TOKEN": [redacted]}'],
    [
      String.raw`"{\"AWS_SESSION_TOKEN\":\"a b\",\"x\":1}"`,
      String.raw`"{\"AWS_SESSION_TOKEN\":[redacted],\"x\":1}"`,
    ],
    [String.raw`"{\\\"AWS_SESSION_TOKEN\\\": \\\"a/b"`, String.raw`"{\\\"AWS_SESSION_TOKEN\\\": [redacted]`],
    ['{"AWS_SESSION_TOKEN": "cut', '{"AWS_SESSION_TOKEN": [redacted]'],
    ['at redis://u:p@r', 'at redis://u:***@r'],
    ['db?password=x', 'db?password=***'],
    ['/path?Password=x&SSLPASSWORD=y', '/path?Password=***&SSLPASSWORD=***'],
  ])('%j is written as %j', (text, shown) => {
    expect(field(text)).toBe(shown);
    expect(field([{ deep: text }])).toEqual([{ deep: shown }]);
  });

  test('even where the cut of a long text would halve it', () => {
    const secret = `redis://u:${'p'.repeat(100)}@r`;
    for (let before = 8100; before < 8200; before += 7) {
      expect(maskSecrets(`${'.'.repeat(before)}${secret}`)).not.toContain('pp');
    }
  });
});

describe('errors', () => {
  test('name, message, stack, code and cause', () => {
    const error = Object.assign(new TypeError('bad', { cause: new Error('deeper') }), { code: 'E_BAD' });
    expect(field(error)).toEqual({
      name: 'TypeError',
      message: 'bad',
      stack: expect.stringMatching(/^TypeError: bad\n {4}at /),
      code: 'E_BAD',
      cause: { name: 'Error', message: 'deeper', stack: expect.any(String) },
    });
  });

  test('a secret in message or stack is masked', () => {
    expect(JSON.stringify(field(new Error('pr_live_x7 refused')))).not.toContain('x7');
  });

  test('other properties of an error are left out: libraries attach requests and bodies', () => {
    expect(field(Object.assign(new Error('x'), { request: { body: 'secret' } }))).not.toHaveProperty(
      'request',
    );
  });
});

describe('every value can be written', () => {
  test.each([
    ['bigint', 2n ** 64n, '18446744073709551616'],
    ['NaN', NaN, 'NaN'],
    ['Infinity', Infinity, 'Infinity'],
    ['Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['invalid Date', new Date(NaN), null],
    ['URL', new URL('smtp://u:p@mx/'), 'smtp://u:***@mx/'],
    ['Buffer', Buffer.from('secret'), '[6 bytes]'],
    ['Set', new Set(['a']), ['a']],
    ['function', () => 1, undefined],
    ['symbol', Symbol('x'), undefined],
    ['undefined', undefined, undefined],
    ['true', true, true],
  ])('%s', (_what, value, written) => {
    expect(field(value)).toEqual(written);
  });

  test('cycles end, and large values are cut', () => {
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(JSON.stringify(field(loop))).toContain('[too deep]');
    expect(field(Array(1000).fill(0))).toHaveLength(101);
    expect(Object.keys(field(Object.fromEntries(Array(1000).entries())) as object)).toHaveLength(101);
    expect((field('x'.repeat(1_000_000)) as string).length).toBeLessThan(10_000);
  });
});
