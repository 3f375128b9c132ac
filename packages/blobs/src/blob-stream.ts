import { Readable } from 'node:stream';

interface BlobStreamOptions {
  /** How long the source may take for its next bytes once they are asked for; null: as long as it likes. */
  readonly idleMs: number | null;
  /** Turns what the source says of a failure into what the reader gets. */
  readonly failure: (cause: Error) => Error;
}

/**
 * The bytes of `source`, with its failures in the store's words. The time limit runs only while the reader
 * waits: a slow reader is not the store's fault. Destroying the stream destroys `source`.
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

  source.pause(); // else the listener below starts it
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
