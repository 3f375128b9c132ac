import { getDomain } from 'tldts';
import type { DmarcPolicy } from '../verdicts.ts';
import { NoRecordError } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';

/** The record of a domain (RFC 7489, section 6.3), limited to what a receiver needs. */
export interface DmarcRecord {
  readonly policy: DmarcPolicy;
  readonly isDkimStrict: boolean;
  readonly isSpfStrict: boolean;
}

const POLICIES: readonly DmarcPolicy[] = ['none', 'quarantine', 'reject'];

/**
 * Finds the record of an author's domain. Without one, it takes the record of the organizational domain (RFC
 * 7489, section 6.6.3).
 *
 * @returns null when there is no record, or more than one
 * @throws NoAnswerError
 */
export async function findDmarcRecord(domain: string, resolve: Resolve): Promise<DmarcRecord | null> {
  const own = await recordsAt(domain, resolve);
  if (own.length > 0) return own.length === 1 ? readRecord(own[0] ?? '', 'p') : null;
  const organization = organizationalDomain(domain);
  if (organization === domain) return null;
  const above = await recordsAt(organization, resolve);
  return above.length === 1 ? readRecord(above[0] ?? '', 'sp') : null;
}

/**
 * Returns the public suffix with one more label, by the list of publicsuffix.org. A public suffix stays
 * itself. Labels that no host name may contain are accepted, too: the policy of the parent domain applies to
 * them.
 */
export function organizationalDomain(domain: string): string {
  return getDomain(domain.toLowerCase(), { allowPrivateDomains: true, extractHostname: false }) ?? domain;
}

async function recordsAt(domain: string, resolve: Resolve): Promise<string[]> {
  const name = `_dmarc.${domain}`;
  const texts = await resolve(name, 'TXT').catch((error: unknown) => {
    if (error instanceof NoRecordError) return [];
    throw error;
  });
  return (texts as string[][])
    .map((parts) => parts.join(''))
    .filter((text) => /^v\s*=\s*DMARC1\s*(;|$)/i.test(text));
}

/**
 * @param policyTag `sp` when the record is from the organizational domain and the author's domain lies below
 * it
 */
function readRecord(text: string, policyTag: 'p' | 'sp'): DmarcRecord | null {
  const tags = new Map(text.split(';').map(readTag));
  const own = POLICIES.find((policy) => policy === tags.get('p'));
  const asked = POLICIES.find((policy) => policy === tags.get(policyTag)) ?? own;
  // Section 6.6.3: a record without a policy counts as `none` if it asks for reports (`rua`), otherwise as
  // absent.
  if (asked === undefined && !tags.has('rua')) return null;
  return {
    policy: weakened(asked ?? 'none', tags.get('pct')),
    isDkimStrict: tags.get('adkim') === 's',
    isSpfStrict: tags.get('aspf') === 's',
  };
}

function readTag(part: string): [string, string] {
  const [name = '', ...value] = part.split('=');
  return [name.trim().toLowerCase(), value.join('=').trim().toLowerCase()];
}

/**
 * By section 6.6.4, messages beyond `pct` get the next weaker policy. We follow only `pct=0`: holding
 * messages at random would help no one.
 */
function weakened(policy: DmarcPolicy, pct: string | undefined): DmarcPolicy {
  if (pct !== '0') return policy;
  return policy === 'reject' ? 'quarantine' : 'none';
}
