import { ThreadPool, type ThreadPoolOptions } from '@postrider/sandboxed-threads';
import { transferOf, withBuffers } from './message-transfer.ts';
import type { ParsedMessage } from './parsed-message.ts';

/**
 * `script` is the bundle of `parse-thread.ts`: `dist/parse-thread.js`. The largest messages need less than
 * 128 MiB of heap. The bytes of messages and attachments, up to 60 MiB, do not count as heap.
 */
export type MessageParserOptions = ThreadPoolOptions;

/**
 * Stands for a message that ended two worker threads. Its raw bytes are stored. It has no author, so it is
 * held.
 */
const UNREAD: ParsedMessage = {
  messageId: null,
  inReplyTo: null,
  references: [],
  from: '',
  fromAddresses: null,
  to: [],
  cc: [],
  replyTo: [],
  subject: null,
  text: null,
  html: null,
  headers: [],
  attachments: [],
  automatic: false,
  complete: false,
};

/** Parses messages in worker threads, so that a hostile message harms no other message. */
export class MessageParser {
  readonly #pool: ThreadPool<Uint8Array, ParsedMessage>;

  /** @throws Error when the script does not exist: we would read no message */
  constructor(options: MessageParserOptions) {
    this.#pool = new ThreadPool(options);
  }

  /**
   * A message that ends two worker threads stays unread: the main thread must not parse it.
   * @param client clients take turns at the threads
   * @throws Error when the parser is closed, or no thread starts: the sender must send the message again
   */
  async parse(raw: Buffer, client: string): Promise<ParsedMessage> {
    const message = await this.#pool.run(client, () => transferOf(raw));
    return message === null ? UNREAD : withBuffers(message);
  }

  /** Ends the worker threads. Running and waiting messages reject. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}
