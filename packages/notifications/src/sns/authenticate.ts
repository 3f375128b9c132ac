import { NOTIFICATION_AGE_HOURS_MAX } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import { parseSnsEnvelope, type SnsEnvelope } from './envelope.ts';
import type { SigningCertificates } from './signing-certificates.ts';
import { utcTimestamp } from '../utc-timestamp.ts';
import { verifySnsSignature } from './verify-signature.ts';

export interface SnsTrust {
  /** The topics of `SNS_TOPIC_ARNS`. Empty: nobody is believed. */
  readonly topics: ReadonlySet<string>;
  readonly certificates: SigningCertificates;
  /** `SNS_ALLOW_SHA1`: signature version 1 is believed as well. */
  readonly allowSha1: boolean;
  readonly clock: Clock;
}

export type SnsReception =
  | { readonly kind: 'authentic'; readonly envelope: SnsEnvelope }
  /** For good: a 4xx, after which SNS does not come again. */
  | {
      readonly kind: 'refused';
      readonly reason:
        'bad_envelope' | 'unknown_topic' | 'untrusted_certificate' | 'bad_signature' | 'too_old';
      /** One line for the log; it quotes nothing that the sender wrote. */
      readonly why: string;
    }
  /** For now: a 5xx, after which SNS comes again. */
  | { readonly kind: 'unavailable'; readonly why: string };

/**
 * Decides whether a request body is a message of SNS for one of our topics. Cheapest first, and nothing is fetched for
 * a message whose topic is not ours. Its age comes last: one that is too old and truly signed is a copy that somebody kept,
 * and its id may have been forgotten here. The caller has bounded the body before this (512 KiB: SNS sends up to 256 KiB of
 * text, which JSON may escape).
 */
export async function authenticateSns(body: Uint8Array, trust: SnsTrust): Promise<SnsReception> {
  const parsed = parseSnsEnvelope(body);
  if (parsed.kind === 'bad_envelope') return { kind: 'refused', reason: parsed.kind, why: parsed.why };
  const { envelope } = parsed;
  if (!trust.topics.has(envelope.TopicArn)) {
    return { kind: 'refused', reason: 'unknown_topic', why: 'TopicArn is not one of SNS_TOPIC_ARNS' };
  }
  // Somebody may find two messages with one SHA-1, and have SNS sign the harmless one.
  if (envelope.SignatureVersion === '1' && !trust.allowSha1) {
    const why = 'SignatureVersion 1 (SHA-1) needs SNS_ALLOW_SHA1=true';
    return { kind: 'refused', reason: 'bad_signature', why };
  }
  const verdict = await verifySnsSignature(envelope, trust);
  switch (verdict.kind) {
    case 'verified':
      return isTooOld(envelope, trust.clock)
        ? { kind: 'refused', reason: 'too_old', why: `older than ${NOTIFICATION_AGE_HOURS_MAX} hours` }
        : { kind: 'authentic', envelope };
    case 'certificate_unavailable':
      return { kind: 'unavailable', why: `signing certificate: ${verdict.why}` };
    case 'untrusted_certificate':
    case 'bad_signature':
      return { kind: 'refused', reason: verdict.kind, why: verdict.why };
  }
}

/** Written so that a time which cannot be read counts as too long ago. */
function isTooOld({ Timestamp }: SnsEnvelope, clock: Clock): boolean {
  const ageMs = clock.now().getTime() - Date.parse(utcTimestamp(Timestamp) ?? '');
  return !(ageMs <= NOTIFICATION_AGE_HOURS_MAX * 60 * 60_000);
}
