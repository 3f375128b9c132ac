import type { Clock } from '@postrider/domain';
import { EVENT_TYPES } from '@postrider/domain';
import {
  createAccountStore,
  createWebhookEventStore,
  createWebhookLookUps,
  LOAD_COUNTED_MAX,
  readAttemptDays,
  readInFlight,
  readWebhookHealth,
  summarizeEvents,
  WEBHOOK_EVENT_STATUSES,
} from '@postrider/store';
import type { Database } from '@postrider/store';
import { z } from 'zod';
import { emailAddress, eventPosition, readFields, utcTime } from '../http/fields.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { webhookPage } from '../pages/webhook.ts';
import type { Settings } from '../settings.ts';
import { idOf, noSuch } from './ids.ts';

const PAGE_EVENTS = 20;

const filterFields = {
  type: z.enum(EVENT_TYPES, { error: 'is not a type of event' }).optional(),
  status: z
    .enum(WEBHOOK_EVENT_STATUSES, { error: `is not one of ${WEBHOOK_EVENT_STATUSES.join(', ')}` })
    .optional(),
  recipient: emailAddress.optional(),
  since: utcTime.optional(),
  until: utcTime.optional(),
  after: eventPosition.optional(),
};

/** `/webhooks/:id` */
export function showWebhook(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  const webhooks = createWebhookLookUps(db);
  const events = createWebhookEventStore(db);

  return async (visit) => {
    const id = idOf('webhook', visit);
    const { after, ...filter } = readFields(filterFields, visit.query);
    const webhook = await webhooks.find(id);
    if (webhook === null) throw noSuch('webhook', id, visit.now, 'A deletion removes a webhook at once.');
    const account = await accounts.describe(webhook.accountId);
    const page = await events.list(webhook.accountId, id, filter, { after, limit: PAGE_EVENTS });
    // A text: the webhook was removed after `find`.
    if (typeof page === 'string') throw noSuch('webhook', id, visit.now);
    const health = await readWebhookHealth(db, [id], LOAD_COUNTED_MAX);
    const days = await readAttemptDays(db.pool, [id], visit.now);
    const summaries = await summarizeEvents(
      db,
      id,
      page.entries.map((event) => event.id),
    );
    const parts = {
      webhook,
      account,
      health: health.get(id),
      inFlight: await readInFlight(db, id),
      attempts: days.get(id),
      filter,
      page,
      summaries,
      isFirst: after === undefined,
    };
    return webhookPage(parts, settings, visit);
  };
}
