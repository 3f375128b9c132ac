import type { AuthResult } from '@postrider/domain';
import type { Envelope, SenderVerdict } from '../verdicts.ts';
import { AUTHOR_DOMAINS_MAX, authorDomains } from './author-domains.ts';
import { createBoundedResolver } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';
import { checkDkim, dkimWord, SIGNATURES_MAX } from './dkim.ts';
import { findAuthor, judgeDmarc } from './dmarc.ts';
import type { Author } from './dmarc.ts';
import { splitMessage } from './message-fields.ts';
import { checkSpf } from './spf.ts';

/** Can be cloned into a worker thread. */
export interface AuthenticationOptions {
  /** `address:port`, or `address`; empty: the machine's own. */
  readonly dnsServers: readonly string[];
  /** Time limit of all questions to name servers. What is not answered by then is a `temperror`. */
  readonly timeoutMs: number;
  /** False where the client is not the sending machine, over LMTP: `spf` is `none`, and `dmarc` is never `fail`. */
  readonly spf: boolean;
}

/** Ten `mx` with ten hosts of two addresses each would be 211. Real records stay below 40. */
const SPF_QUESTIONS_MAX = 100;

/**
 * Authenticates the sender of a message by SPF (RFC 7208), DKIM (RFC 6376) and DMARC (RFC 7489).
 *
 * It asks name servers at most {@link SPF_QUESTIONS_MAX} questions for SPF, 10 for DKIM and 8 for DMARC. Each
 * has its own limit, and they run at once: a sender who uses up one keeps no answer from the others.
 *
 * It computes in the calling thread: hashes of the body, canonical forms and RSA. 10 MiB take some 0.1 s, a
 * hostile message a few times that. Callers with other work run it in a worker thread.
 *
 * @param raw the message as received, from the first header field on
 */
export async function authenticateSender(
  raw: Uint8Array,
  envelope: Envelope,
  options: AuthenticationOptions,
): Promise<SenderVerdict> {
  const message = splitMessage(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength));
  const resolver = createBoundedResolver({ servers: options.dnsServers, timeoutMs: options.timeoutMs });
  try {
    const [spf, dkim, authors] = await Promise.all([
      options.spf ? checkSpf(envelope, resolver.limitedTo(SPF_QUESTIONS_MAX)) : null,
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
