import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { AUTH_RESULTS } from '@postrider/domain';
import type { AuthResult } from '@postrider/domain';
import type { Resolve } from './bounded-resolver.ts';

export interface DkimResult {
  readonly word: AuthResult;
  /** The domain of `d=`. */
  readonly domain: string;
}

type VerifiedSignature = Awaited<ReturnType<typeof dkimVerify>>['results'][number];

/**
 * Verifies the signatures of a message (RFC 6376). Returns one result per signature, with a word of RFC 8601,
 * section 2.7.1. mailauth's `policy` (a weak key or SHA-1) becomes `neutral`.
 *
 * @param message as `cutHeader` returns it: mailauth needs seconds for each signature
 */
export async function checkDkim(message: Buffer, resolve: Resolve): Promise<readonly DkimResult[]> {
  const { results } = await dkimVerify(message, { resolver: resolve, rejectRsaSha1: true });
  // An unsigned message has one result, without a domain.
  return results.flatMap((signature) =>
    signature.signingDomain === undefined
      ? []
      : [{ word: wordOf(signature), domain: signature.signingDomain }],
  );
}

/**
 * Returns the best result of all signatures. `pass` comes first: one valid signature is enough. `temperror`
 * is next: that signature may be valid.
 */
export function dkimWord(results: readonly DkimResult[]): AuthResult {
  const best = (['pass', 'temperror', 'fail', 'permerror', 'neutral'] as const).find((word) =>
    results.some((result) => result.word === word),
  );
  return best ?? 'none';
}

function wordOf({ status, bodyHash, bodyHashExpecting }: VerifiedSignature): AuthResult {
  // A signature with `l=` may leave appended text unsigned. The domain of `i=` must be `d=` or a subdomain.
  if ((status.underSized ?? 0) > 0 || status.warnings?.includes('identity-domain')) return 'neutral';
  if (bodyHash !== undefined && bodyHash !== bodyHashExpecting) return 'fail';
  return AUTH_RESULTS.find((word) => word === status.result) ?? 'neutral';
}
