import { plainAddresses } from '@postrider/domain';
import type { AccountId, EmailDraft, EmailId, ProviderResult } from '@postrider/domain';

/** A stored message on its way to a provider. */
export interface OutgoingMessage extends Pick<
  EmailDraft,
  'from' | 'to' | 'cc' | 'bcc' | 'replyTo' | 'subject' | 'html' | 'text' | 'headers'
> {
  readonly emailId: EmailId;
  readonly accountId: AccountId;
  /** Becomes the `Date` header. Every attempt sends the same date. */
  readonly createdAt: Date;
  readonly attachments: readonly OutgoingAttachment[];
  /** Labels for the provider's own reports. They are not part of the message. */
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  /** Addresses to leave out of the envelope and the headers. Compared in the form of `plainAddress`. */
  readonly suppressed: readonly string[];
  /**
   * The recipients that did not get the message yet. The envelope names only these; the headers name every
   * recipient. Null: all recipients.
   */
  readonly only: readonly string[] | null;
  /**
   * An `https:` URL that accepts the POST of RFC 8058. It is written as `List-Unsubscribe` and
   * `List-Unsubscribe-Post`. A `List-Unsubscribe` in the customer's own headers replaces both.
   */
  readonly unsubscribeUrl: string | null;
}

export interface OutgoingAttachment {
  readonly filename: string;
  readonly content: Buffer;
  /** Null: derived from the filename. */
  readonly contentType: string | null;
  /** Makes the attachment inline: HTML shows it as `cid:<content id>`. */
  readonly contentId: string | null;
}

/** A message without suppressed recipients. `to`, `cc` and `bcc` hold at least one recipient together. */
export type AddressedMessage = Omit<OutgoingMessage, 'suppressed'>;

/** Sends messages over one protocol or to one service. */
export interface MailTransport {
  /**
   * Makes one attempt, within the transport's time limits. A provider that is away or silent is a result, not
   * an error. When its answer is lost, the message may arrive twice, with the same Message-ID. SES replaces
   * the Message-ID; both copies then carry the same tag `email_id`.
   */
  send(message: AddressedMessage): Promise<ProviderResult>;
  /**
   * Closes idle connections and aborts attempts in flight. These end as `deferred`, or as `unconfirmed` when
   * the SMTP server already has the message.
   */
  close(): void;
}

/** The configured transport, behind the rule that no suppressed recipient gets mail. */
export class MailProvider {
  readonly #transport: MailTransport;

  constructor(transport: MailTransport) {
    this.#transport = transport;
  }

  /**
   * Sends like {@link MailTransport.send}. When all recipients are suppressed, the message is refused and not
   * sent.
   */
  async send(message: OutgoingMessage): Promise<ProviderResult> {
    const addressed = withoutSuppressed(message);
    if (addressed === null)
      return { kind: 'refused', error: 'every recipient is suppressed', notAsked: true };
    return this.#transport.send(addressed);
  }

  /** Closes like {@link MailTransport.close}. */
  close(): void {
    this.#transport.close();
  }
}

/** @returns null when no recipient is left. */
function withoutSuppressed({ suppressed, ...message }: OutgoingMessage): AddressedMessage | null {
  const excluded = new Set(plainAddresses(suppressed));
  const isReachable = (text: string) => !plainAddresses([text]).some((address) => excluded.has(address));
  const to = message.to.filter(isReachable);
  const cc = message.cc.filter(isReachable);
  const bcc = message.bcc.filter(isReachable);
  const left = (message.only ?? [...to, ...cc, ...bcc]).filter(isReachable);
  return left.length === 0 ? null : { ...message, to, cc, bcc };
}
