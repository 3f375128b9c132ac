import type { IncomingMessage, ServerResponse } from 'node:http';
import { problemDocument } from '@postrider/domain';
import type { ProblemBases } from '@postrider/domain';
import type { Answer } from './answer.ts';
import { bodyFault } from './broken-body.ts';
import { PAGE_HEADERS } from './page.ts';
import { contextOf } from './request-context.ts';
import { hasUnreadBody, readOff } from './unread-body.ts';

/** Writes an answer to the wire; does nothing when the client is gone or an answer has begun. */
export type Send = (request: IncomingMessage, response: ServerResponse, answer: Answer) => void;

export function createSend(bases: ProblemBases): Send {
  return (request, response, answer) => {
    if (response.headersSent || response.destroyed) return;
    const { requestId, awaitsContinue } = contextOf(response);
    const { status, mediaType, text, headers = {} } = rendered(answer, bases, requestId);
    response.statusCode = status;
    response.setHeader('content-type', mediaType);
    response.setHeader('content-length', Buffer.byteLength(text));
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // RFC 9110 11.6.1: a 401 names the scheme.
    if (status === 401) response.setHeader('www-authenticate', 'Bearer');
    const comesNoMore = awaitsContinue || bodyFault(request) !== null;
    if (comesNoMore || !hasUnreadBody(request, response)) response.end(text);
    else void sendWhileReceiving(request, response, text);
  };
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

function rendered(answer: Answer, bases: ProblemBases, requestId: string): Rendered {
  switch (answer.kind) {
    case 'json':
      return { status: answer.status, mediaType: 'application/json', text: JSON.stringify(answer.body) };
    case 'page':
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
