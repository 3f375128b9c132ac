import type { Clock } from '@postrider/domain';
import { createAccountStore, findEmails, searchEvents } from '@postrider/store';
import type { Database } from '@postrider/store';
import { eventPosition, readFields } from '../http/fields.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { emailPage } from '../pages/email.ts';
import type { Settings } from '../settings.ts';
import { idOf, noSuch } from './ids.ts';

const PAGE_EVENTS = 50;

/** `/emails/:id` */
export function showEmail(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  return async (visit) => {
    const id = idOf('email', visit);
    const { after } = readFields({ after: eventPosition.optional() }, visit.query);
    const [email] = await findEmails(db, [id]);
    if (email === undefined) {
      throw noSuch(
        'email',
        id,
        visit.now,
        `Postrider keeps sent mail for ${settings.mailRetentionDays} days.`,
      );
    }
    const { accountId } = email;
    const page = await searchEvents(db, { by: 'email', id }, { accountId, after }, PAGE_EVENTS);
    const account = await accounts.describe(accountId);
    return emailPage({ email, account, ...page, isFirst: after === undefined }, settings, visit);
  };
}
