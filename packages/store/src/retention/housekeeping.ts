import { NOTIFICATION_ID_HOURS, UNCLAIMED_NOTIFICATION_HOURS } from '@postrider/domain';
import type { Pool } from 'pg';
import { CONSOLE_FORM_HOURS } from '../console/console-forms.ts';
import { dropAged, forRetention } from '../db/bounded-step.ts';
import { isOutage } from '../db/errors.ts';
import { ADDRESS_RESERVED_DAYS } from '../inbound/sql/inboxes.ts';

/** Recoveries are kept as long as dead letters are by default. */
const RECOVERY_HOURS = 90 * 24;

/** How long rows are kept, in hours after their `age`. */
const LIFETIMES = [
  // An answer is remembered for 24 hours (contract 7.3).
  { table: 'idempotency_keys', age: 'created_at', hours: 24 },
  // An older notification is refused for its age.
  { table: 'provider_notifications', age: 'received_at', hours: NOTIFICATION_ID_HOURS },
  // The notification's message becomes known when the worker that sent the message reaches Postgres again.
  { table: 'unclaimed_notifications', age: 'received_at', hours: UNCLAIMED_NOTIFICATION_HOURS },
  // The limit of an inbox counts the mail that it sent in the last hour.
  { table: 'counted_sends', age: forRetention('counted_at'), hours: 2 },
  { table: 'console_sessions', age: 'expires_at', hours: 0 },
  // A form that arrives again within a day gets its first result.
  { table: 'console_forms', age: 'received_at', hours: CONSOLE_FORM_HOURS },
  // An event is delivered or given up within a day. If OPERATOR_WEBHOOK_URL is no longer set, its row stays.
  { table: 'operator_events', age: 'created_at', hours: 48 },
  { table: 'recoveries', age: 'ended_at', hours: RECOVERY_HOURS },
  { table: 'recovery_outcomes', age: 'recorded_at', hours: RECOVERY_HOURS },
  // The address of a deleted inbox is reserved for this time.
  { table: 'released_addresses', age: 'released_at', hours: ADDRESS_RESERVED_DAYS * 24 },
  // `LEASE_SECONDS` is an hour at most, so the leases of a silent worker are over.
  { table: 'workers', age: 'heard_at', hours: 1 },
] as const;

/**
 * Deletes the rows that are older than `LIFETIMES` says. A table that fails does not stop the others.
 *
 * @returns how many rows.
 * @throws an outage at once. After the last table, the first of the other errors.
 */
export async function dropExpired(pool: Pool): Promise<number> {
  let dropped = 0;
  const faults: unknown[] = [];
  for (const { table, age, hours } of LIFETIMES) {
    const kept = `make_interval(hours => ${hours})`;
    try {
      dropped += await dropAged(pool, { table, age, kept });
    } catch (error) {
      if (isOutage(error)) throw error;
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
  return dropped;
}

/**
 * Deletes old attempts from the default partition. They are there because no relay was running to make a
 * partition for their day. They are kept one day longer, because partitions are dropped by whole days, too.
 * @returns how many.
 */
export async function dropStrayAttempts(pool: Pool, days: number): Promise<number> {
  return dropAged(pool, {
    table: 'attempts_default',
    age: forRetention('started_at'),
    kept: keptFor(days + 1),
  });
}

/** Deletes old entries of the audit. @returns how many. */
export async function dropOldAudit(pool: Pool, days: number): Promise<number> {
  return dropAged(pool, { table: 'audit', age: forRetention('created_at'), kept: keptFor(days) });
}

/** The overview shows the last minutes. A minute stays until it is settled: its hour depends on it. */
const MINUTES_KEPT = `greatest(interval '2 hours', now() - (select settled_until from attempt_sums))`;

/** Deletes sums of attempts by minute, and sums by hour that are older than `days`. @returns how many. */
export async function dropOldSums(pool: Pool, days: number): Promise<number> {
  const minutes = { table: 'attempts_by_minute', age: 'begins_at', kept: MINUTES_KEPT };
  const hours = { table: 'attempts_by_hour', age: 'begins_at', kept: keptFor(days) };
  return (await dropAged(pool, minutes)) + (await dropAged(pool, hours));
}

function keptFor(days: number): string {
  return `make_interval(days => ${days})`;
}
