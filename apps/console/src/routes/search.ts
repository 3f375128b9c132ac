import { parseId } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import { createAccountStore } from '@postrider/store';
import type { Account, Database } from '@postrider/store';
import { freeText, readFields } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { searchPage } from '../pages/search.ts';

const SHOWN_MAX = 25;
const TEXT_LENGTH_MAX = 1_000;

/** The pages of things that have one. */
const PAGES = {
  account: '/accounts/',
  webhook: '/webhooks/',
  event: '/events/',
  email: '/emails/',
  message: '/messages/',
} as const;

/** `/search?q=`: an id leads to its page. Other text finds accounts. */
export function search(db: Database, clock: Clock): PageHandler {
  const accounts = createAccountStore(db, clock);
  return async (visit) => {
    const { q = '' } = readFields({ q: freeText.optional() }, visit.query);
    const text = q.replace(/^["'“‘](.*)["'”’]$/su, '$1').trim();
    if (text === '' || text.length > TEXT_LENGTH_MAX || text.includes('\0')) {
      throw badRequest(['q is empty or too long.']);
    }
    const redirect = await pageOf(db, text.toLowerCase());
    if (redirect !== null) return { redirect };
    const found: readonly Account[] = await accounts.search(text, SHOWN_MAX);
    const [only] = found;
    if (found.length === 1 && only !== undefined) return { redirect: `/accounts/${only.id}` };
    return searchPage({ q: text, accounts: found }, visit);
  };
}

/** @returns the path of the page of an id, or of what it belongs to; null when the text is no such id. */
async function pageOf({ prisma }: Database, text: string): Promise<string | null> {
  for (const [noun, path] of Object.entries(PAGES)) {
    if (parseId(noun as keyof typeof PAGES, text) !== null) return `${path}${text}`;
  }
  if (parseId('deadLetter', text) !== null) {
    const letter = await prisma.deadLetter.findUnique({ where: { id: text }, select: { eventId: true } });
    return letter === null ? null : `/events/${letter.eventId}`;
  }
  if (parseId('apiKey', text) === null) return null;
  const key = await prisma.apiKey.findUnique({ where: { id: text }, select: { accountId: true } });
  return key === null ? null : `/accounts/${key.accountId}#keys`;
}
