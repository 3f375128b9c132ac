import { NOTIFICATION_ID_HOURS, UNCLAIMED_NOTIFICATION_HOURS } from '@postrider/domain';
import type { Pool } from 'pg';
import { mappingUnavailable } from './errors.ts';

/** Contract 7.3 and the rulings: an answer is remembered for 24 hours; a notification until it is refused by its age, or until its mail can no longer become known. */
const LIFETIMES = [
  { table: 'idempotency_keys', key: 'account_id, kind, route, key', age: 'created_at', hours: 24 },
  { table: 'provider_notifications', key: 'message_id', age: 'received_at', hours: NOTIFICATION_ID_HOURS },
  {
    table: 'unclaimed_notifications',
    key: 'message_id',
    age: 'received_at',
    hours: UNCLAIMED_NOTIFICATION_HOURS,
  },
] as const;

const ROWS_PER_BATCH = 1_000;

/** Drops what was only kept for a time, in small batches. @returns how many rows. */
export async function dropExpired(pool: Pool): Promise<number> {
  return mappingUnavailable(async () => {
    let dropped = 0;
    for (const { table, key, age, hours } of LIFETIMES) {
      const statement = `delete from ${table} where (${key}) in (
           select ${key} from ${table} where ${age} <= now() - make_interval(hours => $1)
           order by ${age} limit $2 for update skip locked)`;
      for (let batch = ROWS_PER_BATCH; batch === ROWS_PER_BATCH;) {
        batch = (await pool.query(statement, [hours, ROWS_PER_BATCH])).rowCount ?? 0;
        dropped += batch;
      }
    }
    return dropped;
  });
}
