import { DEAD_LETTER_REASONS, EVENT_TYPES, parsedBy } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import {
  countFoundDeadLetters,
  createAccountStore,
  createRecoveryLookUps,
  createWebhookLookUps,
  findDeadLetters,
} from '@postrider/store';
import type { Database, FoundDeadLetterFilter } from '@postrider/store';
import { z } from 'zod';
import { freeText, positionField, readFields, utcTime } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { deadLettersPage } from '../pages/dead-letters.ts';
import type { Settings } from '../settings.ts';
import { accountNamed, ownerNamed } from './owner.ts';
import type { Owner } from './owner.ts';

const PAGE_LETTERS = 50;
/** The newest recoveries only. `/recoveries` has all. */
const RECOVERIES_SHOWN = 3;

/** `503`, `5xx` or `none`. */
const status = freeText.transform(parsedBy(statusesOf, 'is not a status such as 503, 5xx or none'));

function statusesOf(text: string) {
  if (text === 'none') return 'none' as const;
  const [, hundreds] = /^([1-5])xx$/i.exec(text) ?? [];
  if (hundreds !== undefined) return { from: Number(hundreds) * 100, to: Number(hundreds) * 100 + 99 };
  if (/^[1-5]\d\d$/.test(text)) return { from: Number(text), to: Number(text) };
  return null;
}

const filterFields = {
  account: freeText.optional(),
  webhook: freeText.optional(),
  type: z.enum(EVENT_TYPES, { error: 'is not a type of event' }).optional(),
  reason: z
    .enum(DEAD_LETTER_REASONS, { error: `is not one of ${DEAD_LETTER_REASONS.join(', ')}` })
    .optional(),
  status: status.optional(),
  since: utcTime.optional(),
  until: utcTime.optional(),
  after: positionField('deadLetter', 'a dead letter').optional(),
};

/** `/dead-letters` */
export function showDeadLetters(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  const webhooks = createWebhookLookUps(db);
  const recoveries = createRecoveryLookUps(db);

  return async (visit) => {
    const { account, webhook, after: from, ...rest } = readFields(filterFields, visit.query);
    if (account !== undefined && webhook !== undefined) {
      throw badRequest(['Account and webhook are both given. Give one.'], ['account']);
    }
    const filter: FoundDeadLetterFilter = {
      ...rest,
      ...(account === undefined ? {} : { accountId: await accountNamed(accounts, account) }),
      ...(webhook === undefined ? {} : filterOf(await ownerNamed({ accounts, webhooks }, webhook))),
    };
    const request = { after: from ?? null, limit: PAGE_LETTERS };
    const { letters, olderFrom } = await findDeadLetters(db, filter, request);
    const matching = await countFoundDeadLetters(db, filter);
    const owner = webhook ?? account ?? '';
    // No index has the recoveries of an account, so the page of an account shows none.
    const { accountId, webhookId } = filter;
    const newest = accountId === undefined ? await recoveries.list({ webhookId }, RECOVERIES_SHOWN) : [];
    const parts = {
      letters,
      olderFrom,
      matching,
      filter: { ...rest, owner, status: statusText(rest.status) },
      isFirst: from === undefined,
      recoveries: newest,
    };
    return deadLettersPage(parts, settings, visit);
  };
}

function filterOf({ accountId, webhook }: Owner): Pick<FoundDeadLetterFilter, 'accountId' | 'webhookId'> {
  return webhook === undefined ? { accountId } : { webhookId: webhook.id };
}

function statusText(given: FoundDeadLetterFilter['status']): string {
  if (given === undefined || given === 'none') return given ?? '';
  return given.from === given.to ? String(given.from) : `${String(given.from / 100)}xx`;
}
