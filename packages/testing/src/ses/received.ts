export interface ReceivedWish {
  readonly recipients: readonly string[];
  /** The message of an SNS action. An S3 action names the object instead. */
  readonly content?: string;
  readonly object?: { readonly bucket: string; readonly key: string };
  readonly source?: string;
  readonly messageId?: string;
  /** The status of `spamVerdict` and the others, and `dmarcPolicy`. Default: all pass. */
  readonly verdicts?: Readonly<Record<string, string>>;
}

const VERDICTS = ['spamVerdict', 'virusVerdict', 'spfVerdict', 'dkimVerdict', 'dmarcVerdict'];

/** The notification of SES for received mail, in the format of its developer guide. */
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
