import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { problemDocument } from '@postrider/domain';
import type { ProblemBases } from '@postrider/domain';
import type { Logger } from '@postrider/runtime';
import type { Answer, FileAnswer } from './answer.ts';
import { bodyFault } from './broken-body.ts';
import { PAGE_HEADERS } from './page.ts';
import { contextOf } from './request-context.ts';
import { hasUnreadBody, readOff } from './unread-body.ts';

/** Writes an answer. Does nothing when the client has disconnected or an answer has begun. */
export type Send = (request: IncomingMessage, response: ServerResponse, answer: Answer) => void;

export function createSend(bases: ProblemBases, logger: Pick<Logger, 'warn'>): Send {
  return (request, response, answer) => {
    if (response.headersSent || response.destroyed) {
      if (answer.kind === 'file') answer.stream?.destroy();
      return;
    }
    if (answer.kind === 'file') {
      void sendFile(request, response, answer, logger);
      return;
    }
    const { requestId } = contextOf(response);
    const { status, mediaType, text, headers = {} } = rendered(answer, bases, requestId);
    writeHead(response, { status, mediaType, headers, length: Buffer.byteLength(text) });
    if (isWhole(request, response)) response.end(text);
    else void sendWhileReceiving(request, response, text);
  };
}

interface Head {
  readonly status: number;
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Content-Length in bytes. */
  readonly length: number;
}

function writeHead(response: ServerResponse, { status, mediaType, headers, length }: Head): void {
  response.statusCode = status;
  response.setHeader('content-type', mediaType);
  response.setHeader('content-length', length);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // A 401 must name the scheme (RFC 9110 11.6.1).
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
}

/** True when Node needs no help to read the rest of the request. */
function isWhole(request: IncomingMessage, response: ServerResponse): boolean {
  const comesNoMore = contextOf(response).awaitsContinue || bodyFault(request) !== null;
  return comesNoMore || !hasUnreadBody(request, response);
}

/** Streams the file, and meanwhile reads and drops the rest of the request. */
async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  file: FileAnswer,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const unread = isWhole(request, response) ? null : readOff(request);
  if (unread !== null) response.setHeader('connection', 'close');
  writeHead(response, file);
  if (file.stream !== null) await sendStream(file.stream, response, logger);
  await unread;
  if (!response.destroyed) response.end();
}

/**
 * Destroys the stream when the client disconnects. A failed stream destroys the connection, to show the loss.
 */
async function sendStream(
  stream: Readable,
  response: ServerResponse,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
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

/**
 * Answers a client that is still sending. Closing at once would reset the connection, and the client could
 * lose the answer. So we write the whole answer, read the rest of the request, and end the response last.
 */
async function sendWhileReceiving(
  request: IncomingMessage,
  response: ServerResponse,
  text: string,
): Promise<void> {
  response.setHeader('connection', 'close');
  response.flushHeaders();
  response.write(text);
  await readOff(request);
  response.end();
}

interface Rendered {
  readonly status: number;
  readonly mediaType: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function rendered(answer: Exclude<Answer, FileAnswer>, bases: ProblemBases, requestId: string): Rendered {
  switch (answer.kind) {
    case 'json':
      return { status: answer.status, mediaType: 'application/json', text: JSON.stringify(answer.body) };
    case 'html':
      return { status: 200, mediaType: 'text/html; charset=utf-8', text: answer.html, headers: PAGE_HEADERS };
    case 'plain-text':
      return { status: answer.status, mediaType: 'text/plain; charset=utf-8', text: answer.text };
    case 'problem': {
      const document = problemDocument(answer.slug, bases, requestId, answer);
      return {
        status: document.status,
        mediaType: 'application/problem+json',
        text: JSON.stringify(document),
      };
    }
  }
}
