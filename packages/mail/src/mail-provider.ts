import type { AccountId, EmailDraft, EmailId, ProviderResult } from '@postrider/domain';

/** A stored message on its way to a provider. */
export interface OutgoingMessage extends Pick<
  EmailDraft,
  'from' | 'to' | 'cc' | 'bcc' | 'replyTo' | 'subject' | 'html' | 'text' | 'headers'
> {
  readonly emailId: EmailId;
  readonly accountId: AccountId;
  /** Becomes the `Date` header: the same on every hand-over. */
  readonly createdAt: Date;
  readonly attachments: readonly OutgoingAttachment[];
  /** For the provider's own reports, where it has such a thing; not part of the message. */
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  /** Addresses that get nothing and are not named either, in any case of letters. */
  readonly suppressed: readonly string[];
  /**
   * An `https:` URL that takes the POST of RFC 8058: written as `List-Unsubscribe` and `List-Unsubscribe-Post`,
   * unless the customer's own headers have a `List-Unsubscribe`.
   */
  readonly unsubscribeUrl: string | null;
}

export interface OutgoingAttachment {
  readonly filename: string;
  readonly content: Buffer;
  /** Null: told by the filename. */
  readonly contentType: string | null;
  /** Makes it inline: HTML shows it as `cid:<content id>`. */
  readonly contentId: string | null;
}

/** A message whose `to`, `cc` and `bcc` hold nobody suppressed, and at least one recipient together. */
export type AddressedMessage = Omit<OutgoingMessage, 'suppressed'>;

/** Takes mail off our hands. */
export interface MailProvider {
  readonly name: 'sandbox' | 'smtp' | 'ses';
  /**
   * Hands one message over, within the provider's time limit. Whatever the provider does, also being away or
   * silent, is an answer; a message may arrive twice when its answer was lost, under one Message-ID (SES writes
   * its own; there both carry the tag `email_id`). A message whose recipients are all suppressed is refused.
   */
  send(message: OutgoingMessage): Promise<ProviderResult>;
  /** Ends idle connections, and breaks off hand-overs that are still running: they answer `deferred`. */
  close(): Promise<void>;
}

/** What each provider implements; `createMailProvider` takes out the suppressed recipients before. */
export interface MailTransport extends Pick<MailProvider, 'name' | 'close'> {
  send(message: AddressedMessage): Promise<ProviderResult>;
}
