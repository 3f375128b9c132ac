import type { ReceivedMessageStore } from '@postrider/store';
import type { MailPipeline, PipelineOutcome } from './mail-pipeline.ts';
import type { Screening } from './screening.ts';

/** The envelope of a message. The client chose most values, so do not trust them. */
export interface ReceivedEnvelope {
  /**
   * The sender's share of memory and worker threads belongs to this key: its address or IPv6 /64; over LMTP,
   * its session.
   */
  readonly client: string;
  /** Address of the TCP client. An IPv4 address over IPv6 is written as IPv4. */
  readonly remoteAddress: string;
  /**
   * The name that the client gave in HELO or EHLO: lower case, no control characters, at most 300 characters.
   */
  readonly helo: string;
  /** '' is the null sender, used for delivery notices. */
  readonly mailFrom: string;
  /**
   * As written, with any `+tag`, without a source route. `postmaster` may have no domain (RFC 5321, 4.1.1.3).
   */
  readonly recipients: readonly string[];
  readonly tls: boolean;
  readonly sessionId: string;
  /**
   * Length of our `Received:` field in `raw`. The bytes after it are the client's. A repeated message has the
   * same bytes there.
   */
  readonly traceBytes: number;
}

interface MessageSinkParts {
  readonly store: Pick<ReceivedMessageStore, 'accepts'>;
  readonly pipeline: Pick<MailPipeline, 'process'>;
  readonly screening: Pick<Screening, 'screen'>;
}

/**
 * The SMTP server asks this object about recipients, and passes each message to it. Our own scanners judge
 * this mail. Mail that SES receives takes another way.
 */
export type MessageSink = ReturnType<typeof createMessageSink>;

export function createMessageSink({ store, pipeline, screening }: MessageSinkParts) {
  return {
    /** Called for each RCPT. For false the client gets 550 5.1.1; for an error or a timeout, 451 4.3.0. */
    accepts: (recipient: string): Promise<boolean> => store.accepts(recipient),
    /**
     * `stored` means that the transaction has committed: the client gets 250. A message without a recipient
     * here gets 550. `later`, an error and a timeout get 451, and the client sends the same message again.
     *
     * It settles only when nothing reads `raw` any more: until then the memory budget counts these bytes.
     * @param raw our `Received:` field, then the message byte for byte
     */
    async receive(raw: Buffer, envelope: ReceivedEnvelope): Promise<PipelineOutcome> {
      const { client, remoteAddress, mailFrom, recipients, sessionId } = envelope;
      const content = raw.subarray(envelope.traceBytes);
      const logFields = { session_id: sessionId, client_address: remoteAddress };
      const screen = () => screening.screen(content, { ...envelope, rcptTo: recipients }, logFields);
      return pipeline.process({ raw, content, client, mailFrom, recipients, logFields, screen });
    },
  };
}
