/** Of one message: who sent it from where, and for whom. Nothing in it is to be trusted. */
export interface ReceivedEnvelope {
  /** Of the TCP connection; an IPv4 address is written as one, also when it came over IPv6. */
  readonly remoteAddress: string;
  /** As the client said, in lower case; no control characters, at most 300 characters. */
  readonly helo: string;
  /** '' is the null sender: a notice about a delivery. */
  readonly mailFrom: string;
  /** As written, `+tag` and all; without a source route. `postmaster` may stand without a domain (RFC 5321, 4.1.1.3). */
  readonly recipients: readonly string[];
  readonly tls: boolean;
  readonly sessionId: string;
  /** Length of our `Received:` field. The rest of `raw` is what the client sent: the same when it sends it again. */
  readonly traceBytes: number;
}

export type Receipt =
  | { readonly kind: 'accepted'; readonly ids: readonly string[] }
  /** The client is to give up. `words` go into the answer. */
  | { readonly kind: 'refused'; readonly code: 550 | 552 | 554; readonly words: string }
  /** The client is to try again: 451. */
  | { readonly kind: 'later'; readonly words: string };

/** What the server needs of the rest of the process. */
export interface MailIntake {
  /** Asked at RCPT. `unknown` is answered 550 5.1.1; `unavailable`, an error and a late answer 451 4.3.0. */
  accepts(recipient: string): Promise<'known' | 'unknown' | 'unavailable'>;
  /**
   * Resolves when the message is committed: only then the client hears 250. An error or a late answer is 451 4.3.0.
   * After a late answer the client sends the same message again.
   *
   * Settles when nothing reads `raw` any more: until then the memory budget counts it.
   * @param raw our `Received:` field and, byte for byte, the message
   */
  receive(raw: Buffer, envelope: ReceivedEnvelope): Promise<Receipt>;
}
