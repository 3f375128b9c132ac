import type { AuthResult } from '@postrider/domain';
import type { Envelope, SenderVerdict } from '../verdicts.ts';
import { AUTHOR_DOMAINS_MAX, authorDomains } from './author-domains.ts';
import { BoundedResolver } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';
import { checkDkim, dkimWord, SIGNATURES_MAX } from './dkim.ts';
import { findAuthor, judgeDmarc } from './dmarc.ts';
import type { Author } from './dmarc.ts';
import { splitMessage } from './message-fields.ts';
import { checkSpf } from './spf.ts';

/** These options can be cloned into a worker thread. */
export interface AuthenticationOptions {
  /** `address:port` or `address`. An empty list means the name servers of the machine. */
  readonly dnsServers: readonly string[];
  /** Time limit for all DNS queries together. A query without an answer by then gives `temperror`. */
  readonly timeoutMs: number;
  /**
   * False over LMTP, where the client is not the sending machine. Then `spf` is `none`, and `dmarc` is never
   * `fail`.
   */
  readonly spf: boolean;
}

/**
 * Ten `mx` terms with ten hosts and two addresses each would need 211 queries. Real records need fewer than
 * 40.
 */
const SPF_QUERIES_MAX = 100;

/**
 * Authenticates the sender of a message by SPF (RFC 7208), DKIM (RFC 6376) and DMARC (RFC 7489).
 *
 * It sends at most {@link SPF_QUERIES_MAX} DNS queries for SPF, 10 for DKIM and 8 for DMARC. The three run
 * at the same time with separate limits. So a sender who uses up one limit does not stop the others.
 *
 * It runs in the calling thread: body hashes, canonical forms and RSA. 10 MiB take about 0.1 s, a hostile
 * message a few times that. Run it in a worker thread when the caller has other work.
 *
 * @param raw the message as received, starting at its first header field
 */
export async function authenticateSender(
  raw: Uint8Array,
  envelope: Envelope,
  options: AuthenticationOptions,
): Promise<SenderVerdict> {
  const message = splitMessage(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength));
  const resolver = new BoundedResolver({ servers: options.dnsServers, timeoutMs: options.timeoutMs });
  try {
    const [spf, dkim, authors] = await Promise.all([
      options.spf ? checkSpf(envelope, resolver.limitedTo(SPF_QUERIES_MAX)) : null,
      checkDkim(message, resolver.limitedTo(SIGNATURES_MAX)),
      findAuthors(authorDomains(message.fields), resolver.limitedTo(2 * AUTHOR_DOMAINS_MAX)),
    ]);
    const dmarc = judgeDmarc(authors, { spf, dkim });
    const auth: Record<'spf' | 'dkim' | 'dmarc', AuthResult> = {
      spf: spf?.word ?? 'none',
      dkim: dkimWord(dkim),
      dmarc: dmarc.word,
    };
    return { auth, dmarcPolicy: dmarc.policy };
  } finally {
    resolver.close();
  }
}

async function findAuthors(
  domains: readonly string[] | null,
  resolve: Resolve,
): Promise<readonly Author[] | null> {
  return domains === null ? null : Promise.all(domains.map((domain) => findAuthor(domain, resolve)));
}
