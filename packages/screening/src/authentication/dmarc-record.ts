import { getDomain } from 'tldts';
import type { DmarcPolicy } from '../verdicts.ts';
import { NoRecordError } from './bounded-resolver.ts';
import type { Resolve } from './bounded-resolver.ts';

/** What a domain publishes (RFC 7489, section 6.3), as far as it matters to a receiver. */
export interface DmarcRecord {
  readonly policy: DmarcPolicy;
  readonly isDkimStrict: boolean;
  readonly isSpfStrict: boolean;
}

const POLICIES: readonly DmarcPolicy[] = ['none', 'quarantine', 'reject'];

/**
 * Finds the record of an author's domain, else that of its organizational domain (RFC 7489, section 6.6.3).
 *
 * @returns null when there is none, or several
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
 * One label below the public suffix, by the list of publicsuffix.org; a public suffix is its own. Labels that
 * no host has count, too: the policy above them holds.
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

/** @param policyTag `sp` when the record is the organizational domain's and the author's domain lies below it */
function readRecord(text: string, policyTag: 'p' | 'sp'): DmarcRecord | null {
  const tags = new Map(text.split(';').map(readTag));
  const own = POLICIES.find((policy) => policy === tags.get('p'));
  const asked = POLICIES.find((policy) => policy === tags.get(policyTag)) ?? own;
  // Section 6.6.3: without a policy a record that asks for reports counts as `none`, any other as absent.
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
 * Section 6.6.4 has messages beyond `pct` treated by the next weaker policy. Only 0 is honoured: a message
 * that is held by chance would help nobody.
 */
function weakened(policy: DmarcPolicy, pct: string | undefined): DmarcPolicy {
  if (pct !== '0') return policy;
  return policy === 'reject' ? 'quarantine' : 'none';
}
