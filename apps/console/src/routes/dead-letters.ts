import { DEAD_LETTER_REASONS, EVENT_TYPES, parseId } from '@postrider/domain';
import type { AccountId, Clock, WebhookId } from '@postrider/domain';
import {
  countFoundDeadLetters,
  createAccountStore,
  createWebhookLookUps,
  findDeadLetters,
} from '@postrider/store';
import type { Database, FoundDeadLetterFilter } from '@postrider/store';
import { z } from 'zod';
import { freeText, readFields, utcTime } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { deadLettersPage } from '../pages/dead-letters.ts';
import type { DeadLetterSettings } from '../pages/dead-letters.ts';
import { accountNamed } from './audit.ts';

const PAGE_LETTERS = 50;

/** `503`, `5xx` or `none`. */
const status = freeText.transform((text, context) => {
  if (text === 'none') return 'none' as const;
  const [, hundreds] = /^([1-5])xx$/i.exec(text) ?? [];
  if (hundreds !== undefined) return { from: Number(hundreds) * 100, to: Number(hundreds) * 100 + 99 };
  if (/^[1-5]\d\d$/.test(text)) return { from: Number(text), to: Number(text) };
  context.addIssue({ code: 'custom', message: 'is not a status such as 503, 5xx or none' });
  return z.NEVER;
});

/** The position of a dead letter: its time in milliseconds and its id. */
const after = freeText.transform((text, context) => {
  const [, ms, id] = /^(\d{1,15})-(dl_[0-9a-z]{26})$/.exec(text) ?? [];
  if (ms !== undefined && id !== undefined) return { createdAt: new Date(Number(ms)), id };
  context.addIssue({ code: 'custom', message: 'is not the position of a dead letter' });
  return z.NEVER;
});

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
  after: after.optional(),
};

/** `/dead-letters` */
export function showDeadLetters(db: Database, clock: Clock, settings: DeadLetterSettings): PageHandler {
  const accounts = createAccountStore(db, clock);
  const webhooks = createWebhookLookUps(db);

  /** The field takes an account or a webhook, by id or name. */
  async function ownerOf(text: string): Promise<{ accountId?: AccountId; webhookId?: WebhookId }> {
    const webhookId = parseId('webhook', text);
    if (webhookId === null) return { accountId: await accountNamed(accounts, text) };
    if ((await webhooks.find(webhookId)) === null) throw badRequest([`webhook ${text} is unknown.`]);
    return { webhookId };
  }

  return async (visit) => {
    const { account, webhook, after: from, ...rest } = readFields(filterFields, visit.query);
    const owners = [
      account === undefined ? {} : { accountId: await accountNamed(accounts, account) },
      webhook === undefined ? {} : await ownerOf(webhook),
    ];
    const filter: FoundDeadLetterFilter = { ...rest, ...owners[0], ...owners[1] };
    const request = { after: from ?? null, limit: PAGE_LETTERS + 1 };
    const found = await findDeadLetters(db, filter, request);
    const matching = await countFoundDeadLetters(db, filter);
    const owner = webhook ?? account ?? '';
    const parts = {
      letters: found.slice(0, PAGE_LETTERS),
      hasMore: found.length > PAGE_LETTERS,
      matching,
      filter: { ...rest, owner, status: statusText(rest.status) },
      isFirst: from === undefined,
    };
    return deadLettersPage(parts, settings, visit);
  };
}

function statusText(given: FoundDeadLetterFilter['status']): string {
  if (given === undefined || given === 'none') return given ?? '';
  return given.from === given.to ? String(given.from) : `${String(given.from / 100)}xx`;
}
