import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { messageOf } from './io.ts';

/** Headers that each connection writes itself (RFC 9110 7.6.1). */
const OWN_HEADERS = new Set(['host', 'content-length', 'connection', 'keep-alive', 'transfer-encoding']);

/** More than any event has. */
export const BODY_BYTES_MAX = 1_048_576;

export interface Delivery {
  readonly request: IncomingMessage;
  /** The whole body of the request. */
  readonly body: Buffer;
  readonly response: ServerResponse;
}

/**
 * Passes a delivery on to `target`, with the same headers and bytes, and answers what the target answers.
 * Answers 502 when the target does not answer.
 *
 * @returns why the target did not answer, or null.
 */
export async function forward(target: URL, { request, body, response }: Delivery): Promise<string | null> {
  const outgoing = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, {
    method: 'POST',
    agent: false,
    headers: [
      ...['Host', target.host, 'Content-Length', String(body.length), 'Connection', 'close'],
      ...endToEnd(request.rawHeaders),
    ],
  });
  // A reset after the head is an error of the request, too. By then `once` has removed its listener.
  outgoing.on('error', () => undefined);
  response.once('close', () => outgoing.destroy()); // the sender has stopped waiting
  try {
    const [answer] = (await once(outgoing.end(body), 'response')) as [IncomingMessage];
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.rawHeaders));
    response.flushHeaders(); // the sender needs only the head, which Node keeps until the body's first byte
    await pipeline(answer, response);
    return null;
  } catch (error) {
    const reason = `${target.href} does not answer: ${messageOf(error)}`;
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end(`${reason}\n`);
    return reason;
  }
}

/** Reads the whole body. @returns null when it is larger than any event. */
export async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return size > BODY_BYTES_MAX ? null : Buffer.concat(chunks);
}

/** Removes `OWN_HEADERS`. @param raw names and values in turn, as in `rawHeaders` */
function endToEnd(raw: readonly string[]): string[] {
  const nameAt = (index: number) => (raw[index - (index % 2)] ?? '').toLowerCase();
  return raw.filter((_, index) => !OWN_HEADERS.has(nameAt(index)));
}
