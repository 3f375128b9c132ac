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

/** Writes an answer to the wire; does nothing when the client is gone or an answer has begun. */
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
  /** Of the body, in bytes. */
  readonly length: number;
}

function writeHead(response: ServerResponse, { status, mediaType, headers, length }: Head): void {
  response.statusCode = status;
  response.setHeader('content-type', mediaType);
  response.setHeader('content-length', length);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // RFC 9110 11.6.1: a 401 names the scheme.
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
}

/** Whether nothing more of the request comes that Node does not read off by itself. */
function isWhole(request: IncomingMessage, response: ServerResponse): boolean {
  const comesNoMore = contextOf(response).awaitsContinue || bodyFault(request) !== null;
  return comesNoMore || !hasUnreadBody(request, response);
}

/** Sends the bytes as they come, and reads off what still comes of the request meanwhile. */
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

/** Destroys the stream when the client goes away, and the connection when the stream fails: half is not taken for all. */
async function sendStream(
  stream: Readable,
  response: ServerResponse,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  try {
    await pipeline(stream, response, { end: false });
  } catch (error) {
    if (response.destroyed) return; // the client is gone
    response.destroy();
    logger.warn('answer broken off: its bytes could not be read', {
      request_id: contextOf(response).requestId,
      error,
    });
  }
}

/**
 * Answers a client that is still sending. To close at once would reset the connection and could take the answer
 * away from it; so the whole answer goes out first, and the response only ends once the rest was read off.
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
