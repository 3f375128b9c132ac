import type { TestDatabase } from '@postrider/testing';
import type { EventId, WebhookId } from '@postrider/domain';
import { logLine, pairOf, UNIT_SECONDS } from './state.ts';
import type { LetterState, State } from './state.ts';

/** What Postgres holds, and which deliveries it ever held. */
export interface Snapshot {
  /** In the order in which they are due. */
  readonly deliveries: readonly string[];
  readonly facts: Facts;
  /** The ids of all deliveries ever committed, by event and webhook, in the order of their making. */
  readonly made: ReadonlyMap<string, readonly string[]>;
  readonly storedEvents: ReadonlySet<EventId>;
}

/** What the model and Postgres must agree on, each a list of lines in one order. */
export interface Facts {
  readonly deliveries: readonly string[];
  readonly letters: readonly string[];
  readonly events: readonly string[];
  readonly webhooks: readonly string[];
  readonly log: readonly string[];
}

interface Row {
  deliveries: {
    id: string;
    eventId: EventId;
    webhookId: WebhookId;
    claim: number;
    attempts: number;
    lastStatus: number | null;
    dueIn: number;
    leasedFor: number | null;
    takenIn: number | null;
  }[];
  letters: Record<string, string | number | null>[];
  events: { id: EventId; type: string; data: string }[];
  webhooks: string[];
  log: { deliveryId: string; attempt: number; status: number | null; error: string | null }[];
  made: { id: string; eventId: EventId; webhookId: WebhookId }[];
}

const SNAPSHOT = `
  select
    coalesce((select json_agg(json_build_object(
      'id', id::text, 'eventId', event_id, 'webhookId', webhook_id, 'claim', claim, 'attempts', attempts,
      'lastStatus', last_status, 'dueIn', extract(epoch from due_at - now()),
      'leasedFor', extract(epoch from leased_until - now()), 'takenIn', extract(epoch from taken_at - now()))
      order by due_at, id) from deliveries), '[]') as deliveries,
    coalesce((select json_agg(json_build_object(
      'id', id, 'accountId', account_id, 'webhookId', webhook_id, 'eventId', event_id, 'type', type, 'data', data,
      'attempts', attempts, 'reason', reason, 'lastError', last_error, 'statusCode', status_code))
      from dead_letters), '[]') as letters,
    coalesce((select json_agg(json_build_object('id', id, 'type', type, 'data', data)) from events), '[]') as events,
    coalesce((select json_agg(id) from webhooks), '[]') as webhooks,
    coalesce((select json_agg(json_build_object(
      'deliveryId', delivery_id::text, 'attempt', attempt, 'status', status, 'error', error))
      from attempts), '[]') as log,
    coalesce((select json_agg(json_build_object('id', id::text, 'eventId', event_id, 'webhookId', webhook_id)
      order by id) from deliveries_made), '[]') as made`;

/**
 * Remembers every delivery that is committed: without it, one that came and went between two looks would leave no
 * trace. What a transaction undoes leaves none here either.
 */
export async function rememberDeliveries(database: TestDatabase): Promise<void> {
  await database.query(
    'create table deliveries_made (id bigint primary key, event_id text, webhook_id text)',
  );
  await database.query(`create function remember_delivery() returns trigger language plpgsql as $$
    begin insert into deliveries_made values (new.id, new.event_id, new.webhook_id); return null; end $$`);
  await database.query(`create trigger remember_delivery after insert on deliveries
    for each row execute function remember_delivery()`);
}

export async function takeSnapshot(database: TestDatabase): Promise<Snapshot> {
  const [row] = await database.query<Row>(SNAPSHOT);
  if (row === undefined) throw new Error('Postgres answered the snapshot with nothing');
  const made = new Map<string, string[]>();
  for (const { id, eventId, webhookId } of row.made) {
    const pair = pairOf(eventId, webhookId);
    made.set(pair, [...(made.get(pair) ?? []), id]);
  }
  return {
    deliveries: row.deliveries.map(({ id }) => id),
    facts: factsOfRow(row),
    made,
    storedEvents: new Set(row.events.map(({ id }) => id)),
  };
}

/** Seconds as units: what has really passed since it was written, less than a unit, is taken off again. */
export function unitsOf(seconds: number): number {
  return Math.ceil((seconds - 0.01) / UNIT_SECONDS) + 0; // never -0
}

function factsOfRow(row: Row): Facts {
  const units = (seconds: number | null) => (seconds === null ? null : unitsOf(seconds));
  return {
    deliveries: row.deliveries
      .map(({ dueIn, leasedFor, takenIn, ...same }) =>
        JSON.stringify({
          ...same,
          dueIn: units(dueIn),
          leasedFor: units(leasedFor),
          takenIn: units(takenIn),
        }),
      )
      .sort(),
    letters: row.letters.map((letter) => JSON.stringify(letter)).sort(),
    events: row.events.map((event) => JSON.stringify(event)).sort(),
    webhooks: row.webhooks.sort(),
    log: row.log.map((line) => logLine(line.deliveryId, line.attempt, line.status, line.error)).sort(),
  };
}

/** The same of the model. Keys are in the order of the snapshot's. */
export function factsOf(state: State): Facts {
  const since = (time: number | null) => (time === null ? null : time - state.now);
  return {
    deliveries: [...state.deliveries]
      .map(([id, { dueAt, leasedUntil, takenAt, ...same }]) =>
        JSON.stringify({
          id,
          eventId: same.eventId,
          webhookId: same.webhookId,
          claim: same.claim,
          attempts: same.attempts,
          lastStatus: same.lastStatus,
          dueIn: dueAt - state.now,
          leasedFor: since(leasedUntil),
          takenIn: since(takenAt),
        }),
      )
      .sort(),
    letters: [...state.letters].map(([id, letter]) => JSON.stringify(letterFact(state, id, letter))).sort(),
    events: [...state.events]
      .filter(([id]) => state.storedEvents.has(id))
      .map(([id, { type, data }]) => JSON.stringify({ id, type, data }))
      .sort(),
    webhooks: [...state.webhooks.keys()].sort(),
    log: [...state.log].sort(),
  };
}

function letterFact(state: State, id: string, letter: LetterState) {
  const event = state.events.get(letter.eventId);
  return {
    id,
    accountId: event?.accountId,
    webhookId: letter.webhookId,
    eventId: letter.eventId,
    type: event?.type,
    data: event?.data,
    attempts: letter.attempts,
    reason: letter.reason,
    lastError: letter.lastError,
    statusCode: letter.statusCode,
  };
}

/** @returns what Postgres has and the model has not, and the reverse; empty where they agree. */
export function differences(state: State, seen: Snapshot): string[] {
  const expected = factsOf(state);
  return (Object.keys(expected) as (keyof Facts)[]).flatMap((table) => {
    const [mine, theirs] = [counted(expected[table]), counted(seen.facts[table])];
    return [
      ...[...theirs].filter((line) => !mine.has(line)).map((line) => `${table}: only Postgres has ${line}`),
      ...[...mine].filter((line) => !theirs.has(line)).map((line) => `${table}: only the model has ${line}`),
    ];
  });
}

/** A line that is there twice is two lines. */
function counted(lines: readonly string[]): Set<string> {
  const times = new Map<string, number>();
  return new Set(
    lines.map((line) => {
      const time = (times.get(line) ?? 0) + 1;
      times.set(line, time);
      return time === 1 ? line : `${line} (${time})`;
    }),
  );
}
