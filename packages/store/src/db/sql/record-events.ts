import { statement } from '../statement.ts';
import { eventCtes, WOKEN_WEBHOOKS } from './event-ctes.ts';

/**
 * Writes events of one account, type and subject, and one delivery for each event and matching webhook.
 *
 * Guarantee: it runs in the transaction of the cause. See also `eventCtes`.
 *
 * $1 to $6 as in `eventCtes`. Returns the webhooks to wake, each once.
 */
export const recordEvents = statement('record-events')`
    with given as materialized (
      select e.id, $2::text as account_id, e.data, e.recipients
      from unnest($1::text[], $4::text[], $6::json[]) as e (id, data, recipients)
    ),
    ${eventCtes('given')}
    select woken.id as "webhookId" from (${WOKEN_WEBHOOKS}) woken`;
