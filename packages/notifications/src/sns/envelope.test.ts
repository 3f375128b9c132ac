import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { envelopes, unsubscribeConfirmation } from '../../test/samples.ts';
import { parseSnsEnvelope } from './envelope.ts';

const { notification, plainText, subscriptionConfirmation } = envelopes;

function parse(value: unknown) {
  return parseSnsEnvelope(Buffer.from(JSON.stringify(value)));
}

test.each([
  ['a notification', notification],
  ['a notification without subject', plainText],
  ['a subscription confirmation', subscriptionConfirmation],
  ['an unsubscribe confirmation', unsubscribeConfirmation],
])('%s is an envelope', (_, fields) => {
  const parsed = parse(fields);
  expect(parsed).toMatchObject({
    kind: 'envelope',
    envelope: { Type: fields['Type'], Message: fields['Message'] },
  });
});

test('fields that SNS may add are passed over', () => {
  const parsed = parse({
    ...notification,
    SequenceNumber: '1',
    MessageAttributes: { a: { Type: 'String' } },
  });
  expect(parsed).toEqual(parse(notification));
});

describe('a body that is no envelope is refused with the field at fault', () => {
  test.each<[string, unknown, string]>([
    ['an array', [], 'the body is no object'],
    ['null', null, 'the body is no object'],
    ['a number', 1, 'the body is no object'],
    ['no type', { ...notification, Type: undefined }, 'Type: '],
    ['an unknown type', { ...notification, Type: 'constructor' }, 'Type: '],
    ['no signature', { ...notification, Signature: undefined }, 'Signature: '],
    ['an unknown signature version', { ...notification, SignatureVersion: '3' }, 'SignatureVersion: '],
    ['a number for a signature version', { ...notification, SignatureVersion: 1 }, 'SignatureVersion: '],
    ['a message that is an object', { ...notification, Message: {} }, 'Message: '],
    ['a confirmation without token', { ...subscriptionConfirmation, Token: undefined }, 'Token: '],
    ['an id of two lines', { ...notification, MessageId: 'a\nSubject\nb' }, 'MessageId: '],
    ['an id with a line break behind', { ...notification, MessageId: 'a\n' }, 'MessageId: '],
    ['a subject of two lines', { ...notification, Subject: 'a\nTimestamp\nb' }, 'Subject: '],
    ['a topic of two lines', { ...notification, TopicArn: 'a\nb' }, 'TopicArn: '],
    ['half of a character', { ...notification, Message: 'a \ud83d b' }, 'Message: '],
    ['a time that is none', { ...notification, Timestamp: 'yesterday' }, 'Timestamp: '],
  ])('%s', (_title, value, why) => {
    expect(parse(value)).toEqual({ kind: 'bad_envelope', why: expect.stringContaining(why) });
  });

  test.each([
    ['no bytes', Buffer.alloc(0)],
    ['no JSON', Buffer.from('Type=Notification')],
    ['no UTF-8', Buffer.concat([Buffer.from('{"Type":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ['brackets to the limit of a body', Buffer.alloc(512 * 1024, '[')],
    ['nested to the limit of a body', Buffer.from('['.repeat(262_000) + ']'.repeat(262_000))],
  ])('%s', (_title, bytes) => {
    expect(parseSnsEnvelope(bytes)).toMatchObject({ kind: 'bad_envelope' });
  });
});

test('what is refused is never quoted', () => {
  const parsed = parse({
    ...notification,
    Type: 'secret',
    MessageId: 'secret\n',
    SignatureVersion: 'secret',
  });
  expect(parsed.kind).toBe('bad_envelope');
  expect(JSON.stringify(parsed)).not.toContain('secret');
});

test('no bytes and no values make it throw', () => {
  const names = fc.constantFrom(...Object.keys(subscriptionConfirmation), 'Subject', '__proto__');
  const spoiled = fc.dictionary(names, fc.jsonValue()).map((fields) => ({ ...notification, ...fields }));
  const bodies = fc.oneof(
    fc.uint8Array(),
    fc.oneof(fc.jsonValue(), spoiled).map((value) => Buffer.from(JSON.stringify(value))),
  );
  fc.assert(
    fc.property(bodies, (bytes) => {
      expect(['envelope', 'bad_envelope']).toContain(parseSnsEnvelope(bytes).kind);
    }),
  );
});
