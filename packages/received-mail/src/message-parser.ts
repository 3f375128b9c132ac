import { createThreadPool, type ThreadPoolOptions } from '@postrider/sandboxed-threads';
import { parseHeaderOnly } from './parse-message.ts';
import type { ParsedMessage } from './parsed-message.ts';
import { arrived, handoverOf } from './thread-protocol.ts';

export interface MessageParser {
  /**
   * A message that costs two threads gives what its header tells, `complete: false`.
   * @throws Error when the parser is closed: the message is to come again
   */
  parse(raw: Buffer): Promise<ParsedMessage>;
  /** Ends the threads. Messages under way, and those that wait, reject. */
  close(): Promise<void>;
}

/**
 * `script` is the bundle of `parse-thread.ts`: `dist/parse-thread.js`. The largest messages need less than 128 MiB of heap;
 * bytes of messages and attachments, up to 60 MiB, do not count in.
 */
export type MessageParserOptions = ThreadPoolOptions;

/**
 * Parses messages in threads, so that one hostile message costs at most itself. `parseMessage` takes no large step on the
 * heap, which would end the process and not the thread: no array of all lines, no `replaceAll` over a body.
 *
 * @throws Error when there is no such script: every message would be read by its header alone
 */
export function createMessageParser(options: MessageParserOptions): MessageParser {
  const pool = createThreadPool<Uint8Array, ParsedMessage>(options);
  return {
    async parse(raw) {
      const message = await pool.run(() => handoverOf(raw));
      return message === null ? parseHeaderOnly(raw) : arrived(message);
    },
    close: () => pool.close(),
  };
}
