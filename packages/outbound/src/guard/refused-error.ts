/** The guard refused a connection; the message is the guard's own line. Nothing was sent. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}
