import type { Statement } from '../statement.ts';
import { eventCtes } from './event-ctes.ts';

/**
 * Writes events of one account, type and subject, and for each of them one delivery for each webhook that matches.
 *
 * Guarantee: run in the cause's transaction; `eventCtes` says the rest.
 *
 * $1 to $6 as `eventCtes` has them. Returns the webhooks that got deliveries, each once.
 */
export const recordEvents: Statement = {
  name: 'record-events',
  text: `
    with given as materialized (
      select e.id, $2::text as account_id, e.data from unnest($1::text[], $5::text[]) as e (id, data)
    ),
    ${eventCtes('given')}
    select m.id as "webhookId" from matching m`,
};
