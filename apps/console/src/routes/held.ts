import { HELD_REASONS } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import {
  countHeldMessages,
  createAccountStore,
  findHeldMessages,
  listReleasedMessages,
} from '@postrider/store';
import type { Database } from '@postrider/store';
import { z } from 'zod';
import { freeText, positionField, readFields } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { DAY_MS } from '../html/words.ts';
import { heldPage, RELEASED_MAX } from '../pages/held.ts';
import type { Settings } from '../settings.ts';
import { accountNamed } from './owner.ts';

const PAGE_MESSAGES = 50;
const NONE = { messages: [], olderFrom: null };

const filterFields = {
  account: freeText.optional(),
  reason: z.enum(HELD_REASONS, { error: `is not one of ${HELD_REASONS.join(', ')}` }).optional(),
  status: z.literal('released', { error: 'is not released' }).optional(),
  after: positionField('message', 'a message').optional(),
};

/** `/held`: the held messages, or with `status` the messages that were released in the last 24 hours. */
export function showHeld(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  return async (visit) => {
    const { account, reason, after, status } = readFields(filterFields, visit.query);
    const showsReleased = status !== undefined;
    if (showsReleased && (reason !== undefined || after !== undefined)) {
      throw badRequest(['Status does not go with reason or after.'], ['status']);
    }
    const accountId = account === undefined ? undefined : await accountNamed(accounts, account);
    const request = { after: after ?? null, limit: PAGE_MESSAGES };
    const found = showsReleased ? null : await findHeldMessages(db, { accountId, reason }, request);
    const since = new Date(visit.now.getTime() - DAY_MS);
    const released = await listReleasedMessages(db, { since, accountId }, RELEASED_MAX + 1);
    const parts = {
      held: { ...(found ?? NONE), isFirst: after === undefined },
      counts: await countHeldMessages(db),
      released: { messages: released, isShown: showsReleased },
      account: accountId === undefined ? null : await accounts.find(accountId),
      filter: { account, reason },
    };
    return heldPage(parts, settings, visit);
  };
}
