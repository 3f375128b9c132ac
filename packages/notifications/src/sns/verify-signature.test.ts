import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  createSnsSigner,
  createTestAuthority,
  fakeClock,
  runs,
  type SnsFields,
  type SnsSigner,
} from '@postrider/testing';
import fc from 'fast-check';
import { envelopes, unsubscribeConfirmation } from '../../test/samples.ts';
import { parseSnsEnvelope, type SnsEnvelope } from './envelope.ts';
import { certificateFromPem, type SigningCertificates } from './signing-certificates.ts';
import { verifySnsSignature } from './verify-signature.ts';

const clock = fakeClock('2026-11-20T12:00:00.000Z');
const validity = { notBefore: new Date('2026-11-01T00:00:00Z'), notAfter: new Date('2026-12-01T00:00:00Z') };
const { notification, plainText, subscriptionConfirmation } = envelopes;

let signer: SnsSigner;
let certificates: SigningCertificates;

beforeAll(async () => {
  signer = await createSnsSigner(validity);
  certificates = certificateFromPem(signer.certPem);
});

/** A field that is undefined is left out. */
function envelopeOf(fields: Record<string, string | undefined>): SnsEnvelope {
  const parsed = parseSnsEnvelope(Buffer.from(JSON.stringify(fields)));
  if (parsed.kind !== 'envelope') throw new Error(parsed.why);
  return parsed.envelope;
}

function verdictOn(fields: Record<string, string | undefined>) {
  return verifySnsSignature(envelopeOf(fields), { certificates, clock });
}

describe.each(['1', '2'] as const)('signature version %s', (version) => {
  test.each([
    ['a notification', notification],
    ['a notification without subject', plainText],
    ['a subscription confirmation', subscriptionConfirmation],
    ['an unsubscribe confirmation', unsubscribeConfirmation],
    [
      'a notification in many scripts',
      { ...notification, Message: 'zażółć 消息 \u{1f4ec}\r\n', Subject: 'Ünïcode' },
    ],
    ['a notification with an empty subject', { ...notification, Subject: '' }],
    ['a notification with an empty message', { ...notification, Message: '' }],
  ])('of %s is verified', async (_, fields) => {
    expect(await verdictOn(signer.sign(fields, version))).toEqual({ kind: 'verified' });
  });

  test('does not pass for the other one', async () => {
    const other = version === '1' ? '2' : '1';
    const swapped = { ...signer.sign(notification, version), SignatureVersion: other };
    expect(await verdictOn(swapped)).toMatchObject({ kind: 'bad_signature' });
  });
});

describe('a signature is bad', () => {
  test('when another key made it', async () => {
    const stranger = await createSnsSigner(validity);
    expect(await verdictOn(stranger.sign(notification))).toMatchObject({ kind: 'bad_signature' });
  });

  test.each([
    ['no base64', 'EXAMPLE-BASE64-SIGNATURE=='],
    ['one byte', 'AA=='],
    ['as long as the key and empty', Buffer.alloc(256).toString('base64')],
    ['longer than the key', Buffer.alloc(3000, 1).toString('base64')],
  ])('when it is %s', async (_, Signature) => {
    const fields = { ...signer.sign(notification), Signature };
    expect(await verdictOn(fields)).toMatchObject({ kind: 'bad_signature' });
  });

  test('when a subject is added to what was signed without one', async () => {
    const fields = { ...signer.sign(plainText), Subject: 'added' };
    expect(await verdictOn(fields)).toMatchObject({ kind: 'bad_signature' });
  });

  test('when the subject is taken from what was signed with one', async () => {
    const fields = { ...signer.sign(notification), Subject: undefined };
    expect(await verdictOn(fields)).toMatchObject({ kind: 'bad_signature' });
  });

  test('when one confirmation is made into the other', async () => {
    const fields = { ...signer.sign(subscriptionConfirmation), Type: 'UnsubscribeConfirmation' };
    expect(await verdictOn(fields)).toMatchObject({ kind: 'bad_signature' });
  });
});

describe('any change', () => {
  const messages = [notification, plainText, subscriptionConfirmation, unsubscribeConfirmation];
  const unsigned = /^(Signature|SignatureVersion|SigningCertURL|UnsubscribeURL)$/;
  const places = messages.flatMap((fields, index) =>
    Object.keys(fields)
      .filter((name) => !unsigned.test(name))
      .map((name) => ({ index, name })),
  );

  const character = fc.oneof(
    fc.constantFrom('\n', '\u0000', '\ud83d', '\ufffd'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  );
  /** A change of a text in one place: characters put in, taken out or replaced. */
  const edits = fc
    .record({ at: fc.nat(), removed: fc.nat(2), inserted: fc.string({ unit: character, maxLength: 2 }) })
    .map(({ at, removed, inserted }) => (text: string) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + inserted + text.slice(start + removed);
    });

  test.each(['1', '2'] as const)(
    'of a field that version %s signs, however small, breaks the signature or the envelope',
    async (version) => {
      const signed = messages.map((fields) => signer.sign(fields, version));
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...places), edits, async ({ index, name }, edit) => {
          const before = signed[index]?.[name] ?? '';
          const after = edit(before);
          fc.pre(after !== before);
          const changed = { ...signed[index], [name]: after };
          const parsed = parseSnsEnvelope(Buffer.from(JSON.stringify(changed)));
          if (parsed.kind === 'bad_envelope') return;
          const verdict = await verifySnsSignature(parsed.envelope, { certificates, clock });
          expect(verdict.kind).toBe('bad_signature');
        }),
        { numRuns: runs({ usual: 300, long: 20_000 }) },
      );
    },
  );

  test('of half a character into the sign that stands for it breaks the envelope, for both are the same bytes', async () => {
    const signed = signer.sign({ ...notification, Message: 'a \ufffd b' });
    expect(await verdictOn(signed)).toEqual({ kind: 'verified' });
    const changed = Buffer.from(JSON.stringify({ ...signed, Message: 'a \ud83d b' }));
    expect(parseSnsEnvelope(changed)).toMatchObject({ kind: 'bad_envelope' });
  });

  test('of the borders between signed fields breaks the signature or the envelope', async () => {
    // The message runs on into what were the fields behind it: the signed text is the same byte for byte.
    const signed = signer.sign({ ...notification, Message: 'A\nMessageId\nforged\nSubject\nB' });
    const forgeries: SnsFields[] = [
      {
        ...signed,
        Message: 'A',
        MessageId: `forged\nSubject\nB\nMessageId\n${notification['MessageId'] ?? ''}`,
      },
      {
        ...signed,
        Message: 'A',
        MessageId: 'forged',
        Subject: `B\nMessageId\n${notification['MessageId'] ?? ''}`,
      },
    ];
    for (const forgery of forgeries) {
      expect(parseSnsEnvelope(Buffer.from(JSON.stringify(forgery)))).toMatchObject({ kind: 'bad_envelope' });
    }
    expect(await verdictOn(signed)).toEqual({ kind: 'verified' });
  });
});

describe('the certificate', () => {
  test.each([
    'https://example.invalid/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
    'https://sns.s3-us-west-2.amazonaws.com/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
    'https://sns.us-east-1.amazonaws.com/evil.pem',
    'file:///etc/passwd',
    '',
  ])('at %j is not trusted, though a file replaces the fetch and its key made the signature', async (url) => {
    const fields = { ...signer.sign(notification), SigningCertURL: url };
    expect(await verdictOn(fields)).toEqual({
      kind: 'untrusted_certificate',
      why: 'SigningCertURL is not an address of SNS',
    });
  });

  test.each([
    ['before its first moment', '2026-10-31T23:59:59.000Z', 'the certificate is not yet valid'],
    ['after its last moment', '2026-12-01T00:00:01.000Z', 'the certificate has expired'],
  ])('is not trusted %s', async (_, now, why) => {
    const verdict = await verifySnsSignature(envelopeOf(signer.sign(notification)), {
      certificates,
      clock: fakeClock(now),
    });
    expect(verdict).toEqual({ kind: 'untrusted_certificate', why });
  });

  test.each(['2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'])('is trusted at %s', async (now) => {
    const at = { certificates, clock: fakeClock(now) };
    expect(await verifySnsSignature(envelopeOf(signer.sign(notification)), at)).toEqual({ kind: 'verified' });
  });

  test('that cannot be had leaves the signature open', async () => {
    const none: SigningCertificates = {
      find: async () => ({ kind: 'unavailable', why: 'timeout after 5000 ms' }),
    };
    const verdict = await verifySnsSignature(envelopeOf(signer.sign(notification)), {
      certificates: none,
      clock,
    });
    expect(verdict).toEqual({ kind: 'unavailable', why: 'signing certificate: timeout after 5000 ms' });
  });

  test('in a file must be one, of RSA', async () => {
    const { certPem, keyPem } = await (await createTestAuthority()).issue({ names: ['sns.test'] });
    for (const pem of ['', 'no certificate', keyPem, certPem]) {
      expect(() => certificateFromPem(pem)).toThrow('it holds no RSA certificate in PEM');
    }
  });
});
