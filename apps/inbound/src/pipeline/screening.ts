import type { AuthResult, HeldReason } from '@postrider/domain';
import { heldReason } from '@postrider/screening';
import type { Envelope, SenderAuthentication, SpamScanner, VirusScanner } from '@postrider/screening';
import { ScreeningUnavailableError } from '@postrider/screening';
import { settleAll } from './settle-all.ts';
import type { Stages } from './stages.ts';

export interface Screened {
  readonly auth: { readonly spf: AuthResult; readonly dkim: AuthResult; readonly dmarc: AuthResult };
  /** Null: received, unless an account blocks the sender. */
  readonly heldReason: HeldReason | null;
}

export interface ScreeningParts {
  readonly authentication: Pick<SenderAuthentication, 'authenticate'>;
  /** Null: none is configured. */
  readonly virusScanner: VirusScanner | null;
  readonly spamScanner: SpamScanner | null;
  /** Whether mail waits while a scanner is away. */
  readonly required: boolean;
  /** Told of a scanner that is away while it is not required. */
  readonly onUnjudged: (error: Error) => void;
}

export interface Screening {
  /**
   * Settles when nothing reads the bytes any more.
   * @throws ScreeningUnavailableError when a scanner is away and required
   */
  screen(raw: Buffer, envelope: Envelope, stages: Stages): Promise<Screened>;
}

export function createScreening(parts: ScreeningParts): Screening {
  const { authentication, virusScanner, spamScanner } = parts;

  /** @returns null where it is not judged. */
  async function judged<Scan>(scan: Promise<Scan> | undefined): Promise<Scan | null> {
    try {
      return (await scan) ?? null;
    } catch (error) {
      if (parts.required || !(error instanceof ScreeningUnavailableError)) throw error;
      parts.onUnjudged(error);
      return null;
    }
  }

  return {
    async screen(raw, envelope, stages) {
      const [sender, [virus, spam]] = await settleAll([
        stages.timed('authenticate', authentication.authenticate(raw, envelope)),
        stages.timed(
          'scan',
          settleAll([judged(virusScanner?.scan(raw)), judged(spamScanner?.scan(raw, envelope))]),
        ),
      ]);
      const verdicts = { ...sender, virus: virus?.virus ?? false, spam: spam?.spam ?? null };
      return { auth: sender.auth, heldReason: heldReason(verdicts, false) };
    },
  };
}
