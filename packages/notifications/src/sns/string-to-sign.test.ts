import { expect, test } from '@jest/globals';
import type { SnsEnvelope } from './envelope.ts';
import { stringToSign } from './string-to-sign.ts';

// The values are those of the examples in the Amazon SNS Developer Guide.
const common = {
  MessageId: '4d4dc071-ddbf-465d-bba8-08f81c89da64',
  TopicArn: 'arn:aws:sns:us-east-2:123456789012:s4-MySNSTopic-1G1WEFCOXTC0P',
  Timestamp: '2019-01-31T04:37:04.321Z',
  SignatureVersion: '2',
  Signature: 'unused',
  SigningCertURL: 'unused',
} as const;
const notification: SnsEnvelope = {
  ...common,
  Type: 'Notification',
  Message: 'My Test Message',
  Subject: 'My subject',
};

const head = 'Message\nMy Test Message\nMessageId\n4d4dc071-ddbf-465d-bba8-08f81c89da64\n';
const tail =
  'Timestamp\n2019-01-31T04:37:04.321Z\n' +
  'TopicArn\narn:aws:sns:us-east-2:123456789012:s4-MySNSTopic-1G1WEFCOXTC0P\n' +
  'Type\nNotification\n';

test('a notification is signed over message, id, subject, time, topic and type', () => {
  expect(stringToSign(notification)).toBe(`${head}Subject\nMy subject\n${tail}`);
});

test.each([undefined, null])('a subject that is %s is not signed', (Subject) => {
  expect(stringToSign({ ...notification, Subject })).toBe(`${head}${tail}`);
});

test('a subject that is empty is signed', () => {
  expect(stringToSign({ ...notification, Subject: '' })).toBe(`${head}Subject\n\n${tail}`);
});

test.each(['SubscriptionConfirmation', 'UnsubscribeConfirmation'] as const)(
  'a %s is signed over its URL and token as well',
  (Type) => {
    const SubscribeURL = 'https://sns.us-east-2.amazonaws.com/?Action=ConfirmSubscription';
    const envelope: SnsEnvelope = {
      ...common,
      Type,
      Message: 'Two\nlines',
      SubscribeURL,
      Token: '2336412f37',
    };
    expect(stringToSign(envelope)).toBe(
      'Message\nTwo\nlines\n' +
        'MessageId\n4d4dc071-ddbf-465d-bba8-08f81c89da64\n' +
        `SubscribeURL\n${SubscribeURL}\n` +
        'Timestamp\n2019-01-31T04:37:04.321Z\n' +
        'Token\n2336412f37\n' +
        'TopicArn\narn:aws:sns:us-east-2:123456789012:s4-MySNSTopic-1G1WEFCOXTC0P\n' +
        `Type\n${Type}\n`,
    );
  },
);
