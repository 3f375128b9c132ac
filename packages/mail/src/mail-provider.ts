import type { AccountId, EmailDraft, EmailId, HandOver } from '@postrider/domain';

/** A stored message on its way to a provider. */
export interface OutgoingMessage extends EmailDraft {
  readonly emailId: EmailId;
  readonly accountId: AccountId;
  /** Becomes the `Date` header: the same on every hand-over. */
  readonly createdAt: Date;
}

/** Takes mail off our hands. */
export interface MailProvider {
  readonly name: 'sandbox' | 'smtp';
  /**
   * Hands one message over, within the provider's time limit. Whatever the provider does, also being away or
   * silent, is an answer; a message may arrive twice when its answer was lost, under one Message-ID.
   */
  send(message: OutgoingMessage): Promise<HandOver>;
  /** Ends idle connections, and breaks off hand-overs that are still running: they answer `deferred`. */
  close(): Promise<void>;
}
