import { evaluateDmarc } from 'mailauth/lib/dmarc/index.js';
import type { AuthResult } from '@postrider/domain';
import type { DmarcPolicy, SenderVerdict } from '../verdicts.ts';
import { NoAnswerError, NoRecordError } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';
import type { DkimResult } from './dkim.ts';
import type { SpfResult } from './spf.ts';

export interface DmarcResult {
  readonly word: AuthResult;
  readonly policy: DmarcPolicy;
  readonly isAuthorUnavailable: SenderVerdict['isAuthorUnavailable'];
}

/** The authenticated domains of the message. `spf` is null when SPF was not judged. */
export interface Identifiers {
  readonly spf: SpfResult | null;
  readonly dkim: readonly DkimResult[];
}

const STRICTEST_FIRST: readonly DmarcPolicy[] = ['reject', 'quarantine', 'none'];
const WORST_FIRST: readonly AuthResult[] = ['fail', 'temperror', 'none'];
const NO_IDENTIFIERS: Identifiers = { spf: null, dkim: [] };

/** The result when the authors cannot be judged: a forged author could hide behind a real author. */
export const UNKNOWN_AUTHOR: DmarcResult = { word: 'fail', policy: 'quarantine', isAuthorUnavailable: false };

/** Queries the policies of the authors. `resolve` keeps the answers, so `judgeDmarc` has them at once. */
export async function prefetchPolicies(authors: readonly string[], resolve: Resolve): Promise<void> {
  await Promise.all(authors.map((author) => judgeAuthor(author, NO_IDENTIFIERS, resolve)));
}

/**
 * Judges DMARC by RFC 9989. A check that got no answer from the name servers counts as absent: the sender
 * chooses the domains of MAIL FROM and of signatures, and could choose one whose name servers fail.
 *
 * With several authors, we judge each domain and take the worst result: `pass` needs every domain to pass.
 */
export async function judgeDmarc(
  authors: readonly string[],
  identifiers: Identifiers,
  resolve: Resolve,
): Promise<DmarcResult> {
  const results = await Promise.all(authors.map((author) => judgeAuthor(author, identifiers, resolve)));
  const word = WORST_FIRST.find((worst) => results.some((result) => result.word === worst)) ?? 'pass';
  const counted = results.filter((result) => result.word === word);
  const policy = STRICTEST_FIRST.find((strictest) => counted.some((result) => result.policy === strictest));
  const isAuthorUnavailable = results.some((result) => result.isAuthorUnavailable);
  return { word, policy: policy ?? 'none', isAuthorUnavailable };
}

async function judgeAuthor(
  author: string,
  { spf, dkim }: Identifiers,
  resolve: Resolve,
): Promise<DmarcResult> {
  const records = new AuthorRecords(author, resolve);
  const { response } = await evaluateDmarc({
    headerFrom: author,
    spfDomains: spf?.word === 'pass' ? [spf.domain] : [],
    dkimDomains: dkim.filter(({ word }) => word === 'pass').map(({ domain }) => ({ domain })),
    resolver: records.resolve,
  });
  if (response === false) return UNKNOWN_AUTHOR;
  const { status } = response;
  const policy = STRICTEST_FIRST.find((each) => each === response.policy) ?? 'none';
  if (status.result === 'pass') return { word: 'pass', policy, isAuthorUnavailable: false };
  // `temperror`: no name server answers for the policy of an authenticated domain, which may be aligned. We
  // wait for an answer only when the message would be held.
  const isAlignmentUnknown = status.result === 'temperror' && policy !== 'none' && spf !== null;
  const isAuthorUnavailable = records.isUnavailable || isAlignmentUnknown;
  if (status.result === 'none')
    return { word: isAuthorUnavailable ? 'temperror' : 'none', policy, isAuthorUnavailable };
  // Without SPF, the result is unknown: SPF alone might have passed.
  return { word: spf === null ? 'none' : 'fail', policy, isAuthorUnavailable };
}

/** Resolves names for one author. The author's own names count as absent when no name server answers. */
class AuthorRecords {
  readonly #author: string;
  readonly #resolve: Resolve;
  /** True when a name server did not answer for the author's domain or a domain above it. */
  isUnavailable = false;

  constructor(author: string, resolve: Resolve) {
    this.#author = author;
    this.#resolve = resolve;
  }

  readonly resolve: Resolve = async (name, type) => {
    try {
      return await this.#resolve(name, type);
    } catch (error) {
      if (!(error instanceof NoAnswerError) || !this.#isOwn(name)) throw error;
      this.isUnavailable = true;
      throw new NoRecordError('ENODATA', { cause: error });
    }
  };

  /** True for the author's domain and the domains above it, with or without `_dmarc.`. */
  #isOwn(name: string): boolean {
    return `.${this.#author}`.endsWith(`.${name.replace(/^_dmarc\./, '')}`);
  }
}
