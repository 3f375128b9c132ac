import { parseSearchText } from '@postrider/domain';
import type { SearchText } from '@postrider/domain';
import { lookUp } from '@postrider/store';
import type { Database } from '@postrider/store';
import { freeText, readFields } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { pagePath } from '../html/links.ts';
import { lookUpPage } from '../pages/look-up.ts';
import type { LookUpSettings } from '../pages/look-up.ts';

/** Entries of each list. */
const SHOWN_MAX = 25;

type Id = Extract<SearchText, { kind: 'id' }>;

/** `/search?q=`: an id leads to its page at once. */
export function search(db: Database, settings: LookUpSettings): PageHandler {
  return async (visit) => {
    const { q = '' } = readFields({ q: freeText.optional() }, visit.query);
    const text = parseSearchText(q);
    if (text === null) throw badRequest(['q is empty or too long.']);
    if (text.kind === 'id') return { redirect: await pageOf(db, text) };
    const findings = await lookUp(db, text, SHOWN_MAX);
    const emails = findings.emails.length;
    const [email] = findings.emails;
    const [account] = findings.accounts;
    const isAccount = text.kind === 'other' && emails === 0 && findings.accounts.length === 1;
    if (isAccount && account !== undefined) return { redirect: `/accounts/${account.id}` };
    const isSole = emails === 1 && findings.messages.length + findings.suppressions.length === 0;
    if (isSole && email !== undefined) return { redirect: `/emails/${email.id}` };
    return lookUpPage({ q: q.trim(), text, findings }, settings, visit);
  };
}

/** Things without a page of their own are on the page of what they belong to. */
async function pageOf({ prisma }: Database, { noun, id }: Id): Promise<string> {
  const page = pagePath(id);
  if (page !== null) return page;
  if (noun === 'deadLetter') {
    const letter = await prisma.deadLetter.findUnique({ where: { id }, select: { eventId: true } });
    if (letter !== null) return `/events/${letter.eventId}`;
  }
  if (noun === 'apiKey') {
    const key = await prisma.apiKey.findUnique({ where: { id }, select: { accountId: true } });
    if (key !== null) return `/accounts/${key.accountId}#keys`;
  }
  throw badRequest([`q ${id} has no page, or does not exist.`]);
}
