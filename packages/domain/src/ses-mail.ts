/** Mail that SES received, as its notification tells of it. */
export interface SesMail {
  /** SES's id of the message. */
  readonly providerMessageId: string;
  /** Of the envelope; '' for the null sender. */
  readonly source: string;
  /** Recipients of the envelope that the receipt rule matched. `mail.destination` is what the headers say, so anybody's choice. */
  readonly recipients: readonly string[];
  /** `spamVerdict` and its like, `{status}` or null, and `dmarcPolicy`. */
  readonly verdicts: object;
  /** What the SNS action brings, or where the S3 action has put it. */
  readonly location:
    | { readonly kind: 'content'; readonly bytes: Buffer }
    | { readonly kind: 'object'; readonly bucket: string; readonly key: string };
}
