import { AUDIT_ACTIONS, createAccountStore, listAudit, readAccountNames } from '@postrider/store';
import type { Database } from '@postrider/store';
import type { Clock } from '@postrider/domain';
import { z } from 'zod';
import { freeText, readFields, utcTime } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { auditPage } from '../pages/audit.ts';
import type { Settings } from '../settings.ts';
import { accountNamed } from './owner.ts';

const PAGE_ENTRIES = 50;

const filterFields = {
  who: freeText.optional(),
  account: freeText.optional(),
  action: z.enum(AUDIT_ACTIONS, { error: 'is not an action of the audit' }).optional(),
  target: freeText.optional(),
  since: utcTime.optional(),
  /** An entry's number. 15 digits are always a safe integer. */
  after: freeText
    .regex(/^\d{1,15}$/, { error: 'is not the number of an entry' })
    .transform(Number)
    .optional(),
};

/** `/audit` */
export function showAudit(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  return async (visit) => {
    const { after, account: written, ...filter } = readFields(filterFields, visit.query);
    const accountId = written === undefined ? undefined : await accountNamed(accounts, written);
    const { who: actor, ...others } = filter;
    const page = await listAudit(db, { ...others, actor, accountId }, { after, limit: PAGE_ENTRIES });
    if (page === null) throw badRequest([`After ${after ?? ''} is no entry.`], ['after']);
    const names = await readAccountNames(
      db,
      page.entries.flatMap((entry) => entry.accountId ?? []),
    );
    return auditPage(
      { filter: { ...filter, account: written }, page, names, isFirst: after === undefined },
      settings,
      visit,
    );
  };
}
