const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;

/** States: what the decoder read last. Only CR LF begins a line. A bare CR or LF is content. */
const TEXT = 0;
const AFTER_CR = 1;
const LINE_START = 2;
const AFTER_DOT = 3;
const AFTER_DOT_CR = 4;

export interface DecodedData {
  /** Content of the message, without the dots that the client added. */
  readonly content: Buffer;
  /**
   * Number of bytes of the chunk that belong to the message and its end marker. Null while the message
   * continues.
   */
  readonly end: number | null;
}

/**
 * Removes the dot-stuffing from a message (RFC 5321, 4.5.2) and finds its end: CR LF dot CR LF and nothing
 * else.
 *
 * smtp-server 3.21.6 finds the same end. But it waits one iteration of the event loop for each stuffed dot:
 * 10 MB of lines ".." took 12 s of CPU (plain text 0.2 s; here 0.1 s for both). It also removes a dot after a
 * bare LF, where no line begins.
 */
export class DataDecoder {
  #state = LINE_START;

  /** A chunk may end at any byte. Do not call it again after it returned an `end`. */
  decode(chunk: Buffer): DecodedData {
    // One byte more than the chunk, for a CR that the previous call held back.
    const content = Buffer.allocUnsafe(chunk.length + 1);
    let length = 0;
    let state = this.#state;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (state === LINE_START && byte === DOT) {
        state = AFTER_DOT;
        continue;
      }
      if (state === AFTER_DOT && byte === CR) {
        state = AFTER_DOT_CR;
        continue;
      }
      if (state === AFTER_DOT_CR) {
        if (byte === LF) return { content: content.subarray(0, length), end: index + 1 };
        content[length++] = CR;
        state = AFTER_CR;
      }
      content[length++] = byte;
      if (byte === CR) state = AFTER_CR;
      else state = byte === LF && state === AFTER_CR ? LINE_START : TEXT;
    }
    this.#state = state;
    return { content: content.subarray(0, length), end: null };
  }
}
