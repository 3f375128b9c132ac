/**
 * Makes one GET with its own time limit. It follows no redirects, does not retry, and limits the answer's
 * size. The URL is always an address of SNS. The promise rejects only for a fault of this machine.
 */
export type HttpsGet = (url: URL) => Promise<HttpsAnswer>;

/** A complete answer with any status, or one line about the failure. */
export type HttpsAnswer =
  | { readonly kind: 'answered'; readonly statusCode: number; readonly body: Uint8Array }
  | { readonly kind: 'failed'; readonly error: string };
