import type { SnsEnvelope } from './envelope.ts';

/**
 * The text that SNS signs: each field's name and value on separate lines, sorted by name.
 * Source: Amazon SNS Developer Guide, "Verifying the signatures of Amazon SNS messages".
 */
export function stringToSign(envelope: SnsEnvelope): string {
  return fieldsOf(envelope)
    .map(([name, value]) => `${name}\n${value}\n`)
    .join('');
}

function fieldsOf(envelope: SnsEnvelope): [name: string, value: string][] {
  const { Message, MessageId, Timestamp, TopicArn, Type } = envelope;
  if (envelope.Type === 'Notification') {
    const { Subject } = envelope;
    return [
      ['Message', Message],
      ['MessageId', MessageId],
      // Signed only when present. An empty subject counts as present.
      ...(typeof Subject === 'string' ? [['Subject', Subject] as [string, string]] : []),
      ['Timestamp', Timestamp],
      ['TopicArn', TopicArn],
      ['Type', Type],
    ];
  }
  return [
    ['Message', Message],
    ['MessageId', MessageId],
    ['SubscribeURL', envelope.SubscribeURL],
    ['Timestamp', Timestamp],
    ['Token', envelope.Token],
    ['TopicArn', TopicArn],
    ['Type', Type],
  ];
}
