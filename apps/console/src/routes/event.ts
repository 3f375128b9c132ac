import type { Clock, WebhookId } from '@postrider/domain';
import {
  createAccountStore,
  createWebhookEventStore,
  DELIVERY_FATES,
  listAudit,
  readEventStory,
} from '@postrider/store';
import type { Database, EventStory, ListedAuditEntry } from '@postrider/store';
import { z } from 'zod';
import { idField, note, readFields } from '../http/fields.ts';
import { badRequest } from '../http/refusal.ts';
import type { FormHandler } from '../http/serve-form.ts';
import type { PageHandler } from '../http/serve-page.ts';
import { endpointName } from '../html/pieces.ts';
import { clockTime } from '../html/words.ts';
import { eventPage } from '../pages/event.ts';
import type { Settings } from '../settings.ts';
import { idOf, noSuch } from './ids.ts';

/** A sentence for the page that says that an event is missing. */
function keptFor({ eventRetentionDays, deadLetterRetentionDays }: Settings): string {
  return `Postrider keeps events for ${eventRetentionDays} days and dead letters for ${deadLetterRetentionDays}.`;
}

/** `/events/:id` */
export function showEvent(db: Database, clock: Clock, settings: Settings): PageHandler {
  const accounts = createAccountStore(db, clock);
  return async (visit) => {
    const id = idOf('event', visit);
    readFields({}, visit.query); // refuses every parameter
    const story = await readEventStory(db, id);
    if (story === null) throw noSuch('event', id, visit.now, keptFor(settings));
    const account = await accounts.find(story.event.accountId);
    const deletions = await deletionsOf(db, story);
    return eventPage({ story, account, deletions }, settings, visit);
  };
}

async function deletionsOf(db: Database, { webhooks }: EventStory) {
  const deletions = new Map<WebhookId, ListedAuditEntry>();
  for (const { webhookId, endpoint } of webhooks) {
    if (endpoint !== null) continue;
    const page = await listAudit(db, { target: webhookId, action: 'webhook.delete' }, { limit: 1 });
    for (const entry of page?.entries ?? []) deletions.set(webhookId, entry);
  }
  return deletions;
}

const replayFields = {
  webhook: idField('webhook', 'a webhook'),
  note: note.optional(),
  /** The state of the delivery that the page of the form showed. */
  shown: z.enum(DELIVERY_FATES, { error: 'is not the state of a delivery' }),
};

/** `POST /events/:id/replay` */
export function replayEvent(db: Database): FormHandler {
  const events = createWebhookEventStore(db);
  return async ({ params, fields, visitor, now }) => {
    const id = idOf('event', { params, now });
    const { webhook: webhookId, note: why, shown } = readFields(replayFields, fields);
    const story = await readEventStory(db, id);
    if (story === null) throw noSuch('event', id, now);
    const target = story.webhooks.find((webhook) => webhook.webhookId === webhookId);
    const location = `/events/${id}`;
    const by = { kind: 'console', name: visitor.name, note: why } as const;
    const replay = await events.replay(story.event.accountId, webhookId, id, by, shown);
    if (replay === 'missing')
      throw badRequest([`Webhook ${webhookId} does not get this event, or it was deleted.`]);
    if (replay === 'pending')
      return { location, outcome: 'Nothing changed. The event is pending there already.' };
    if (replay === 'changed') {
      const outcome = 'Nothing changed. The state of this delivery was another than on your page.';
      return { location, outcome: `${outcome} This page shows it as it is now.` };
    }
    const host = endpointName(target?.endpoint ?? webhookId);
    // Postgres keeps this outcome for a day. It does not quote the note: that may have an email address,
    // which the audit removes.
    const noted = why === undefined ? '' : ', with the note';
    return {
      location,
      outcome: `1 event was queued for ${host} at ${clockTime(now)} UTC. The audit records the replay by ${visitor.name}${noted}.`,
    };
  };
}
