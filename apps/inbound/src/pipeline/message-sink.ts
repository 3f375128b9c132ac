import type { ReceivedMessageStore } from '@postrider/store';
import type { MailPipeline, PipelineOutcome } from './mail-pipeline.ts';
import type { Screening } from './screening.ts';

/** The envelope of a message. The client chose most values, so do not trust them. */
export interface ReceivedEnvelope {
  /** The network of the TCP client. Over LMTP, the session. */
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
   * Length of our `Received:` field. The rest of `raw` is what the client sent. It stays the same in a
   * repeat.
   */
  readonly traceBytes: number;
}

interface MessageSinkParts {
  readonly store: Pick<ReceivedMessageStore, 'accepts'>;
  readonly pipeline: Pick<MailPipeline, 'process'>;
  readonly screening: Pick<Screening, 'screen'>;
}

/** The SMTP server asks it about recipients and passes it each message. Our own scanners judge these. */
export type MessageSink = ReturnType<typeof createMessageSink>;

export function createMessageSink({ store, pipeline, screening }: MessageSinkParts) {
  return {
    /**
     * Called for each RCPT. The server answers false with 550 5.1.1, an error and a timeout with 451 4.3.0.
     */
    accepts: (recipient: string): Promise<boolean> => store.accepts(recipient),
    /**
     * Resolves after the transaction commits. Only then does the client get 250. An error or a timeout is
     * answered with 451 4.3.0, and the client sends the same message again.
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
