export interface ReceivedWish {
  readonly recipients: readonly string[];
  /** The message itself, as the SNS action brings it, or where the S3 action has put it. */
  readonly content?: string;
  readonly object?: { readonly bucket: string; readonly key: string };
  readonly source?: string;
  readonly messageId?: string;
  /** `spamVerdict` and its like by what is their status, and `dmarcPolicy`. Not given: all pass. */
  readonly verdicts?: Readonly<Record<string, string>>;
}

const VERDICTS = ['spamVerdict', 'virusVerdict', 'spfVerdict', 'dkimVerdict', 'dmarcVerdict'];

/** What SES tells of mail that it received, in the shape of its developer guide. */
export function sesReceived(wish: ReceivedWish) {
  const { recipients, content, object, source = 'ann@shop.example', messageId = 'ses-received-1' } = wish;
  const { dmarcPolicy, ...statuses } = wish.verdicts ?? {};
  const verdicts = VERDICTS.map((name) => [name, { status: statuses[name] ?? 'PASS' }]);
  const topicArn = 'arn:aws:sns:us-east-1:123456789012:mail';
  return {
    notificationType: 'Received',
    receipt: {
      timestamp: '2026-11-20T10:15:30.000Z',
      processingTimeMillis: 574,
      recipients,
      ...(Object.fromEntries(verdicts) as object),
      ...(dmarcPolicy === undefined ? {} : { dmarcPolicy }),
      action:
        object === undefined
          ? { type: 'SNS', topicArn }
          : {
              type: 'S3',
              topicArn,
              bucketName: object.bucket,
              objectKeyPrefix: '',
              objectKey: object.key,
            },
    },
    mail: {
      timestamp: '2026-11-20T10:15:29.000Z',
      source,
      messageId,
      destination: ['whoever@the-headers-name.example'],
      headersTruncated: false,
      headers: [{ name: 'Subject', value: 'Hi' }],
    },
    ...(content === undefined ? {} : { content }),
  };
}
