import { Readable } from 'node:stream';
import { inPieces } from '../http/answer.ts';
import { PAGE_HEADERS } from '../http/page.ts';
import type { KeylessRoute } from '../routes/route.ts';
import { openApiDocument } from './openapi.ts';
import { referencePage } from './reference-page.ts';
import type { ShownDocument } from './reference-page.ts';

/**
 * `GET /openapi.json` returns the OpenAPI document. `GET /docs` shows it as HTML. The document does not list
 * these two routes.
 */
export function documentRoutes(): readonly KeylessRoute[] {
  return [
    cachedDocument('/openapi.json', 'application/json', {}, () => JSON.stringify(openApiDocument())),
    cachedDocument('/docs', 'text/html; charset=utf-8', PAGE_HEADERS, () =>
      referencePage(openApiDocument() as unknown as ShownDocument),
    ),
  ];
}

/**
 * Serves a text. It is made at the first request and kept as bytes. All answers stream from the same bytes,
 * so an answer copies no bytes.
 */
function cachedDocument(
  path: string,
  mediaType: string,
  headers: Readonly<Record<string, string>>,
  make: () => string,
): KeylessRoute {
  let made: Buffer | undefined;
  return {
    method: 'get',
    path,
    scope: null,
    async handle() {
      const bytes = (made ??= Buffer.from(make()));
      return {
        kind: 'file',
        status: 200,
        mediaType,
        headers,
        length: bytes.length,
        stream: Readable.from(inPieces(bytes)),
      };
    },
  };
}
