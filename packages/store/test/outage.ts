import type { AccountId, EventId, EventType, RecoveryId, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { createRecoveryWork } from '../src/recoveries/recovery-work.ts';
import type { RecoveryStep } from '../src/recoveries/recovery-work.ts';
import type { Database } from '../src/db/database.ts';

/** What became of an event at the webhook. */
export type Fate = 'queued' | 'delivered' | 'dead_letter' | 'dropped' | 'never attempted';

interface EventWish {
  /** Default: a dead letter. */
  readonly fate?: Fate;
  /** Default: an hour ago, and a second later with each event. */
  readonly ageHours?: number;
  readonly type?: EventType;
  readonly accountId?: AccountId;
  readonly data?: object;
}

/** A webhook, and its events. */
export interface Outage {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
  event(wish?: EventWish): Promise<EventId>;
  events(count: number, wish?: EventWish): Promise<EventId[]>;
  /** Does the next step of a recovery, as if it were due. */
  step(id: RecoveryId, eventsMax?: number): Promise<RecoveryStep>;
  /** The events that are queued, in the order of their due times. */
  queued(): Promise<string[]>;
}

/** @param subject of a routing rule */
export async function createOutage(
  { db, outside }: { readonly db: Database; readonly outside: TestDatabase },
  { accountId: owner, subject }: { readonly accountId?: AccountId; readonly subject?: string } = {},
): Promise<Outage> {
  const rows = createRows(outside);
  const accountId = owner ?? (await rows.account());
  const webhookId = await rows.webhook({ accountId, ...(subject === undefined ? {} : { subject }) });
  await outside.query(`update webhooks set created_at = now() - interval '20 days' where id = $1`, [
    webhookId,
  ]);
  let made = 0;

  const fates = createFates(outside, webhookId);
  async function event(wish: EventWish = {}): Promise<EventId> {
    const { fate = 'dead_letter', ageHours = 1, type = 'email.sent', data = { email_id: 'em_1' } } = wish;
    const id = await rows.event({ accountId: wish.accountId ?? accountId });
    made += 1;
    await outside.query(
      `update events set type = $2, data = $3, created_at = now() - $4::float8 * interval '1 hour' + $5::int * interval '1 s'
       where id = $1`,
      [id, type, JSON.stringify(data), ageHours, made],
    );
    await fates[fate](id);
    return id;
  }
  return {
    accountId,
    webhookId,
    event,
    async events(count, wish) {
      const ids: EventId[] = [];
      while (ids.length < count) ids.push(await event(wish));
      return ids;
    },
    async step(id, eventsMax = 10_000) {
      await outside.query('update recoveries set next_step_at = now() where id = $1', [id]);
      return createRecoveryWork(db.pool).step(id, eventsMax);
    },
    async queued() {
      const found = await outside.query<{ id: string }>(
        `select event_id as id from deliveries where webhook_id = $1 and recovery_id is not null order by due_at, id`,
        [webhookId],
      );
      return found.map(({ id }) => id);
    },
  };
}

/** What makes each fate of an event at the webhook. */
function createFates(
  outside: TestDatabase,
  webhookId: WebhookId,
): Readonly<Record<Fate, (eventId: EventId) => Promise<unknown>>> {
  const rows = createRows(outside);
  async function attempt(eventId: EventId, status: number): Promise<void> {
    await outside.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
       select created_at, 1, id, $2, 1, 1, $3 from events where id = $1`,
      [eventId, webhookId, status],
    );
  }
  return {
    queued: (eventId) => rows.deliveries(webhookId, { eventId, dueInMs: 3_600_000 }),
    delivered: (eventId) => attempt(eventId, 200),
    async dead_letter(eventId) {
      await attempt(eventId, 503);
      const id = await rows.deadLetter(webhookId, eventId);
      await outside.query(`update dead_letters set created_at = now() - interval '1 minute' where id = $1`, [
        id,
      ]);
    },
    dropped: (eventId) => attempt(eventId, 503),
    'never attempted': async () => undefined,
  };
}
