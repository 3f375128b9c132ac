import { NOTIFICATION_ID_HOURS, UNCLAIMED_NOTIFICATION_HOURS } from '@postrider/domain';
import type { Pool } from 'pg';
import { CONSOLE_FORM_HOURS } from '../console/console-forms.ts';
import { dropAged, forRetention } from '../db/bounded-step.ts';
import { ADDRESS_RESERVED_DAYS } from '../inbound/sql/inboxes.ts';
import { finishRemovals } from '../webhooks/remove-webhook.ts';
import type { Removals } from '../webhooks/remove-webhook.ts';
import { removeInboxes } from './remove-inboxes.ts';
import type { InboxRemovals } from './remove-inboxes.ts';

/** Recoveries are kept as long as dead letters are by default. */
const RECOVERY_HOURS = 90 * 24;

/** How long rows are kept, in hours after their `age`. */
const LIFETIMES = [
  // An answer is remembered for 24 hours (contract 7.3).
  { table: 'idempotency_keys', age: 'created_at', hours: 24 },
  // An older notification is refused for its age.
  { table: 'provider_notifications', age: 'received_at', hours: NOTIFICATION_ID_HOURS },
  // The mail of an older one can no longer become known.
  { table: 'unclaimed_notifications', age: 'received_at', hours: UNCLAIMED_NOTIFICATION_HOURS },
  // An inbox's mail counts for an hour, by the API's clock.
  { table: 'counted_sends', age: forRetention('counted_at'), hours: 2 },
  { table: 'console_sessions', age: 'expires_at', hours: 0 },
  // A form that arrives again within a day gets its first result.
  { table: 'console_forms', age: 'received_at', hours: CONSOLE_FORM_HOURS },
  // An event is given up within a day. It stays when OPERATOR_WEBHOOK_URL is no longer set.
  { table: 'operator_events', age: 'created_at', hours: 48 },
  { table: 'recoveries', age: 'ended_at', hours: RECOVERY_HOURS },
  { table: 'recovery_outcomes', age: 'recorded_at', hours: RECOVERY_HOURS },
  // The address of a deleted inbox is reserved for this time.
  { table: 'released_addresses', age: 'released_at', hours: ADDRESS_RESERVED_DAYS * 24 },
] as const;

export type Housekeeping = ReturnType<typeof createHousekeeping>;

export function createHousekeeping(pool: Pool) {
  return {
    /** Deletes rows whose lifetime in `LIFETIMES` is over. @returns how many. */
    dropExpired: async (): Promise<number> => dropExpired(pool),
    /** Finishes removals that a DELETE has left. A removal that fails does not stop the others. */
    finishRemovals: async (): Promise<Removals> => finishRemovals(pool),
    /** Deletes rows of deleted inboxes, some of each inbox. */
    removeInboxes: async (): Promise<InboxRemovals> => removeInboxes(pool),
  };
}

export async function dropExpired(pool: Pool): Promise<number> {
  let dropped = 0;
  for (const { table, age, hours } of LIFETIMES) {
    const kept = `make_interval(hours => ${hours})`;
    dropped += await dropAged(pool, { table, age, kept });
  }
  return dropped;
}
