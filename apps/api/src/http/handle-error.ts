import type { IncomingMessage, ServerResponse } from 'node:http';
import { BlobStoreUnavailableError } from '@postrider/blobs';
import { errorCode } from '@postrider/runtime';
import type { Logger, Metrics } from '@postrider/runtime';
import { isUnavailable, unavailableInWords } from '@postrider/store';
import { internal, noSuchRoute, notReady } from '../problems/answers.ts';
import { contextOf } from './request-context.ts';
import type { Send } from './send.ts';

/** The last middleware. Our own errors become a 503 or 500 and a log line, and a malformed path a 404. */
export function createErrorHandler(
  send: Send,
  logger: Logger,
  metrics: Pick<Metrics<'api'>, 'postgresErrors'>,
) {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request: IncomingMessage, response: ServerResponse, _next: unknown): void => {
    if (isMalformedPath(error)) {
      send(request, response, noSuchRoute);
      return;
    }
    const unavailable = isUnavailable(error);
    const blobsUnavailable = error instanceof BlobStoreUnavailableError;
    const fields = { request_id: contextOf(response).requestId, error };
    if (blobsUnavailable) logger.warn('request not served: the blob store is not available', fields);
    else if (unavailable) {
      metrics.postgresErrors.inc({ code: errorCode(error) });
      logger.warn(`request not served: ${unavailableInWords(error)}`, fields);
    } else logger.error('request failed', fields);
    if (response.headersSent) response.destroy();
    else send(request, response, unavailable || blobsUnavailable ? notReady : internal);
  };
}

/** Express could not decode a percent-escape in the path. */
function isMalformedPath(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
}
