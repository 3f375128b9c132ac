import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '@postrider/domain';
import { bodyFault, onceBodyBroken } from './body-fault.ts';
import { declaredBytes } from './read-body.ts';
import { contextOf } from './request-context.ts';

/**
 * Limits for reading an unwanted body after the answer. Some clients read the answer only after sending
 * everything. So the byte limit exceeds the largest body that any route accepts.
 */
export const READ_OFF_BYTES_MAX = LIMITS.batchBodyBytes + 8 * 1024 * 1024;
const READ_OFF_TIMEOUT_MS = 10_000;

/**
 * True when we must read the rest of the body ourselves. Node reads any rest after the answer, but only on a
 * connection that stays open. There we leave bodies with a declared length of up to 64 KiB to Node.
 */
export function hasUnreadBody(request: IncomingMessage, response: ServerResponse): boolean {
  if (contextOf(response).awaitsContinue || bodyFault(request) !== null) return false; // no more bytes arrive
  const bytes = declaredBytes(request);
  return !request.complete && (bytes === null || bytes > LIMITS.bodyBytes || !response.shouldKeepAlive);
}

/** Reads and drops the rest of the body. Resolves at its end, when it breaks off, or at a limit. */
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
    onceBodyBroken(request, done);
    request.resume();
  });
}
