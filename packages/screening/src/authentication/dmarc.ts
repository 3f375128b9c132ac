import type { AuthResult } from '@postrider/domain';
import type { DmarcPolicy } from '../verdicts.ts';
import { NoAnswerError } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';
import type { DkimResult } from './dkim.ts';
import { findDmarcRecord, organizationalDomain } from './dmarc-record.ts';
import type { DmarcRecord } from './dmarc-record.ts';
import type { SpfResult } from './spf.ts';

/** An author's domain and what it publishes. */
export interface Author {
  readonly domain: string;
  /** `temperror`: no name server answered. */
  readonly record: DmarcRecord | null | 'temperror';
}

export interface DmarcResult {
  readonly word: AuthResult;
  readonly policy: DmarcPolicy;
}

/** What was authenticated of the message. SPF is null when it was not judged. */
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
 * DMARC (RFC 7489, section 6.6.2). Not mailauth's: its strict alignment is relaxed, and it calls it a failure
 * when a signature's key could not be asked for.
 *
 * RFC 5322 wants one From field. With several authors, each domain is judged, and the worst result counts:
 * `pass` only when every domain passes (section 6.6.1). Without an author it is `none` (section 11.2).
 *
 * @param authors null: too many to judge, or one that cannot be read. That is a failure, to be quarantined:
 * one domain could hide behind the others.
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
  // The domain that the author claims could not be asked: it might have passed.
  if (words.includes('temperror')) return { word: 'temperror', policy };
  // Without SPF nobody knows whether DMARC fails: SPF alone might have made it pass.
  return { word: spf === null ? 'none' : 'fail', policy };
}

/** RFC 7489, section 3.1. */
function isAligned(author: string, authenticated: string, isStrict: boolean): boolean {
  if (authenticated === '') return false;
  return isStrict
    ? author === authenticated
    : organizationalDomain(author) === organizationalDomain(authenticated);
}
