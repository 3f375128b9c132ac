import type { Envelope } from '../verdicts.ts';

export interface VirusScanner {
  /** @throws ScreeningUnavailableError */
  scan(raw: Uint8Array): Promise<VirusScan>;
}

export interface VirusScan {
  readonly virus: boolean;
  /** What the scanner calls it; null when it found none. */
  readonly signature: string | null;
}

export interface SpamScanner {
  /** @throws ScreeningUnavailableError */
  scan(raw: Uint8Array, envelope: Envelope): Promise<SpamScan>;
}

export interface SpamScan {
  readonly spam: boolean;
  /** In the scanner's own measure. */
  readonly score: number;
}

/** A scanner gave no verdict: it is away, too slow, refuses the message, or answers what cannot be read. */
export class ScreeningUnavailableError extends Error {
  override name = 'ScreeningUnavailableError';
  readonly scanner: 'clamd' | 'rspamd';

  constructor(scanner: 'clamd' | 'rspamd', reason: string, options?: ErrorOptions) {
    super(`${scanner}: ${reason}`, options);
    this.scanner = scanner;
  }
}
