import type { EventId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';
import { sinceEvent } from './sql/webhook-events.ts';

/** What a list of events shows beside the state of each. */
export interface EventSummary {
  readonly eventId: EventId;
  /**
   * The recipients that the event names. `email.sent` and `email.failed` name none: these have the recipients
   * of the stored mail, or none when the mail is no longer stored.
   */
  readonly recipients: readonly string[];
  /** The status of the last attempt at the webhook. null: no answer came, or there was no attempt. */
  readonly lastStatus: number | null;
  /** The error of that attempt. null: a 2xx answered, or there was no attempt. */
  readonly lastError: string | null;
}

/**
 * $1 webhook, $2 events. `greatest(webhook_id, '')` is the webhook, written as in the index
 * `attempts_of_event_at_webhook`, so that Postgres uses that index.
 */
const SUMMARIZE = statement('summarize-events')`
    select e.id as "eventId",
           coalesce((
             select array_agg(address) from json_array_elements_text(
               case when e.type like 'message.%' then e.data::json -> 'received_for'
                    when e.type in ('email.sent', 'email.failed') then (
                      select to_json(m.to_addresses || m.cc_addresses || m.bcc_addresses)
                      from emails m where m.id = e.data::json ->> 'email_id')
                    when e.type = 'email.unsubscribed' then json_build_array(e.data::json -> 'to')
                    when json_typeof(e.data::json -> 'recipients') = 'array' then e.data::json -> 'recipients'
                    else '[]' end) address), '{}') as recipients,
           a.status as "lastStatus", a.error as "lastError"
    from unnest($2::text[]) asked (id)
    join events e on e.id = asked.id
    left join lateral (
      select a.status, a.error from attempts a
      where a.event_id = e.id and greatest(a.webhook_id, '') = $1 and ${sinceEvent('e.created_at')}
      order by a.started_at desc, a.attempt desc limit 1
    ) a on true`;

/** @returns a summary of each event that is still stored. */
export async function summarizeEvents(
  { pool }: { readonly pool: Pool },
  webhookId: WebhookId,
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, EventSummary>> {
  const summaries = await runOn<EventSummary>(pool, SUMMARIZE, [webhookId, ids]);
  return new Map(summaries.map((summary) => [summary.eventId, summary]));
}
