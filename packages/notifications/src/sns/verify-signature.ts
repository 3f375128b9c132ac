import { verify, type X509Certificate } from 'node:crypto';
import type { Clock } from '@postrider/domain';
import type { SnsEnvelope } from './envelope.ts';
import { parseSigningCertUrl } from './pinned-urls.ts';
import type { SigningCertificates } from './signing-certificates.ts';
import { stringToSign } from './string-to-sign.ts';

export type SignatureVerdict =
  | { readonly kind: 'verified' }
  /**
   * `untrusted_certificate`: the envelope names a certificate that is not SNS's, is not yet valid, or has
   * expired. `unavailable`: SNS does not give the certificate now.
   */
  | {
      readonly kind: 'bad_signature' | 'untrusted_certificate' | 'unavailable';
      readonly why: string;
    };

/** The digest of each SignatureVersion, with PKCS #1 v1.5. */
const DIGESTS = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' } as const;

/**
 * Checks whether SNS wrote the envelope. The certificate is trusted because TLS proves that it came from
 * SNS's host. So the address is always checked first, even for a cached certificate.
 */
export async function verifySnsSignature(
  envelope: SnsEnvelope,
  { certificates, clock }: { certificates: SigningCertificates; clock: Clock },
): Promise<SignatureVerdict> {
  const url = parseSigningCertUrl(envelope.SigningCertURL);
  if (url === null) return { kind: 'untrusted_certificate', why: 'SigningCertURL is not an address of SNS' };
  const answer = await certificates.find(url);
  if (answer.kind === 'unavailable') return { ...answer, why: `signing certificate: ${answer.why}` };
  const fault = datesFault(answer.certificate, clock);
  if (fault !== null) return { kind: 'untrusted_certificate', why: fault };
  return isSignedWith(envelope, answer.certificate)
    ? { kind: 'verified' }
    : { kind: 'bad_signature', why: 'the signature does not fit the message' };
}

/** The dates are texts, such as `Nov  1 00:00:00 2026 GMT`. */
function datesFault(certificate: X509Certificate, clock: Clock): string | null {
  const nowMs = clock.now().getTime();
  // The negated comparisons make an unreadable date (NaN) a fault.
  if (!(nowMs >= Date.parse(certificate.validFrom))) return 'the certificate is not yet valid';
  if (!(nowMs <= Date.parse(certificate.validTo))) return 'the certificate has expired';
  return null;
}

function isSignedWith(envelope: SnsEnvelope, certificate: X509Certificate): boolean {
  return verify(
    DIGESTS[envelope.SignatureVersion],
    Buffer.from(stringToSign(envelope), 'utf8'),
    certificate.publicKey,
    Buffer.from(envelope.Signature, 'base64'),
  );
}
