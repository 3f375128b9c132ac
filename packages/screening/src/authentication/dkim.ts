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
  /** The domain of `d=`, in lower case; empty when the signature is unreadable. */
  readonly domain: string;
}

/**
 * We verify at most 10 signatures, from the top, where the last hops add theirs. RFC 6376, section 6.1,
 * allows such a limit.
 */
export const SIGNATURES_MAX = 10;
/**
 * A signature with a key of 4096 bits and many fields has about 2 KB. The parsing time can grow with the
 * square of its length.
 */
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
 * Verifies the signatures of a message (RFC 6376). Each result is a word of RFC 8601, section 2.7.1.
 *
 * A signature with `l=` passes only when it covers the whole body. Otherwise an attacker could append text.
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

/** Returns the best result of all signatures. */
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
  // A signature without From proves nothing about the author (RFC 6376, section 5.4).
  if (!signature.signedNames.includes('from') || !verification.message.isWhole) return 'permerror';
  if (signature.expiresAtMs !== null && signature.expiresAtMs < Date.now()) return 'neutral';
  const body = verification.bodyOf(signature.bodyCanonicalization);
  if (signature.bodyLength !== null && signature.bodyLength < body.length) return 'neutral';
  if (body.hash !== signature.bodyHash) return 'fail';
  try {
    const publicKey = await findKey(signature, verification.resolve);
    return isSignedBy(publicKey, verification, signature) ? 'pass' : 'fail';
  } catch (error) {
    // Any other error means that no usable key exists for this signature.
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
  // Ed25519 signs the hash (RFC 8463, section 3).
  return verify(null, createHash('sha256').update(header).digest(), publicKey, value);
}

/**
 * Picks the signed fields. With repeated names, `h=` takes the last field first, and a name without a field
 * signs nothing. The field of this signature is never included (RFC 6376, section 3.5): `dkim-signature` in
 * `h=` means the other ones.
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
