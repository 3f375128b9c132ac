/**
 * A scanner gave no verdict: it is away or too slow, refused the message, or sent an unreadable answer. Or no
 * name server answered for the policy of the author.
 */
export class ScreeningUnavailableError extends Error {
  override name = 'ScreeningUnavailableError';
  readonly scanner: 'clamd' | 'rspamd' | 'name servers';

  constructor(scanner: 'clamd' | 'rspamd' | 'name servers', reason: string, options?: ErrorOptions) {
    super(`${scanner}: ${reason}`, options);
    this.scanner = scanner;
  }
}
