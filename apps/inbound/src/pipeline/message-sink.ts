import type { ReceivedMessageStore } from '@postrider/store';
import type { MailPipeline } from './mail-pipeline.ts';
import type { Screening } from './screening.ts';

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

export type RecipientVerdict = 'known' | 'unknown' | 'unavailable';

export type SinkResult =
  | { readonly kind: 'accepted'; readonly ids: readonly string[] }
  /** The client is to give up. `words` go into the answer. */
  | { readonly kind: 'refused'; readonly code: 550 | 552 | 554; readonly words: string }
  /** The client is to try again: 451. */
  | { readonly kind: 'later'; readonly words: string };

export interface MessageSinkParts {
  readonly store: Pick<ReceivedMessageStore, 'accepts'>;
  readonly pipeline: Pick<MailPipeline, 'process'>;
  readonly screening: Pick<Screening, 'screen'>;
}

const NOBODY: SinkResult = { kind: 'refused', code: 550, words: 'No such recipient here' };
const LATER: SinkResult = { kind: 'later', words: 'The message cannot be stored at the moment' };

/** What the SMTP server asks, and hands over: mail that is judged by our own scanners. */
export class MessageSink {
  readonly #parts: MessageSinkParts;

  constructor(parts: MessageSinkParts) {
    this.#parts = parts;
  }

  /** Asked at RCPT. `unknown` is answered 550 5.1.1; `unavailable`, an error and a late answer 451 4.3.0. */
  async accepts(recipient: string): Promise<RecipientVerdict> {
    return (await this.#parts.store.accepts(recipient)) ? 'known' : 'unknown';
  }

  /**
   * Resolves when the message is committed: only then the client hears 250. An error or a late answer is 451 4.3.0.
   * After a late answer the client sends the same message again.
   *
   * Settles when nothing reads `raw` any more: until then the memory budget counts it.
   * @param raw our `Received:` field and, byte for byte, the message
   */
  async receive(raw: Buffer, envelope: ReceivedEnvelope): Promise<SinkResult> {
    const { pipeline, screening } = this.#parts;
    const { mailFrom, recipients, sessionId } = envelope;
    const content = raw.subarray(envelope.traceBytes);
    const outcome = await pipeline.process({
      raw,
      content,
      mailFrom,
      recipients,
      names: { session_id: sessionId },
      screen: (timer) => screening.screen(content, { ...envelope, rcptTo: recipients }, timer),
    });
    switch (outcome.kind) {
      case 'stored':
        return { kind: 'accepted', ids: outcome.messages.map(({ id }) => id) };
      case 'nobody':
        return NOBODY;
      case 'later':
        return LATER;
    }
  }
}
