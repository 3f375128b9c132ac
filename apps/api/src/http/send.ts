import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LIMITS, problemDocument } from '@postrider/domain';
import type { ProblemBases } from '@postrider/domain';
import { FairByteBudget } from '@postrider/limits';
import type { Logger, Metrics } from '@postrider/runtime';
import { tooManyUnreadAnswers } from '../problems/answers.ts';
import { inPieces, PIECE_BYTES } from './answer.ts';
import type { Answer, FileAnswer } from './answer.ts';
import { PAGE_HEADERS } from './page.ts';
import { contextOf } from './request-context.ts';
import { hasUnreadBody, readOff } from './unread-body.ts';

/** Writes an answer. Writes nothing when the client has disconnected or an answer has begun. */
export type Send = (request: IncomingMessage, response: ServerResponse, answer: Answer) => void;

/** The memory budget for answers in progress. The first `bytesUncounted` of each answer do not count. */
const BUDGET = { bytesMax: 128 * 1024 * 1024, bytesUncounted: LIMITS.bodyBytes };
/** The budget owner of requests and answers without an API key. No key has this id. */
export const KEYLESS = 'keyless';

export function createSend(
  bases: ProblemBases,
  logger: Pick<Logger, 'warn'>,
  metrics: Pick<Metrics<'api'>, 'httpFailures'>,
): Send {
  const budget = new FairByteBudget(BUDGET);

  const send: Send = (request, response, answer) => {
    if (response.headersSent || response.destroyed) {
      if (answer.kind === 'file') answer.stream?.destroy();
      return;
    }
    const { requestId, key } = contextOf(response);
    const head = answer.kind === 'file' ? answer : rendered(answer, bases, requestId);
    const memoryBytes = 'text' in head ? head.length : (head.heldBytes ?? 0);
    const isLong = memoryBytes > PIECE_BYTES;
    if (isLong) {
      const owner = answer.kind === 'file' ? answer.owner : undefined;
      const held = budget.open(key?.id ?? owner ?? KEYLESS);
      if (!held.takeNow(memoryBytes)) {
        if (answer.kind === 'file') answer.stream?.destroy();
        send(request, response, tooManyUnreadAnswers);
        return;
      }
      response.once('close', () => held.release());
    }
    if (answer.kind === 'problem' && head.status >= 500) metrics.httpFailures.inc({ problem: answer.slug });
    writeHead(response, head);
    if (!('text' in head)) void sendStream(request, response, head.stream, logger);
    else if (isLong || hasUnreadBody(request, response))
      void sendStream(request, response, Readable.from(inPieces(Buffer.from(head.text))), logger);
    else response.end(head.text);
  };
  return send;
}

interface Head {
  readonly status: number;
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Content-Length in bytes. */
  readonly length: number;
}

interface Text extends Head {
  readonly text: string;
}

function writeHead(response: ServerResponse, { status, mediaType, headers, length }: Head): void {
  response.statusCode = status;
  response.setHeader('content-type', mediaType);
  response.setHeader('content-length', length);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // A 401 must name the scheme (RFC 9110 11.6.1).
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
}

/**
 * Writes the answer as fast as the client reads. At the same time it reads and drops the rest of the request.
 * Closing with unread bytes would reset the connection, and the client could lose the answer.
 */
async function sendStream(
  request: IncomingMessage,
  response: ServerResponse,
  stream: Readable | null,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const unread = hasUnreadBody(request, response) ? readOff(request) : null;
  if (unread !== null) {
    response.setHeader('connection', 'close');
    response.flushHeaders();
  }
  if (request.method === 'HEAD') stream?.destroy();
  else if (stream !== null) await pipe(stream, response, logger);
  await unread;
  if (!response.destroyed) response.end();
}

/**
 * Destroys the stream when the client disconnects. A failed stream destroys the connection, so that the
 * client sees that bytes are missing.
 */
async function pipe(stream: Readable, response: ServerResponse, logger: Pick<Logger, 'warn'>): Promise<void> {
  try {
    await pipeline(stream, response, { end: false });
  } catch (error) {
    if (response.destroyed) return; // the client has disconnected
    response.destroy();
    logger.warn('answer broken off: its bytes could not be read', {
      request_id: contextOf(response).requestId,
      error,
    });
  }
}

function rendered(answer: Exclude<Answer, FileAnswer>, bases: ProblemBases, requestId: string): Text {
  const whole = (status: number, mediaType: string, text: string, headers = {}): Text => {
    return { status, mediaType, headers, length: Buffer.byteLength(text), text };
  };
  switch (answer.kind) {
    case 'json':
      return whole(answer.status, 'application/json', JSON.stringify(answer.body));
    case 'html':
      return whole(200, 'text/html; charset=utf-8', answer.html, PAGE_HEADERS);
    case 'plain-text':
      return whole(answer.status, 'text/plain; charset=utf-8', answer.text);
    case 'problem': {
      const document = problemDocument(answer.slug, bases, requestId, answer);
      return whole(document.status, 'application/problem+json', JSON.stringify(document));
    }
  }
}
