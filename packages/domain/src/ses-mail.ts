/** Mail that SES received, as its notification describes it. */
export interface SesMail {
  /** The message's id at SES. */
  readonly providerMessageId: string;
  /** The envelope's sender. Empty for the null sender. */
  readonly source: string;
  /**
   * The envelope recipients that the receipt rule matched. Not `mail.destination`: it comes from headers,
   * which the sender controls.
   */
  readonly recipients: readonly string[];
  /** SES's five verdicts, such as `spamVerdict`, each `{ status }` or null; and the text `dmarcPolicy`. */
  readonly verdicts: object;
  /** The content from the SNS action, or the object that the S3 action stored. */
  readonly location:
    | { readonly kind: 'content'; readonly bytes: Buffer }
    | { readonly kind: 'object'; readonly bucket: string; readonly key: string };
}
