import { NOTIFICATION_AGE_HOURS_MAX } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import { parseSnsEnvelope, type SnsEnvelope } from './envelope.ts';
import type { SigningCertificates } from './signing-certificates.ts';
import { utcTimestamp } from '../utc-timestamp.ts';
import { verifySnsSignature } from './verify-signature.ts';

export interface SnsTrust {
  /** The topics of `SNS_TOPIC_ARNS`. Empty: every message is refused. */
  readonly topics: ReadonlySet<string>;
  readonly certificates: SigningCertificates;
  /** `SNS_ALLOW_SHA1`: signature version 1 is accepted too. */
  readonly allowSha1: boolean;
  readonly clock: Clock;
}

export type SnsReception =
  | { readonly kind: 'authentic'; readonly envelope: SnsEnvelope }
  | {
      /** `unavailable` is temporary: SNS retries after a 5xx. All other kinds are permanent: send a 4xx. */
      readonly kind:
        | 'unavailable'
        | 'bad_envelope'
        | 'unknown_topic'
        | 'untrusted_certificate'
        | 'bad_signature'
        | 'too_old';
      /** One line for the log, without text from the sender. */
      readonly why: string;
    };

/**
 * Decides whether a request body is an SNS message for one of our topics. The cheapest checks come first, and
 * nothing is fetched for a foreign topic. The age is checked last. An attacker may post a stored copy of an
 * old message, and the id that would show the repetition may already be deleted here.
 *
 * The caller has limited the body to 512 KiB: SNS sends up to 256 KiB of text, which JSON may escape.
 */
export async function authenticateSns(body: Uint8Array, trust: SnsTrust): Promise<SnsReception> {
  const parsed = parseSnsEnvelope(body);
  if (parsed.kind === 'bad_envelope') return parsed;
  const { envelope } = parsed;
  if (!trust.topics.has(envelope.TopicArn)) {
    return { kind: 'unknown_topic', why: 'TopicArn is not one of SNS_TOPIC_ARNS' };
  }
  // An attacker may create two messages with the same SHA-1 and let SNS sign the harmless one.
  if (envelope.SignatureVersion === '1' && !trust.allowSha1) {
    return { kind: 'bad_signature', why: 'SignatureVersion 1 (SHA-1) needs SNS_ALLOW_SHA1=true' };
  }
  const verdict = await verifySnsSignature(envelope, trust);
  if (verdict.kind !== 'verified') return verdict;
  return isTooOld(envelope, trust.clock)
    ? { kind: 'too_old', why: `older than ${NOTIFICATION_AGE_HOURS_MAX} hours` }
    : { kind: 'authentic', envelope };
}

/** The negated comparison makes an unreadable time (NaN) too old. */
function isTooOld({ Timestamp }: SnsEnvelope, clock: Clock): boolean {
  const ageMs = clock.now().getTime() - Date.parse(utcTimestamp(Timestamp) ?? '');
  return !(ageMs <= NOTIFICATION_AGE_HOURS_MAX * 60 * 60_000);
}
