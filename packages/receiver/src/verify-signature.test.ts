import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { parseEvent, SignatureVerificationError, verifySignature } from './index.ts';
import type { SignedRequest } from './index.ts';

const secret = 'whsec_dGhpcyBpcyBhIHRlc3Qgc2VjcmV0IG9mIDMyIGI';
const otherSecret = 'whsec_b3RoZXI';
const body = '{"id":"evt_1","type":"email.sent","subject":"acct_1","data":{"subject":"Grüße 🎉"}}';
const t = 1_795_169_730;
const now = new Date(t * 1000);

function hex(
  signedWith: string,
  timestamp: string | number = t,
  signedBody: string | Uint8Array = body,
): string {
  return createHmac('sha256', signedWith).update(`${timestamp}.`).update(signedBody).digest('hex');
}
const header = `t=${t},v1=${hex(secret)}`;

/** `accepted`, or the reason of the refusal. */
function verdict(change: Partial<SignedRequest>): string {
  try {
    verifySignature({ header, body, secret, now, ...change });
    return 'accepted';
  } catch (error) {
    if (error instanceof SignatureVerificationError) return error.reason;
    throw error;
  }
}

describe('a request that the service signed is accepted', () => {
  test('with the published example: one t, one v1, the whole secret as the key', () => {
    // printf '%s' '1700000000.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_example
    const example = 't=1700000000,v1=2f6f24854ba5c8d505c37e6fc0a06fc74456f1a4042208e7acdd4bd0bdbd599e';
    expect(
      verdict({
        header: example,
        body: '{"id":"evt_1"}',
        secret: 'whsec_example',
        now: new Date(1_700_000_000_000),
      }),
    ).toBe('accepted');
  });

  test.each<[string, Partial<SignedRequest>]>([
    ['as a string', {}],
    ['as a Buffer', { body: Buffer.from(body) }],
    ['as a Uint8Array', { body: new TextEncoder().encode(body) }],
    ['as a view into a larger buffer', { body: Buffer.from(`xx${body}xx`).subarray(2, -2) }],
  ])('with the body %s', (_form, change) => {
    expect(verdict(change)).toBe('accepted');
  });

  test('with an empty body, and with bytes that are no UTF-8', () => {
    expect(verdict({ body: '', header: `t=${t},v1=${hex(secret, t, '')}` })).toBe('accepted');
    const bytes = Uint8Array.from([0, 255, 254, 10]);
    expect(verdict({ body: bytes, header: `t=${t},v1=${hex(secret, t, bytes)}` })).toBe('accepted');
  });

  test('when any one of several v1 matches', () => {
    const [good, bad] = [hex(secret), hex(otherSecret)];
    expect(verdict({ header: `t=${t},v1=${bad},v1=${good}` })).toBe('accepted');
    expect(verdict({ header: `t=${t},v1=${good},v1=${bad}` })).toBe('accepted');
    expect(verdict({ header: `v1=${bad},v1=${good},t=${t}` })).toBe('accepted');
  });

  test('when a v1 of another form stands beside one that matches', () => {
    for (const other of ['', 'zz', hex(secret).slice(1), hex(secret).toUpperCase()]) {
      expect(verdict({ header: `t=${t},v1=${other},v1=${hex(secret)}` })).toBe('accepted');
      expect(verdict({ header: `t=${t},v1=${hex(secret)},v1=${other}` })).toBe('accepted');
    }
  });

  test('with a time in the form in which the header has it', () => {
    expect(verdict({ header: `t=0${t},v1=${hex(secret, `0${t}`)}` })).toBe('accepted');
  });

  test('when any one of several secrets made it', () => {
    expect(verdict({ secret: [otherSecret, secret] })).toBe('accepted');
    expect(verdict({ secret: [secret, otherSecret] })).toBe('accepted');
  });

  test('whatever other entries the header holds, with or without spaces, in one header or two', () => {
    expect(verdict({ header: `t=${t}, v0=zz, v2=abc, v1=${hex(secret)}, x` })).toBe('accepted');
    expect(verdict({ header: [`t=${t}`, `v1=${hex(secret)}`] })).toBe('accepted');
  });
});

describe('a request without proof is refused', () => {
  test.each<[string | string[] | null | undefined]>([[undefined], [null], [''], [[]], [['']]])(
    'no header: %j',
    (none) => {
      expect(verdict({ header: none })).toBe('no-header');
    },
  );

  const good = hex(secret);
  test.each([
    'nonsense',
    ',',
    `v1=${good}`,
    `t=,v1=${good}`,
    `t=${t}`,
    `t=${t},v1=`,
    `t=${t},v1=${good.slice(0, -1)}`,
    `t=${t},v1=${good}00`,
    `t=${t},v1=${good.slice(0, -1)}g`,
    `t=${t},v1=${good.toUpperCase()}`,
    `t=${t},v1=zz,v1=${good.toUpperCase()}`,
    `t=${t},t=${t},v1=${good}`,
    `t=${t},t=${t + 1},v1=${good}`,
    `t=-${t},v1=${good}`,
    `t=+${t},v1=${good}`,
    `t=${t}.0,v1=${good}`,
    `t=0x6b000000,v1=${good}`,
    `t=1e9,v1=${good}`,
    `t= ${t},v1=${good}`,
    `t=NaN,v1=${good}`,
    `t=${'9'.repeat(13)},v1=${good}`,
    `T=${t},V1=${good}`,
    `t=${t};v1=${good}`,
  ])('malformed: %s', (malformed) => {
    expect(verdict({ header: malformed })).toBe('malformed');
  });

  test.each<[string, Partial<SignedRequest>]>([
    ['another secret', { secret: otherSecret }],
    ['a secret without its prefix', { secret: secret.slice('whsec_'.length) }],
    ['one byte more in the body', { body: `${body} ` }],
    ['a body parsed and written again', { body: JSON.stringify(JSON.parse(body), null, 1) }],
    ['another time in the header', { header: `t=${t + 1},v1=${hex(secret)}` }],
    ['a time with a leading zero, signed without it', { header: `t=0${t},v1=${hex(secret)}` }],
    ['a v1 of another form beside one of another secret', { header: `t=${t},v1=zz,v1=${hex(otherSecret)}` }],
    [
      'a signature of the body alone',
      { header: `t=${t},v1=${createHmac('sha256', secret).update(body).digest('hex')}` },
    ],
    ['a signature made with an empty secret', { header: `t=${t},v1=${hex('')}` }],
  ])('no match: %s', (_what, change) => {
    expect(verdict(change)).toBe('no-match');
  });
});

describe('the time window has two sides', () => {
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000);

  test.each<[number, number | undefined, string]>([
    [300, undefined, 'accepted'],
    [301, undefined, 'timestamp-outside-window'],
    [-300, undefined, 'accepted'],
    [-301, undefined, 'timestamp-outside-window'],
    [10, 10, 'accepted'],
    [11, 10, 'timestamp-outside-window'],
    [0, 0, 'accepted'],
    [1, 0, 'timestamp-outside-window'],
    [0, Number.NaN, 'timestamp-outside-window'],
    [0, -1, 'timestamp-outside-window'],
  ])('our clock %d s ahead, tolerance %s: %s', (ahead, toleranceSeconds, expected) => {
    expect(verdict({ now: at(ahead), ...(toleranceSeconds === undefined ? {} : { toleranceSeconds }) })).toBe(
      expected,
    );
  });

  test('a forged request is a forgery first, however old', () => {
    expect(verdict({ now: at(9999), secret: otherSecret })).toBe('no-match');
  });

  test('a broken clock refuses', () => {
    expect(verdict({ now: new Date(Number.NaN) })).toBe('timestamp-outside-window');
  });

  test('the system clock is used when none is given', () => {
    const seconds = Math.floor(new Date().getTime() / 1000);
    verifySignature({ header: `t=${seconds},v1=${hex(secret, seconds)}`, body, secret });
    expect(() => verifySignature({ header, body, secret, toleranceSeconds: 0 })).toThrow(
      SignatureVerificationError,
    );
  });
});

describe('a wrong call is told apart from a wrong request', () => {
  test.each([undefined, '', [], [''], [secret, ''], [undefined]])('secret %j', (wrong) => {
    expect(() => verifySignature({ header, body, now, secret: wrong as string })).toThrow(TypeError);
  });

  test.each([undefined, null, {}, JSON.parse(body) as object])('body %j', (wrong) => {
    expect(() => verifySignature({ header, secret, now, body: wrong as unknown as string })).toThrow(
      TypeError,
    );
  });
});

describe('parseEvent', () => {
  test('returns the event of a request that is to be believed', () => {
    expect(parseEvent({ header, body: Buffer.from(body), secret, now })).toEqual(JSON.parse(body));
    expect(parseEvent({ header, body, secret, now }).id).toBe('evt_1');
  });

  test('parses nothing before it is believed', () => {
    expect(() => parseEvent({ header, body: 'not JSON', secret, now })).toThrow(SignatureVerificationError);
  });
});
