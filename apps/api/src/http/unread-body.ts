import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';

/**
 * How much of a body that nobody wants is read off after the answer, and for how long. Every body that some route
 * takes fits in, so that a client that only reads once it has sent everything does read our answer.
 */
export const READ_OFF_BYTES_MAX = LIMITS.emailBodyPlainTextBytes + 8 * 1024 * 1024;
const READ_OFF_TIMEOUT_MS = 10_000;

/** The declared length of the body in bytes; null when it is chunked. */
export function declaredBytes(request: IncomingMessage): number | null {
  return request.headers['transfer-encoding'] === undefined
    ? Number(request.headers['content-length'] ?? 0)
    : null;
}

/**
 * Whether more of the body may be on its way than Node reads off by itself without harm: it reads a small one, but not
 * where the connection ends with the answer.
 */
export function hasUnreadBody(request: IncomingMessage, response: ServerResponse): boolean {
  const bytes = declaredBytes(request);
  return !request.complete && (bytes === null || bytes > LIMITS.bodyBytes || !response.shouldKeepAlive);
}

/** Throws the rest of the body away as it comes. Resolves when it has ended, broken off, or is not worth more time. */
export async function readOff(request: IncomingMessage): Promise<void> {
  let bytes = 0;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, READ_OFF_TIMEOUT_MS);
    const done = (): void => {
      clearTimeout(timer);
      request.pause();
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > READ_OFF_BYTES_MAX) done();
    });
    for (const event of ['end', 'error', 'close']) request.once(event, done);
    request.resume();
  });
}
