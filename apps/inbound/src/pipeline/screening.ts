import { createHash } from 'node:crypto';
import type { AuthResults, HeldReason } from '@postrider/domain';
import type { LogFields } from '@postrider/runtime';
import { heldReason } from '@postrider/screening';
import type { ClamdScanner, Envelope, RspamdScanner, SenderAuthentication } from '@postrider/screening';
import { ScreeningUnavailableError } from '@postrider/screening';
import { settleAll } from './settle-all.ts';
import { timed } from './stage-timer.ts';
import type { StageMetrics } from './stage-timer.ts';
import { TryCounter } from './try-counter.ts';

export interface Screened {
  readonly auth: AuthResults;
  /** Null: the message is received, unless an account blocks the sender. */
  readonly heldReason: HeldReason | null;
}

export interface ScreeningParts {
  readonly metrics: StageMetrics;
  readonly authentication: Pick<SenderAuthentication, 'authenticate'>;
  /** Null when none is configured. */
  readonly virusScanner: Pick<ClamdScanner, 'scan'> | null;
  readonly spamScanner: Pick<RspamdScanner, 'scan'> | null;
  /** From this try of the sender on, a message is judged even if its author's DMARC policy is unavailable. */
  readonly triesUntilJudged: number;
  /** True: mail waits while a scanner is away. False: mail is received without that scanner's verdict. */
  readonly required: boolean;
  /** Called when a scanner is away and `required` is false. @param logFields identify the message */
  readonly onUnjudged: (error: Error, logFields: LogFields) => void;
}

/**
 * No name server answered for the DMARC policy of the author's domain or of a related domain. Often the
 * domain's own name servers are at fault.
 */
export class AuthorUnavailableError extends Error {
  override readonly name = 'AuthorUnavailableError';
  override readonly message = 'no name server answers for the domain of the author or a related one';
}

export class Screening {
  readonly #parts: ScreeningParts;
  readonly #tries = new TryCounter();

  constructor(parts: ScreeningParts) {
    this.#parts = parts;
  }

  /**
   * Settles only when nothing reads the bytes of `raw` any more.
   * @throws ScreeningUnavailableError when a required scanner is away
   * @throws AuthorUnavailableError when the sender can still try again
   */
  async screen(raw: Buffer, envelope: Envelope, logFields: LogFields): Promise<Screened> {
    const { metrics, authentication, virusScanner, spamScanner, triesUntilJudged } = this.#parts;
    const scans = settleAll([
      this.#judged(virusScanner?.scan(raw), logFields),
      this.#judged(spamScanner?.scan(raw, envelope), logFields),
    ]);
    const [sender, [virus, spam]] = await settleAll([
      timed(metrics, 'authenticate', authentication.authenticate(raw, envelope)),
      virusScanner === null && spamScanner === null ? scans : timed(metrics, 'scan', scans),
    ]);
    if (sender.isAuthorUnavailable && this.#tries.count(keyOf(raw, envelope)) < triesUntilJudged)
      throw new AuthorUnavailableError();
    const verdicts = { ...sender, virus: virus ?? false, spam };
    return { auth: sender.auth, heldReason: heldReason(verdicts) };
  }

  /** @returns null when the scanner is not configured, or away and not required */
  async #judged(scan: Promise<boolean> | undefined, logFields: LogFields): Promise<boolean | null> {
    const { required, onUnjudged } = this.#parts;
    try {
      return (await scan) ?? null;
    } catch (error) {
      if (required || !(error instanceof ScreeningUnavailableError)) throw error;
      onUnjudged(error, logFields);
      return null;
    }
  }
}

/** A sender repeats a message with the same bytes and the same envelope. */
function keyOf(raw: Buffer, { mailFrom, rcptTo }: Envelope): string {
  return createHash('sha256')
    .update(raw)
    .update([mailFrom, ...rcptTo].join('\n'))
    .digest('hex');
}
