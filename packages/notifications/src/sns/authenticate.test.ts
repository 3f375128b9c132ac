import { beforeAll, describe, expect, test } from '@jest/globals';
import { createSnsSigner, fakeClock, type SnsFields, type SnsSigner } from '@postrider/testing';
import { envelopes } from '../../test/samples.ts';
import { authenticateSns, type SnsReception, type SnsTrust } from './authenticate.ts';
import { certificateFromPem, fetchedCertificates } from './signing-certificates.ts';

const { notification } = envelopes;
const topic = notification['TopicArn'] ?? '';
const clock = fakeClock();

let signer: SnsSigner;
let trust: SnsTrust;

beforeAll(async () => {
  const always = { notBefore: new Date('2020-01-01'), notAfter: new Date('2030-01-01') };
  signer = await createSnsSigner(always);
  trust = {
    topics: new Set([topic]),
    certificates: certificateFromPem(signer.certPem),
    clock,
    allowSha1: false,
  };
});

function body(fields: SnsFields): Buffer {
  return Buffer.from(JSON.stringify(fields));
}

test.each(Object.entries(envelopes))('a signed %s of an allowed topic is authentic', async (_, fields) => {
  const received = await authenticateSns(body(signer.sign(fields)), trust);
  expect(received).toMatchObject({
    kind: 'authentic',
    envelope: { MessageId: fields['MessageId'], Message: fields['Message'] },
  });
});

describe('refused is', () => {
  test('a body that is no envelope', async () => {
    const received = await authenticateSns(Buffer.from('{}'), trust);
    expect(received).toMatchObject({ kind: 'bad_envelope' });
  });

  test('every topic when none is allowed', async () => {
    const received = await authenticateSns(body(signer.sign(notification)), { ...trust, topics: new Set() });
    expect(received).toMatchObject({ kind: 'unknown_topic' });
  });

  test.each([`${topic}2`, topic.slice(0, -1), topic.toUpperCase()])(
    'the topic %s, though its signature is good',
    async (TopicArn) => {
      const received = await authenticateSns(body(signer.sign({ ...notification, TopicArn })), trust);
      expect(received).toMatchObject({ kind: 'unknown_topic' });
    },
  );

  test('a message that was changed on its way', async () => {
    const changed = { ...signer.sign(notification), Message: '{}' };
    expect(await authenticateSns(body(changed), trust)).toMatchObject({
      kind: 'bad_signature',
    });
  });

  test.each(Object.entries(envelopes))(
    'a %s that is truly signed, and older than seven days',
    async (_, fields) => {
      const sentMs = Date.parse(fields['Timestamp'] ?? '');
      const at = async (ageMs: number) =>
        authenticateSns(body(signer.sign(fields)), { ...trust, clock: fakeClock(new Date(sentMs + ageMs)) });
      const sevenDaysMs = 7 * 24 * 60 * 60_000;
      expect(await at(sevenDaysMs)).toMatchObject({ kind: 'authentic' });
      expect(await at(sevenDaysMs + 1)).toMatchObject({ kind: 'too_old' });
    },
  );

  test('signature version 1 (SHA-1), unless it is allowed: then it is authentic', async () => {
    const signed = body(signer.sign(notification, '1'));
    expect(await authenticateSns(signed, trust)).toEqual({
      kind: 'bad_signature',
      why: 'SignatureVersion 1 (SHA-1) needs SNS_ALLOW_SHA1=true',
    });
    expect(await authenticateSns(signed, { ...trust, allowSha1: true })).toMatchObject({ kind: 'authentic' });
  });

  test('a certificate from elsewhere', async () => {
    const SigningCertURL = 'https://example.invalid/SimpleNotificationService-00.pem';
    const received = await authenticateSns(body(signer.sign({ ...notification, SigningCertURL })), trust);
    expect(received).toMatchObject({ kind: 'untrusted_certificate' });
  });
});

describe('the certificate', () => {
  const foreign = { ...notification, SigningCertURL: 'https://example.invalid/a.pem' };
  const refusals: [string, SnsFields, '1' | '2', SnsReception['kind']][] = [
    ['another topic', { ...notification, TopicArn: `${topic}2` }, '2', 'unknown_topic'],
    ['signature version 1', notification, '1', 'bad_signature'],
    ['a foreign certificate', foreign, '2', 'untrusted_certificate'],
    ['a broken envelope', { ...notification, MessageId: '' }, '2', 'bad_envelope'],
  ];

  test.each(refusals)('is never fetched for %s', async (_, fields, version, kind) => {
    const fetched: string[] = [];
    const certificates = fetchedCertificates({
      get: async (url) => {
        fetched.push(url.href);
        return { kind: 'failed', error: 'not to be called' };
      },
    });
    const received = await authenticateSns(body(signer.sign(fields, version)), { ...trust, certificates });
    expect(received).toMatchObject({ kind });
    expect(fetched).toEqual([]);
  });

  test('that cannot be had makes the message wait, and is not a refusal', async () => {
    const certificates = fetchedCertificates({
      get: async () => ({ kind: 'failed', error: 'connect ECONNREFUSED 203.0.113.7:443' }),
    });
    expect(await authenticateSns(body(signer.sign(notification)), { ...trust, certificates })).toEqual({
      kind: 'unavailable',
      why: 'signing certificate: connect ECONNREFUSED 203.0.113.7:443',
    });
  });
});
