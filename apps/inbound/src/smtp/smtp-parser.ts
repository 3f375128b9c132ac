import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { SMTPServerDataStream } from 'smtp-server';
import { DataDecoder } from './data-decoder.ts';

type Done = (error?: Error | null) => void;

/**
 * Decodes message data with our `DataDecoder`. For 10 MB of stuffed dots it takes 0.1 s of CPU. The decoder
 * of smtp-server takes 12 s.
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

  /** Waits for a slow reader of the data. A destroyed stream accepts no more bytes: they are dropped. */
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
