import { describe, expect, test } from '@jest/globals';
import type { WebhookId } from './ids.ts';
import { createSecretBox } from './secret-box.ts';
import { openHeaders, sealHeaders, webhookHeaderFault } from './webhook-headers.ts';

const SERVICE = 'is set by the service';
const VALUE = 'is not a header value of visible ASCII characters';
const fault = (written: unknown, prefix = 'Service') => webhookHeaderFault(written, prefix);
const many = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-${n}`, 'v']));

test('what gateways ask for is allowed: credentials, keys, cookies and names of any form', () => {
  const headers = {
    Authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln',
    'x-api-key': 'k/+=&"\'\\;,',
    Cookie: 'a=b; c=d',
    'X-Forwarded-For': 'a\tb  c',
    constructor: 'a',
    'x_under.score~': '',
    '1': '1',
  };
  expect(fault(headers)).toBeNull();
  expect(fault({})).toBeNull();
});

describe('a name that the service, the connection or the body needs is refused, however it is spelled', () => {
  test.each([
    'Service-Signature',
    'Service-Event-Id',
    'Service-Event-Type',
    'Webhook-Id',
    'Webhook-Timestamp',
    'Webhook-Signature',
    'Content-Type',
    'Content-Length',
    'Content-Encoding',
    'User-Agent',
    'Accept-Encoding',
    'Host',
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authenticate',
    'Proxy-Authorization',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'HTTP2-Settings',
    'Expect',
  ])('%s', (name) => {
    for (const spelled of [name, name.toLowerCase(), name.toUpperCase()]) {
      expect(fault({ 'X-A': 'a', [spelled]: 'b' })).toEqual({ name: spelled, message: SERVICE });
    }
  });

  test('our own names follow the prefix, and no other name with the prefix is refused', () => {
    expect(fault({ 'x-signature': 'a' }, 'X')).toEqual({ name: 'x-signature', message: SERVICE });
    expect(fault({ 'x-api-key': 'a', 'service-signature': 'a' }, 'X')).toBeNull();
  });
});

describe('what is no header is refused', () => {
  test.each([null, 'X-A: b', ['X-A'], 42, true])('%j is no object', (written) => {
    expect(fault(written)).toEqual({ name: null, message: 'is not an object of strings' });
  });

  test.each(['', 'a b', 'a:', ':path', 'a\r\nb', 'ä', '__proto__', '-a', 'a\0'])('the name %j', (name) => {
    const written: unknown = JSON.parse(`{${JSON.stringify(name)}:"x"}`);
    expect(fault(written)).toEqual({ name, message: 'is not a valid header name' });
  });

  test.each(['a\nb', 'a\r', '\r\nX-B: c', 'a\0', ' a', 'a ', '\ta', 'ä', '\u007f', '\ud83d'])(
    'the value %j',
    (value) => {
      expect(fault({ 'X-A': value })).toEqual({ name: 'X-A', message: VALUE });
    },
  );

  test.each([null, 1, ['a'], {}])('the value %j is no string', (value) => {
    expect(fault({ 'X-A': value })).toEqual({ name: 'X-A', message: 'is not a string' });
  });

  test('one name in two spellings', () => {
    expect(fault({ 'X-A': '1', 'X-B': '2', 'x-a': '1' })).toEqual({ name: 'x-a', message: 'is given twice' });
  });
});

test('ten headers are allowed, eleven are not', () => {
  expect(fault(many(10))).toBeNull();
  expect(fault(many(11))).toEqual({ name: null, message: 'has more than 10 headers' });
});

test('names and values have 8,192 characters together, and no more', () => {
  const half = 'v'.repeat(4_093);
  expect(fault({ 'X-A': half, 'X-B': half })).toBeNull();
  expect(fault({ 'X-A': half, 'X-B': `${half}v` })).toEqual({
    name: null,
    message: 'has more than 8192 characters',
  });
});

test('no fault contains a value', () => {
  for (const written of ['secret\n', ['secret'], { a: 'secret\n' }, { 'a b': 'secret' }, { a: ['secret'] }]) {
    const found = fault(written);
    expect(found).not.toBeNull();
    expect(JSON.stringify(found)).not.toContain('secret');
  }
});

test('sealed headers open for their webhook alone, and never as its signing secret', () => {
  const box = createSecretBox([Buffer.alloc(32, 1)]);
  const id = 'wh_1' as WebhookId;
  const headers = { 'X-B': 'b', 'x-a': 'a' };
  const sealed = sealHeaders(box, headers, id);
  expect(openHeaders(box, sealed, id)).toEqual(headers);
  expect(() => openHeaders(box, sealed, 'wh_2' as WebhookId)).toThrow();
  expect(() => box.open(sealed, id)).toThrow();
  expect(Buffer.from(sealed.sealed).includes('X-B')).toBe(false);
});
