import type { AuthResult, HeldReason } from '@postrider/domain';
import { heldReason } from '@postrider/screening';
import type { ClamdScanner, Envelope, RspamdScanner, SenderAuthentication } from '@postrider/screening';
import { ScreeningUnavailableError } from '@postrider/screening';
import { settleAll } from './settle-all.ts';
import type { StageTimer } from './stage-timer.ts';

export interface Screened {
  readonly auth: { readonly spf: AuthResult; readonly dkim: AuthResult; readonly dmarc: AuthResult };
  /** Null: the message is received, unless an account blocks the sender. */
  readonly heldReason: HeldReason | null;
}

export interface ScreeningParts {
  readonly authentication: Pick<SenderAuthentication, 'authenticate'>;
  /** Null when none is configured. */
  readonly virusScanner: Pick<ClamdScanner, 'scan'> | null;
  readonly spamScanner: Pick<RspamdScanner, 'scan'> | null;
  /** True: mail waits while a scanner is away. False: mail is received without its verdict. */
  readonly required: boolean;
  /** Called when a scanner is away and not required. */
  readonly onUnjudged: (error: Error) => void;
}

export class Screening {
  readonly #parts: ScreeningParts;

  constructor(parts: ScreeningParts) {
    this.#parts = parts;
  }

  /**
   * It settles only when nothing reads the bytes any more.
   * @throws ScreeningUnavailableError when a required scanner is away
   */
  async screen(raw: Buffer, envelope: Envelope, timer: StageTimer): Promise<Screened> {
    const { authentication, virusScanner, spamScanner } = this.#parts;
    const [sender, [virus, spam]] = await settleAll([
      timer.timed('authenticate', authentication.authenticate(raw, envelope)),
      timer.timed(
        'scan',
        settleAll([this.#judged(virusScanner?.scan(raw)), this.#judged(spamScanner?.scan(raw, envelope))]),
      ),
    ]);
    const verdicts = { ...sender, virus: virus?.virus ?? false, spam: spam?.spam ?? null };
    return { auth: sender.auth, heldReason: heldReason(verdicts) };
  }

  /** @returns null when the scanner is not configured, or away and not required */
  async #judged<Scan>(scan: Promise<Scan> | undefined): Promise<Scan | null> {
    const { required, onUnjudged } = this.#parts;
    try {
      return (await scan) ?? null;
    } catch (error) {
      if (required || !(error instanceof ScreeningUnavailableError)) throw error;
      onUnjudged(error);
      return null;
    }
  }
}
