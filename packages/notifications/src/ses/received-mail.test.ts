import { describe, expect, test } from '@jest/globals';
import { runs, sesReceived, sesSampleText } from '@postrider/testing';
import fc from 'fast-check';
import { expectedEvents } from '../../test/samples.ts';
import { readReceivedMail } from './received-mail.ts';
import { readSesNotification } from './read-notification.ts';

const RAW = 'Return-Path: <ann@shop.example>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nGrüße\r\n';
const object = { bucket: 'mail-in', key: 'a/b c/ü' };
const recipients = ['support+1@in.example', 'b@in.example'];

function read(notification: object) {
  return readReceivedMail(JSON.stringify(notification));
}

function mailOf(notification: object) {
  const reading = read(notification);
  if (reading?.kind !== 'received') throw new Error(JSON.stringify(reading));
  return reading.mail;
}

function contentOf(content: string): Buffer {
  const { location } = mailOf(sesReceived({ recipients, content }));
  if (location.kind !== 'content') throw new Error(location.kind);
  return location.bytes;
}

test('mail in S3 is read with its envelope, its verdicts and its place', () => {
  const verdicts = { spamVerdict: 'GRAY', dmarcVerdict: 'FAIL', dmarcPolicy: 'reject' };
  expect(mailOf(sesReceived({ recipients, object, verdicts, messageId: 'ses-1' }))).toEqual({
    providerMessageId: 'ses-1',
    source: 'ann@shop.example',
    recipients,
    verdicts: {
      spamVerdict: { status: 'GRAY' },
      virusVerdict: { status: 'PASS' },
      spfVerdict: { status: 'PASS' },
      dkimVerdict: { status: 'PASS' },
      dmarcVerdict: { status: 'FAIL' },
      dmarcPolicy: 'reject',
    },
    location: { kind: 'object', ...object },
  });
});

describe('the content of an SNS action', () => {
  test('is the message, byte for byte, in either encoding', () => {
    expect(contentOf(RAW).toString('utf8')).toBe(RAW);
    const bytes = Buffer.concat([Buffer.from(RAW), Buffer.from([0, 0xff, 0xfe])]);
    expect(contentOf(bytes.toString('base64'))).toEqual(bytes);
    const lines = bytes.toString('base64').replace(/.{20}/g, '$&\r\n');
    expect(contentOf(lines)).toEqual(bytes);
  });

  test('wins over the bucket', () => {
    expect(mailOf(sesReceived({ recipients, object, content: RAW })).location.kind).toBe('content');
  });
});

test.each([
  ['', ''],
  ['<>', ''],
  ['<a@b.example>', 'a@b.example'],
  ['a@b.example', 'a@b.example'],
])('the sender %j is %j', (source, expected) => {
  expect(mailOf(sesReceived({ recipients, object, source })).source).toBe(expected);
});

test.each([
  ['nobody to receive it', sesReceived({ recipients: [], object }), 'received mail without a recipient'],
  ['no id', { ...sesReceived({ recipients, object }), mail: {} }, 'received mail without an id'],
  [
    'an action that keeps nothing',
    sesReceived({ recipients }),
    'received mail of an action that keeps no content',
  ],
])('mail with %s is ignored', (_, notification, why) => {
  expect(read(notification)).toEqual({ kind: 'ignored', why });
});

test('reports of mail that was sent are not received mail, and received mail is no report', () => {
  for (const name of Object.keys(expectedEvents)) expect(readReceivedMail(sesSampleText(name))).toBeNull();
  for (const text of [
    'Successfully validated SNS topic',
    '',
    '[]',
    'null',
    '{"notificationType":"Received"}',
  ])
    expect(readReceivedMail(text)).toBeNull();
  const received = JSON.stringify(sesReceived({ recipients, object }));
  expect(readSesNotification(received, '2026-11-20T10:15:36.675Z').kind).toBe('ignored');
});

test('whatever its fields hold, nothing is thrown, and what is read can be stored', () => {
  const anything = fc.jsonValue();
  const notification = fc.record({
    notificationType: fc.constant('Received'),
    mail: fc.oneof(anything, fc.record({ messageId: fc.string(), source: anything })),
    receipt: fc.oneof(
      anything,
      fc.record({
        recipients: fc.oneof(anything, fc.array(fc.string())),
        action: fc.oneof(anything, fc.record({ bucketName: fc.string(), objectKey: fc.string() })),
        spamVerdict: anything,
        dmarcPolicy: anything,
      }),
    ),
    content: fc.oneof(anything, fc.string()),
  });
  fc.assert(
    fc.property(notification, (value) => {
      const reading = read(value);
      if (reading?.kind !== 'received') return;
      const { location, ...mail } = reading.mail;
      const words = JSON.stringify(location.kind === 'object' ? { location, ...mail } : mail);
      // JSON shows NUL and lone surrogates as these escapes. Postgres refuses both.
      expect(words).not.toMatch(/\\u0000|\\ud[89a-f]/);
    }),
    { numRuns: runs({ usual: 2_000, long: 100_000 }) },
  );
});
