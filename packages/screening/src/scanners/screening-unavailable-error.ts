/** A scanner gave no verdict: it is away or too slow, refused the message, or sent an unreadable answer. */
export class ScreeningUnavailableError extends Error {
  override name = 'ScreeningUnavailableError';

  constructor(scanner: 'clamd' | 'rspamd', reason: string, options?: ErrorOptions) {
    super(`${scanner}: ${reason}`, options);
  }
}
