import { domainToASCII } from 'node:url';
import { spf } from 'mailauth/lib/spf/index.js';
import { AUTH_RESULTS } from '@postrider/domain';
import type { AuthResult } from '@postrider/domain';
import type { Envelope } from '../verdicts.ts';
import type { Resolve } from './bounded-resolver.ts';

export interface SpfResult {
  readonly word: AuthResult;
  /** The judged domain: that of MAIL FROM, or that of HELO for the null sender (RFC 7208, section 2.4). */
  readonly domain: string;
}

const WORDS: ReadonlySet<string> = new Set(AUTH_RESULTS);

/**
 * Evaluates SPF. More than 10 terms with DNS queries or more than 2 void lookups give `permerror` (RFC 7208,
 * section 4.6.4).
 */
export async function checkSpf(envelope: Envelope, resolve: Resolve): Promise<SpfResult> {
  const { domain, status } = await spf({
    sender: senderOf(envelope),
    ip: envelope.remoteAddress.replace(/%.*$/, ''), // fe80::1%eth0
    helo: envelope.helo,
    resolver: (name, type) => forgivingPtr(resolve, name, type),
  });
  return { word: WORDS.has(status.result) ? (status.result as AuthResult) : 'neutral', domain };
}

function senderOf({ mailFrom, helo }: Envelope): string {
  const at = mailFrom.lastIndexOf('@');
  if (at === -1) return `postmaster@${helo}`;
  // mailauth needs the domain in the form that DNS uses.
  return `${mailFrom.slice(0, at)}@${domainToASCII(mailFrom.slice(at + 1))}`;
}

/**
 * An unanswered reverse query makes `ptr` not match (RFC 7208, section 5.5). It must not give `temperror`:
 * the owner of the sending machine controls this zone.
 */
async function forgivingPtr(resolve: Resolve, name: string, type: string): Promise<unknown[]> {
  if (type !== 'PTR') return resolve(name, type);
  return resolve(name, type).catch(() => []);
}
