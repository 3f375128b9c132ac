import { cutHeader, readAuthors } from '@postrider/received-mail';
import type { Envelope, SenderVerdict } from '../verdicts.ts';
import { authorDomains } from './author-domains.ts';
import { BoundedResolver } from './bounded-resolver.ts';
import { checkDkim, dkimWord } from './dkim.ts';
import { judgeDmarc, prefetchPolicies, UNKNOWN_AUTHOR } from './dmarc.ts';
import { checkSpf } from './spf.ts';

/** These options can be cloned into a worker thread. */
export interface AuthenticationOptions {
  /** `address:port` or `address`. An empty list means the name servers of the machine. */
  readonly dnsServers: readonly string[];
  /** Time limit for all DNS queries together. A query without an answer by then gives `temperror`. */
  readonly timeoutMs: number;
  /**
   * False over LMTP, where the client is not the sending machine. Then `spf` is `none`, and a missing SPF
   * result does not make `dmarc` fail.
   */
  readonly spf: boolean;
}

/**
 * Ten `mx` terms with ten hosts and two addresses each would need 211 queries. Real records need fewer than
 * 40.
 */
const SPF_QUERIES_MAX = 100;
/** One for each signature, and one for an ARC signature. */
const DKIM_QUERIES_MAX = 6;
/**
 * Tree walks of 4 authors and 6 domains (5 by DKIM, 1 by SPF), 8 queries each: 80. The rest is for queries
 * that ask whether a name exists.
 */
const DMARC_QUERIES_MAX = 128;

/**
 * Authenticates the sender of a message by SPF (RFC 7208), DKIM (RFC 6376) and DMARC (RFC 9989), with
 * mailauth.
 *
 * SPF, DKIM and the query for the author's policy run at the same time with separate limits. So a sender who
 * uses up one limit does not stop the others.
 *
 * mailauth computes hashes and RSA in the calling thread. A hostile message takes seconds, so call this in a
 * worker thread.
 *
 * @param raw the message as received, starting at its first header field
 */
export async function authenticateSender(
  raw: Uint8Array,
  envelope: Envelope,
  options: AuthenticationOptions,
): Promise<SenderVerdict> {
  const { bytes, headerBytes, isCut } = cutHeader(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength));
  // The part of a header that is cut off may hold another From field.
  const authors = isCut ? null : authorDomains(await readAuthors(bytes.subarray(0, headerBytes)));
  const resolver = new BoundedResolver({ servers: options.dnsServers, timeoutMs: options.timeoutMs });
  const resolvePolicy = resolver.limitedTo(DMARC_QUERIES_MAX);
  try {
    const [spf, dkim] = await Promise.all([
      options.spf ? checkSpf(envelope, resolver.limitedTo(SPF_QUERIES_MAX)) : null,
      checkDkim(bytes, resolver.limitedTo(DKIM_QUERIES_MAX)),
      authors === null ? null : prefetchPolicies(authors, resolvePolicy),
    ]);
    const dmarc = authors === null ? UNKNOWN_AUTHOR : await judgeDmarc(authors, { spf, dkim }, resolvePolicy);
    return {
      auth: { spf: spf?.word ?? 'none', dkim: dkimWord(dkim), dmarc: dmarc.word },
      dmarcPolicy: dmarc.policy,
      isAuthorUnavailable: dmarc.isAuthorUnavailable,
    };
  } finally {
    resolver.close();
  }
}
