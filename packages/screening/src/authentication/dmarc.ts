import type { AuthResult } from '@postrider/domain';
import type { DmarcPolicy } from '../verdicts.ts';
import { NoAnswerError } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';
import type { DkimResult } from './dkim.ts';
import { findDmarcRecord, organizationalDomain } from './dmarc-record.ts';
import type { DmarcRecord } from './dmarc-record.ts';
import type { SpfResult } from './spf.ts';

/** An author's domain and its DMARC record. */
export interface Author {
  readonly domain: string;
  /** `temperror` when no name server answered. */
  readonly record: DmarcRecord | null | 'temperror';
}

export interface DmarcResult {
  readonly word: AuthResult;
  readonly policy: DmarcPolicy;
}

/** The authenticated domains of the message. `spf` is null when SPF was not judged. */
export interface Identifiers {
  readonly spf: SpfResult | null;
  readonly dkim: readonly DkimResult[];
}

const STRICTEST_FIRST: readonly DmarcPolicy[] = ['reject', 'quarantine', 'none'];
const WORST_FIRST: readonly AuthResult[] = ['fail', 'temperror', 'none'];

export async function findAuthor(domain: string, resolve: Resolve): Promise<Author> {
  try {
    return { domain, record: await findDmarcRecord(domain, resolve) };
  } catch (error) {
    if (error instanceof NoAnswerError) return { domain, record: 'temperror' };
    throw error;
  }
}

/**
 * Judges DMARC (RFC 7489, section 6.6.2). We do not use mailauth's version. It relaxes strict alignment, and
 * it reports a failure when no name server gave the key.
 *
 * RFC 5322 requires one From field. With several authors, we judge each domain and take the worst result:
 * `pass` needs every domain to pass (section 6.6.1). Without an author the result is `none` (section 11.2).
 *
 * @param authors null when there are too many authors, or one is unreadable. The result is a failure with the
 * policy `quarantine`: one domain could hide behind the others.
 */
export function judgeDmarc(authors: readonly Author[] | null, identifiers: Identifiers): DmarcResult {
  if (authors === null) return { word: identifiers.spf === null ? 'none' : 'fail', policy: 'quarantine' };
  const results = authors.map((author) => judgeAuthor(author, identifiers));
  const word = WORST_FIRST.find((worst) => results.some((result) => result.word === worst));
  const counted = results.filter((result) => result.word === (word ?? 'pass'));
  const policy = STRICTEST_FIRST.find((strictest) => counted.some((result) => result.policy === strictest));
  return { word: results.length === 0 ? 'none' : (word ?? 'pass'), policy: policy ?? 'none' };
}

function judgeAuthor({ domain, record }: Author, { spf, dkim }: Identifiers): DmarcResult {
  if (record === 'temperror') return { word: 'temperror', policy: 'none' };
  if (record === null) return { word: 'none', policy: 'none' };
  const words = [
    ...dkim.filter((result) => isAligned(domain, result.domain, record.isDkimStrict)),
    ...(spf !== null && isAligned(domain, spf.domain, record.isSpfStrict) ? [spf] : []),
  ].map(({ word }) => word);
  const { policy } = record;
  if (words.includes('pass')) return { word: 'pass', policy };
  // A check of the author's domain got no answer from the name servers. It might have passed.
  if (words.includes('temperror')) return { word: 'temperror', policy };
  // Without SPF, the result is unknown: SPF alone might have passed.
  return { word: spf === null ? 'none' : 'fail', policy };
}

/** Identifier alignment (RFC 7489, section 3.1). */
function isAligned(author: string, authenticated: string, isStrict: boolean): boolean {
  if (authenticated === '') return false;
  return isStrict
    ? author === authenticated
    : organizationalDomain(author) === organizationalDomain(authenticated);
}
