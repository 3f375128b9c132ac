import type { Envelope } from '../verdicts.ts';

export interface VirusScanner {
  /** @throws ScreeningUnavailableError */
  scan(raw: Uint8Array): Promise<VirusScan>;
}

export interface VirusScan {
  readonly virus: boolean;
  /** The name that the scanner gives the virus; null when it found none. */
  readonly signature: string | null;
}

export interface SpamScanner {
  /** @throws ScreeningUnavailableError */
  scan(raw: Uint8Array, envelope: Envelope): Promise<SpamScan>;
}

export interface SpamScan {
  readonly spam: boolean;
  /** The score on the scale of the scanner. */
  readonly score: number;
}

/** A scanner gave no verdict: it is away or too slow, refused the message, or sent an unreadable answer. */
export class ScreeningUnavailableError extends Error {
  override name = 'ScreeningUnavailableError';
  readonly scanner: 'clamd' | 'rspamd';

  constructor(scanner: 'clamd' | 'rspamd', reason: string, options?: ErrorOptions) {
    super(`${scanner}: ${reason}`, options);
    this.scanner = scanner;
  }
}
