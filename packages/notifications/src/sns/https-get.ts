/**
 * Makes one GET and settles within a time of its own: no redirects, no retries, a bounded answer. What it is given is
 * always an address of SNS. Rejects only for a fault of this machine.
 */
export type HttpsGet = (url: URL) => Promise<HttpsAnswer>;

/** A complete answer with any status, or one line that says why there is none. */
export type HttpsAnswer =
  | { readonly kind: 'answered'; readonly statusCode: number; readonly body: Uint8Array }
  | { readonly kind: 'failed'; readonly error: string };
