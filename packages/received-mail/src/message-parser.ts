import { ThreadPool, type ThreadPoolOptions } from '@postrider/sandboxed-threads';
import { transferOf, withBuffers } from './message-transfer.ts';
import { parseHeaderOnly } from './parse-message.ts';
import type { ParsedMessage } from './parsed-message.ts';

/**
 * `script` is the bundle of `parse-thread.ts`: `dist/parse-thread.js`. The largest messages need less than
 * 128 MiB of heap. The bytes of messages and attachments, up to 60 MiB, do not count as heap.
 */
export type MessageParserOptions = ThreadPoolOptions;

/**
 * Parses messages in worker threads, so that a hostile message harms no other message. `parseMessage` makes
 * no large heap allocation, because that would end the process instead of the thread. So it builds no array
 * of all lines, and calls no `replaceAll` on a whole body.
 */
export class MessageParser {
  readonly #pool: ThreadPool<Uint8Array, ParsedMessage>;

  /** @throws Error when the script does not exist: we would read only the header of every message */
  constructor(options: MessageParserOptions) {
    this.#pool = new ThreadPool(options);
  }

  /**
   * A message that costs two threads gives only what its header says, with `complete: false`.
   * @throws Error when the parser is closed: the sender must send the message again
   */
  async parse(raw: Buffer): Promise<ParsedMessage> {
    const message = await this.#pool.run(() => transferOf(raw));
    return message === null ? parseHeaderOnly(raw) : withBuffers(message);
  }

  /** Ends the worker threads. Running and waiting messages reject. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}
