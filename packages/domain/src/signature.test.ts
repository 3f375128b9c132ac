import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { envelopeBytes } from './envelope.ts';
import type { EventId } from './ids.ts';
import { newSigningSecret, signatureHeader, standardSecret, standardWebhooksHeaders } from './signature.ts';

const at = new Date('2026-11-20T10:15:30.999Z');
const t = 1_795_169_730;
const body = envelopeBytes({
  id: 'evt_01jd0000000000000000000001' as EventId,
  type: 'email.sent',
  subject: 'acct_1',
  createdAt: at,
  data: '{"email_id":"em_1","from":"a@example.com","subject":"Grüße 🎉","error":null}',
});

test('the header is t=<whole unix seconds>,v1=<64 lower-case hexadecimal digits>', () => {
  expect(signatureHeader('whsec_x', body, at)).toMatch(new RegExp(`^t=${t},v1=[0-9a-f]{64}$`));
});

test('the key is the whole secret as text: this header is what OpenSSL computes', () => {
  // printf '%s' '1700000000.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_example
  expect(signatureHeader('whsec_example', Buffer.from('{"id":"evt_1"}'), new Date(1_700_000_000_000))).toBe(
    't=1700000000,v1=2f6f24854ba5c8d505c37e6fc0a06fc74456f1a4042208e7acdd4bd0bdbd599e',
  );
});

test('every attempt is signed afresh: another second, another header', () => {
  const secret = newSigningSecret();
  expect(signatureHeader(secret, body, new Date(at.getTime() + 1000))).not.toBe(
    signatureHeader(secret, body, at),
  );
});

describe("Stripe's own verifier, which knows nothing of us,", () => {
  const stripe = new Stripe('sk_test_unused');
  const secret = newSigningSecret();
  const seconds = t;
  const verify = (bytes: Buffer, header: string, key: string, receivedAt = seconds): unknown =>
    stripe.webhooks.constructEvent(bytes, header, key, 300, undefined, receivedAt * 1000);

  test('accepts our header over the bytes we send', () => {
    expect(verify(body, signatureHeader(secret, body, at), secret)).toEqual(
      JSON.parse(body.toString('utf8')),
    );
  });

  test('refuses a changed body, another secret, and a header older than its window', () => {
    const header = signatureHeader(secret, body, at);
    expect(() => verify(Buffer.concat([body, Buffer.from(' ')]), header, secret)).toThrow(
      'No signatures found',
    );
    expect(() => verify(body, header, newSigningSecret())).toThrow('No signatures found');
    expect(() => verify(body, header, secret, seconds + 301)).toThrow('tolerance');
  });

  test('accepts our header for any JSON object, any secret of our form and any time', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc
          .uint8Array({ minLength: 32, maxLength: 32 })
          .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64url')}`),
        fc.integer({ min: 1, max: 4_102_444_800 }),
        (value, key, second) => {
          const bytes = Buffer.from(JSON.stringify(value));
          const header = signatureHeader(key, bytes, new Date(second * 1000 + 1));
          expect(verify(bytes, header, key, second)).toEqual(JSON.parse(bytes.toString('utf8')));
        },
      ),
    );
  });
});

test('a signing secret is whsec_ and 32 random bytes in URL-safe text', () => {
  expect(newSigningSecret()).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
  expect(new Set(Array.from({ length: 100 }, newSigningSecret)).size).toBe(100);
});

describe('the library of Standard Webhooks', () => {
  const secret = newSigningSecret();
  const library = new Webhook(standardSecret(secret));
  const id = 'evt_01jd0000000000000000000001' as EventId;
  const now = new Date();
  const headers = standardWebhooksHeaders(secret, { id, body, at: now });

  test('accepts our headers over the bytes we send, with the standard secret', () => {
    expect(library.verify(body, headers)).toEqual(JSON.parse(body.toString()));
  });

  test('refuses a changed body, another id, another time, another secret and an old header', () => {
    const changed = Buffer.concat([body, Buffer.from(' ')]);
    expect(() => library.verify(changed, headers)).toThrow('No matching signature');
    expect(() => library.verify(body, { ...headers, 'webhook-id': 'evt_2' })).toThrow('No matching');
    const second = String(Number(headers['webhook-timestamp']) - 1);
    expect(() => library.verify(body, { ...headers, 'webhook-timestamp': second })).toThrow('No matching');
    expect(() => new Webhook(standardSecret(newSigningSecret())).verify(body, headers)).toThrow(
      'No matching',
    );
    const old = standardWebhooksHeaders(secret, { id, body, at: new Date(now.getTime() - 301_000) });
    expect(() => library.verify(body, old)).toThrow('too old');
  });

  test('decodes the standard secret of any secret to the bytes of its text', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (text) => {
        const signed = standardWebhooksHeaders(text, { id, body, at: now });
        expect(new Webhook(standardSecret(text)).verify(body, signed)).toEqual(JSON.parse(body.toString()));
      }),
    );
  });
});
