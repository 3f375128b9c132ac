import { HELD_REASONS, parseId } from '@postrider/domain';
import type { Clock, MessageId } from '@postrider/domain';
import { countHeldMessages, createAccountStore, listHeldMessages } from '@postrider/store';
import type { Database } from '@postrider/store';
import { z } from 'zod';
import { freeText, readFields } from '../http/fields.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { heldPage } from '../pages/held.ts';
import type { HeldSettings } from '../pages/held.ts';
import { accountNamed } from './audit.ts';

const PAGE_MESSAGES = 50;

const filterFields = {
  account: freeText.optional(),
  reason: z.enum(HELD_REASONS, { error: `is not one of ${HELD_REASONS.join(', ')}` }).optional(),
  after: freeText
    .refine((text) => parseId('message', text) !== null, { error: 'is not the id of a message' })
    .transform((text) => text as MessageId)
    .optional(),
};

/** `/held` */
export function showHeld(db: Database, clock: Clock, settings: HeldSettings): PageHandler {
  const accounts = createAccountStore(db, clock);
  return async (visit) => {
    const { account, reason, after } = readFields(filterFields, visit.query);
    const accountId = account === undefined ? undefined : await accountNamed(accounts, account);
    const found = await listHeldMessages(db, { accountId, reason, after }, PAGE_MESSAGES + 1);
    const parts = {
      messages: found.slice(0, PAGE_MESSAGES),
      hasMore: found.length > PAGE_MESSAGES,
      counts: await countHeldMessages(db),
      filter: { account, reason },
    };
    return heldPage(parts, settings, visit);
  };
}
