/** What the service keeps of a received message. No text in it holds NUL or half a surrogate pair. */
export interface ParsedMessage {
  /** As written, without `<` and `>`. */
  messageId: string | null;
  inReplyTo: string | null;
  /** The ids of References without `<` and `>`, in their order. */
  references: string[];
  /** `Name <address>` or the bare address of the first mailbox in From; empty when there is none. */
  from: string;
  /**
   * Every address of every From field, once: lower case, domain in ASCII. Null when a limit left one out: who
   * is not read must not pass for one who is not there.
   */
  fromAddresses: string[] | null;
  /** `Name <address>` or bare, groups flattened. */
  to: string[];
  cc: string[];
  replyTo: string[];
  subject: string | null;
  /** The plain parts of the body; where there is none, the HTML parts turned into text. */
  text: string | null;
  html: string | null;
  /** In their order, unfolded and decoded: no control characters. */
  headers: ReceivedHeader[];
  attachments: ReceivedAttachment[];
  /** `Auto-Submitted` other than `no` (RFC 3834), or `Precedence: bulk`, `list` or `junk`. */
  automatic: boolean;
  /** False when a limit was hit or the structure could not be read; what could be read is there. */
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
  /** Without `<` and `>`. */
  contentId: string | null;
  content: Buffer;
}
