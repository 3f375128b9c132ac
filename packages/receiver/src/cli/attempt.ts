import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { WebhookEvent } from '../webhook-event.ts';
import { Failure, messageOf } from './io.ts';
import type { Io } from './io.ts';
import { signatureHeader } from './sample-event.ts';

/** The time limit of an attempt by default (`DELIVERY_TIMEOUT_MS`). */
const TIMEOUT_MS = 10_000;
const SHOWN_BYTES = 1_024;

/** A handler, and how to sign for it. */
export interface Handler {
  readonly target: URL;
  readonly secret: string;
  /** The first part of the header names. */
  readonly prefix: string;
  /** The time in the signature. */
  readonly at: Date;
}

/**
 * Posts an event in the way and with the headers of the service.
 *
 * @returns the status, and the beginning of the answer's body on one line.
 * @throws Failure when no answer comes.
 */
export async function attempt(
  event: WebhookEvent,
  { target, secret, prefix, at }: Handler,
  io: Pick<Io, 'timeoutMs'>,
): Promise<{ status: number; text: string }> {
  const { timeoutMs = TIMEOUT_MS } = io;
  const body = JSON.stringify(event);
  const bytes = Buffer.from(body);
  const request = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': bytes.length,
      'Accept-Encoding': 'identity',
      'User-Agent': 'Postrider/1',
      [`${prefix}-Signature`]: signatureHeader(secret, body, at),
      [`${prefix}-Event-Id`]: event.id,
      [`${prefix}-Event-Type`]: event.type,
    },
  });
  try {
    const [answer] = (await once(request.end(bytes), 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, text: await beginningOf(answer) };
  } catch (error) {
    const isTimeout = error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name);
    const reason = isTimeout ? `no answer within ${timeoutMs / 1000} s` : messageOf(error);
    throw new Failure(`${target.href} does not answer: ${reason}`, { cause: error });
  } finally {
    request.destroy();
  }
}

/** Never rejects: the status decides. A body that breaks off or does not end is shown as far as it came. */
async function beginningOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= SHOWN_BYTES) break;
    }
  } catch {
    // as far as it came
  }
  const text = Buffer.concat(chunks).subarray(0, SHOWN_BYTES).toString('utf8');
  return text.replace(/\s+/g, ' ').trim();
}
