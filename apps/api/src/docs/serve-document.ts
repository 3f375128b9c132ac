import { Readable } from 'node:stream';
import { inPieces } from '../http/answer.ts';
import type { KeylessRoute } from '../routes/route.ts';
import { openApiDocument } from './openapi.ts';

/**
 * `GET /openapi.json`: the document of the routes, which does not describe this one. It is made at the first
 * request and kept as bytes. All answers stream from the same bytes, so an answer costs no memory.
 */
export function serveDocument(): KeylessRoute {
  let made: Buffer | undefined;
  return {
    method: 'get',
    path: '/openapi.json',
    scope: null,
    async handle() {
      const bytes = (made ??= Buffer.from(JSON.stringify(openApiDocument())));
      return {
        kind: 'file',
        status: 200,
        mediaType: 'application/json',
        headers: {},
        length: bytes.length,
        stream: Readable.from(inPieces(bytes)),
      };
    },
  };
}
