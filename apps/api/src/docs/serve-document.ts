import { Readable } from 'node:stream';
import { inPieces } from '../http/answer.ts';
import { PAGE_HEADERS } from '../http/page.ts';
import type { KeylessRoute } from '../routes/route.ts';
import { openApiDocument } from './openapi.ts';
import { referencePage } from './reference-page.ts';
import type { ShownDocument } from './reference-page.ts';

/**
 * `GET /openapi.json` and `GET /docs`: the document of the routes, which describes neither, and the same as a
 * page for people.
 */
export function documentRoutes(): readonly KeylessRoute[] {
  const document = () => openApiDocument();
  return [
    madeOnce('/openapi.json', 'application/json', {}, () => JSON.stringify(document())),
    madeOnce('/docs', 'text/html; charset=utf-8', PAGE_HEADERS, () =>
      referencePage(document() as unknown as ShownDocument),
    ),
  ];
}

/**
 * Serves a text. It is made at the first request and kept as bytes. All answers stream from the same bytes,
 * so an answer copies no bytes.
 */
function madeOnce(
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
