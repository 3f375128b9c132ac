import { createHash, verify } from 'node:crypto';
import type { AuthResult } from '@postrider/domain';
import { NoAnswerError } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';
import { canonicalBody } from './canonical-body.ts';
import { canonicalHeader } from './canonical-header.ts';
import { findKey } from './dkim-key.ts';
import { readSignature } from './dkim-signature.ts';
import type { Canonicalization, Signature } from './dkim-signature.ts';
import type { HeaderField, MessageParts } from './message-fields.ts';

export interface DkimResult {
  readonly word: AuthResult;
  /** `d=`, in lower case. '' when it cannot be read. */
  readonly domain: string;
}

/** Signatures looked at, from the top: the last hops add theirs there. RFC 6376, section 6.1, lets a verifier limit them. */
export const SIGNATURES_MAX = 10;
/** One of 4096 bits with a long list of fields has about 2 KB; the time to read one can grow with its square. */
const SIGNATURE_BYTES_MAX = 8192;

interface Verification {
  readonly message: MessageParts;
  readonly resolve: Resolve;
  bodyOf(canonicalization: Canonicalization): HashedBody;
}

interface HashedBody {
  /** Bytes of the canonical body. */
  readonly length: number;
  /** SHA-256 in Base64. */
  readonly hash: string;
}

/**
 * Verifies the signatures of a message (RFC 6376), each with the word that RFC 8601, section 2.7.1, has for
 * it.
 *
 * A signature with `l=` passes only when it covers the whole body: text could be added behind the rest.
 */
export async function checkDkim(message: MessageParts, resolve: Resolve): Promise<readonly DkimResult[]> {
  const signatures = message.fields.filter(({ name }) => name === 'dkim-signature').slice(0, SIGNATURES_MAX);
  if (signatures.length === 0) return [];
  const bodies = new Map<Canonicalization, HashedBody>();
  const verification: Verification = {
    message,
    resolve,
    bodyOf(canonicalization) {
      const body = bodies.get(canonicalization) ?? hashed(canonicalBody(message.body, canonicalization));
      bodies.set(canonicalization, body);
      return body;
    },
  };
  return Promise.all(signatures.map((field) => verifyField(verification, field)));
}

/** One word for all signatures: the best of them. */
export function dkimWord(results: readonly DkimResult[]): AuthResult {
  const best = (['pass', 'temperror', 'fail', 'permerror', 'neutral'] as const).find((word) =>
    results.some((result) => result.word === word),
  );
  return best ?? 'none';
}

async function verifyField(verification: Verification, field: HeaderField): Promise<DkimResult> {
  const signature = field.line.length > SIGNATURE_BYTES_MAX ? null : readSignature(field.line);
  if (signature === null) return { word: 'neutral', domain: '' };
  return { word: await verifySignature(verification, signature), domain: signature.domain };
}

async function verifySignature(verification: Verification, signature: Signature): Promise<AuthResult> {
  // Without From the signature says nothing about the author (RFC 6376, section 5.4).
  if (!signature.signedNames.includes('from') || !verification.message.isWhole) return 'permerror';
  if (signature.expiresAtMs !== null && signature.expiresAtMs < Date.now()) return 'neutral';
  const body = verification.bodyOf(signature.bodyCanonicalization);
  if (signature.bodyLength !== null && signature.bodyLength < body.length) return 'neutral';
  if (body.hash !== signature.bodyHash) return 'fail';
  try {
    const publicKey = await findKey(signature, verification.resolve);
    return isSignedBy(publicKey, verification, signature) ? 'pass' : 'fail';
  } catch (error) {
    // Else no key for this signature, or one of another algorithm.
    return error instanceof NoAnswerError ? 'temperror' : 'neutral';
  }
}

function hashed(body: Buffer): HashedBody {
  return { length: body.length, hash: createHash('sha256').update(body).digest('base64') };
}

function isSignedBy(publicKey: string, { message }: Verification, signature: Signature): boolean {
  const lines = signedFields(message.fields, signature).map(({ line }) => line);
  const header = canonicalHeader(lines, signature);
  const value = Buffer.from(signature.value, 'base64');
  if (signature.algorithm === 'rsa-sha256') return verify('sha256', header, publicKey, value);
  // RFC 8463, section 3: Ed25519 signs the hash.
  return verify(null, createHash('sha256').update(header).digest(), publicKey, value);
}

/**
 * Of fields with one name the last is signed first; names beyond those that are there sign nothing. A signature's
 * own field is never among them (RFC 6376, section 3.5): `dkim-signature` in `h=` names the others.
 */
function signedFields(fields: readonly HeaderField[], { line, signedNames }: Signature): HeaderField[] {
  const left = byName(fields.filter((field) => field.line !== line));
  return signedNames.flatMap((name) => left.get(name)?.pop() ?? []);
}

function byName(fields: readonly HeaderField[]): Map<string, HeaderField[]> {
  const found = new Map<string, HeaderField[]>();
  for (const field of fields) {
    const same = found.get(field.name);
    if (same === undefined) found.set(field.name, [field]);
    else same.push(field);
  }
  return found;
}
