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

/**
 * Evaluates SPF. More than 10 terms with DNS queries or more than 2 void lookups give `permerror` (RFC 7208,
 * section 4.6.4).
 */
export async function checkSpf(envelope: Envelope, resolve: Resolve): Promise<SpfResult> {
  const { domain, status } = await spf({
    sender: withoutFinalDot(envelope.mailFrom),
    ip: envelope.remoteAddress.replace(/%.*$/, ''), // drops the zone of fe80::1%eth0
    helo: withoutFinalDot(envelope.helo),
    resolver: resolve,
  });
  // `neutral` asserts nothing (RFC 7208, section 2.6.2). It replaces a result that `AUTH_RESULTS` lacks.
  return { word: AUTH_RESULTS.find((word) => word === status.result) ?? 'neutral', domain };
}

/** mailauth judges no domain with a final dot, which is valid in the DNS. */
function withoutFinalDot(text: string): string {
  return text.replace(/\.$/, '');
}
