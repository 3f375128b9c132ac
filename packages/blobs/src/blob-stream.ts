import { Readable } from 'node:stream';

interface BlobStreamOptions {
  /** Time limit for the next bytes from the source; null means none. */
  readonly idleMs: number | null;
  /** Turns an error of the source into the error that the reader gets. */
  readonly failure: (cause: Error) => Error;
}

/**
 * Returns a stream of the bytes of `source`, with its errors converted by `failure`. The time limit runs
 * while the stream has space for bytes. It stops while the stream is full: a slow reader is not a fault of
 * the store. Destroying the stream destroys `source`.
 */
export function blobStream(source: Readable, { idleMs, failure }: BlobStreamOptions): Readable {
  let timer: NodeJS.Timeout | undefined;
  const stream = new Readable({
    read() {
      startTimer();
      source.resume();
    },
    destroy(error, callback) {
      clearTimeout(timer);
      source.destroy();
      callback(error);
    },
  });

  function startTimer(): void {
    clearTimeout(timer);
    if (idleMs === null) return;
    timer = setTimeout(() => stream.destroy(failure(new Error(`no bytes for ${idleMs} ms`))), idleMs);
  }

  source.pause(); // otherwise the `data` listener would start it before the first `read`
  source.on('data', (chunk: Buffer) => {
    clearTimeout(timer);
    if (stream.push(chunk)) startTimer();
    else source.pause();
  });
  source.once('end', () => {
    clearTimeout(timer);
    stream.push(null);
  });
  source.on('error', (error) => stream.destroy(failure(error)));
  source.once('close', () => {
    if (!source.readableEnded) stream.destroy(failure(new Error('the bytes ended early')));
  });
  return stream;
}
