import type { Clock } from '@postrider/domain';
import { createAccountStore, createEventStore, findEmails, POSITION_MAX, readFates } from '@postrider/store';
import type { Database } from '@postrider/store';
import { readFields } from '../http/fields.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { emailPage } from '../pages/email.ts';
import type { Settings } from '../settings.ts';
import { idOf, noSuch } from './ids.ts';

/** An email has few events, unless its recipients open it often. */
const EVENTS_MAX = 100;

/** `/emails/:id` */
export function showEmail(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  // The page waits for no open transaction. It has no next page that could miss an event.
  const events = createEventStore(db, async () => POSITION_MAX);
  return async (visit) => {
    const id = idOf('email', 'email', visit);
    readFields({}, visit.query);
    const [email] = await findEmails(db, [id]);
    if (email === undefined) {
      throw noSuch(
        'email',
        id,
        visit.now,
        `Postrider keeps sent mail for ${settings.mailRetentionDays} days.`,
      );
    }
    const page = await events.list(email.accountId, { emailId: id }, { limit: EVENTS_MAX });
    const found = page?.entries ?? [];
    const fates = await readFates(
      db,
      found.map((event) => event.id),
    );
    const account = await accounts.find(email.accountId);
    return emailPage(
      { email, account, events: found, fates, hasMore: page?.hasMore ?? false },
      settings,
      visit,
    );
  };
}
