import { html } from '@remix-run/html-template';
import { parseSearchText } from '@postrider/domain';
import type { SearchText } from '@postrider/domain';
import { lookUp } from '@postrider/store';
import type { Database, Findings, LookedUpText } from '@postrider/store';
import { freeText, idField, readFields } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { pagePath, queryOf } from '../html/links.ts';
import { count } from '../html/words.ts';
import { lookUpPage } from '../pages/look-up.ts';
import type { Settings } from '../settings.ts';
import { noSuch } from './ids.ts';

/** Entries of each list at most. */
const SHOWN_MAX = 25;

type Id = Extract<SearchText, { kind: 'id' }>;

const fields = {
  q: freeText.optional(),
  /** Shows only what belongs to this account. */
  account: idField('account', 'an account').optional(),
};

/** `/search?q=`: an id leads to its page at once. The id of an API key finds the mail that the key sent. */
export function search(db: Database, settings: Settings): PageHandler {
  return async (visit) => {
    const { q = '', account: accountId } = readFields(fields, visit.query);
    if (!('q' in visit.query)) return { redirect: '/' }; // the overview has a search form
    const parsed = parseSearchText(q);
    if (parsed === null) throw badRequest(['The search is empty or too long.'], ['q']);
    if (parsed.kind === 'id' && parsed.noun !== 'apiKey')
      return { redirect: await pathOf(db, parsed, settings, visit.now) };
    const text: LookedUpText = parsed.kind === 'id' ? { kind: 'key', keyId: parsed.id } : parsed;
    const findings = await lookUp(db, text, { accountId, limit: SHOWN_MAX });
    const solePath = accountId === undefined ? pathOfSole(text, findings) : null;
    if (solePath !== null) return { redirect: solePath };
    return lookUpPage({ q: q.trim(), text, findings, accountId }, settings, visit);
  };
}

/**
 * The path of the page of the one account or email that was found. Null: several things were found, or none.
 * The id of a key leads to its account when the key sent no mail.
 */
function pathOfSole(
  text: LookedUpText,
  { emails, messages, suppressions, webhooks, accounts }: Findings,
): string | null {
  const [email] = emails;
  const [account] = accounts;
  if (text.kind === 'other' && emails.length === 0 && accounts.length === 1 && account !== undefined)
    return `/accounts/${account.id}`;
  if (text.kind === 'key')
    return emails.length === 0 && account !== undefined ? `/accounts/${account.id}#keys` : null;
  const others = [messages, suppressions, webhooks, accounts];
  const isSole = emails.length === 1 && others.every((list) => list.length === 0);
  return isSole && email !== undefined ? `/emails/${email.id}` : null;
}

/**
 * The path of the page for an id. A thing without its own page is shown where it belongs, such as an account.
 */
async function pathOf(
  { prisma }: Database,
  { noun, id }: Id,
  { deadLetterRetentionDays }: Settings,
  now: Date,
): Promise<string> {
  const path = pagePath(id);
  if (path !== null) return path;
  if (noun === 'deadLetter') {
    const letter = await prisma.deadLetter.findUnique({ where: { id }, select: { eventId: true } });
    if (letter !== null) return `/events/${letter.eventId}`;
    throw noSuch(
      'dead letter',
      id,
      now,
      html`Postrider keeps dead letters for ${count(deadLetterRetentionDays)} days. A replay removes them, and
        <a href="/audit">the audit</a> has it.`,
    );
  }
  if (noun === 'domain') {
    const domain = await prisma.domain.findUnique({ where: { id }, select: { accountId: true } });
    if (domain !== null) return `/accounts/${domain.accountId}#domains`;
    throw noSuch('domain', id, now);
  }
  if (noun === 'suppression') {
    const suppression = await prisma.suppression.findUnique({
      where: { id },
      select: { address: true, accountId: true },
    });
    if (suppression !== null) {
      const { address, accountId } = suppression;
      return `/search${queryOf({ q: address, account: accountId })}#suppressed`;
    }
    throw noSuch('suppression', id, now, html`It may be lifted: <a href="/audit">the audit</a> has it.`);
  }
  throw noSuch('page', id, now);
}
