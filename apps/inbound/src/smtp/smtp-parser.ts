import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { SMTPServerDataStream } from 'smtp-server';
import { DataDecoder } from './data-decoder.ts';

type Done = (error?: Error | null) => void;

/**
 * Decodes message data with our `DataDecoder`. smtp-server's own takes 12 s of CPU for 10 MB of stuffed dots,
 * ours 0.1 s.
 */
export class SmtpParser extends SMTPStream {
  #decoder = new DataDecoder();

  override startDataMode(maxBytes?: number | string | null): SMTPServerDataStream {
    this.#decoder = new DataDecoder();
    return super.startDataMode(maxBytes);
  }

  override _feedDataStream(chunk: Buffer, done: Done): void {
    const { content, end } = this.#decoder.decode(chunk);
    this._countDataBytes(content.length);
    if (end === null) this.#pass(content, done);
    else this._endDataMode(content, chunk.subarray(end), done);
  }

  /** Waits for a slow reader. A destroyed stream accepts no more bytes, so the rest is dropped. */
  #pass(content: Buffer, done: Done): void {
    const stream = this._dataStream;
    if (stream === null || content.length === 0 || !stream.writable || stream.write(content)) {
      done();
      return;
    }
    const resume = () => {
      stream.off('drain', resume);
      stream.off('close', resume);
      done();
    };
    stream.once('drain', resume);
    stream.once('close', resume);
  }
}
