/** Why a request failed verification. */
export type SignatureFault = 'no-header' | 'malformed' | 'no-match' | 'timestamp-outside-window';

/** The request did not prove that the service sent it. Answer with a 4xx and do nothing more. */
export class SignatureVerificationError extends Error {
  override readonly name = 'SignatureVerificationError';
  readonly reason: SignatureFault;

  constructor(reason: SignatureFault, message: string) {
    super(message);
    this.reason = reason;
  }
}
