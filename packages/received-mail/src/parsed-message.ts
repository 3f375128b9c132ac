/**
 * The parts of a received message that the service keeps; null when the message has no such part. No text
 * holds NUL or half a surrogate pair.
 */
export interface ParsedMessage {
  /** The Message-ID as written, without `<` and `>`. */
  messageId: string | null;
  /** The id in In-Reply-To, without `<` and `>`. */
  inReplyTo: string | null;
  /** The ids of References in order, without `<` and `>`. */
  references: readonly string[];
  /** `Name <address>` or the bare address of the first mailbox in From; empty when there is none. */
  from: string;
  /**
   * Each address in From once: lower case, domain in ASCII. Null when the authors are not certain, such as
   * with two From fields: see `agreedAuthors`.
   */
  fromAddresses: string[] | null;
  /** `Name <address>` or bare, groups flattened. */
  to: string[];
  cc: string[];
  replyTo: string[];
  subject: string | null;
  /** The plain parts of the body. Without plain parts, the HTML parts turned into text. */
  text: string | null;
  /**
   * The HTML parts of the body, and between them the plain parts that are not the alternative of an HTML
   * part.
   */
  html: string | null;
  /** All fields in order, unfolded and decoded, without control characters. */
  headers: ReceivedHeader[];
  attachments: ReceivedAttachment[];
  /** True when the header says that a program sent the message. */
  automatic: boolean;
  /** False when a part of the message was not read. The other parts are there. */
  complete: boolean;
}

export interface ReceivedHeader {
  name: string;
  value: string;
}

export interface ReceivedAttachment {
  /** The last part of a path: no `/`, no `\`, no control characters. */
  filename: string | null;
  /** `type/subtype` in lower case. */
  contentType: string;
  /** The Content-ID without `<` and `>`. */
  contentId: string | null;
  content: Buffer;
}
