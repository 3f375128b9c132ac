import type { DeadLetterId, EventId, EventType, WebhookId } from '@postrider/domain';
import { listAudit } from '../audit/audit.ts';
import type { Actor, ListedAuditEntry } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { createRecoveryLookUps } from '../recoveries/find-recoveries.ts';
import type { WebhookEventStatus } from './webhook-events.ts';

/** A replay or recovery that queued an event again. */
export interface StoryReplay {
  readonly at: Date;
  readonly by: Pick<Actor, 'kind' | 'name'>;
  readonly note: string | null;
  /** What its entry in the audit names: the event, the webhook or a recovery. */
  readonly target: string;
  /** True: it queued several events together. */
  readonly isOfMany: boolean;
  /** The dead letter that it removed. null: none, or it was one of many. */
  readonly deadLetter: RemovedDeadLetter | null;
}

interface RemovedDeadLetter {
  readonly id: DeadLetterId;
  readonly reason: string;
  readonly lastError: string;
  readonly createdAt: Date;
}

/** The attempts of each delivery at a webhook, the oldest first. */
interface Tried {
  readonly webhookId: WebhookId;
  readonly attemptsByDelivery: readonly (readonly { readonly startedAt: Date }[])[];
  readonly status: WebhookEventStatus;
}

/** The latest time that a Date can have. */
const LATEST = new Date(8.64e15);

/** The most rows that are read: audit entries of the event or of a webhook, or recoveries of a webhook. */
const ENTRIES_MAX = 100;

/**
 * Reads the replays of an event at each webhook, the oldest first. The audit names the event only when it was
 * replayed alone. Each other gap between two deliveries gets the first recovery, or replay of many dead
 * letters, in the gap that may have included the event. A later one in the gap found the event queued.
 */
export async function readReplays(
  db: Database,
  event: { readonly id: EventId; readonly type: EventType; readonly createdAt: Date },
  webhooks: readonly Tried[],
): Promise<ReadonlyMap<WebhookId, readonly StoryReplay[]>> {
  const alone = await entriesOf(db, event.id, event.createdAt);
  const all = webhooks.map(async (webhook) => {
    const { webhookId } = webhook;
    const mine = alone.filter((entry) => entry.action === 'event.replay' && entry.webhookId === webhookId);
    const gaps = gapsOf(webhook).filter((gap) => !mine.some(({ createdAt }) => isWithin(gap, createdAt)));
    const ofMany = gaps.length === 0 ? [] : await replaysOfMany(db, webhookId, event);
    const causes = gaps.flatMap((gap) => ofMany.find((many) => mayFill(gap, many))?.replay ?? []);
    const replays = [...mine.map(replayOf), ...causes];
    return [webhookId, replays.sort((one, other) => one.at.getTime() - other.at.getTime())] as const;
  });
  return new Map(await Promise.all(all));
}

async function entriesOf(db: Database, target: string, since: Date): Promise<readonly ListedAuditEntry[]> {
  const page = await listAudit(db, { target, since }, { limit: ENTRIES_MAX });
  return page?.entries ?? [];
}

interface ReplayOfMany {
  readonly replay: StoryReplay;
  /** The time of its newest dead letter. Null: unknown. */
  readonly newestLetter: Date | null;
}

/** The recoveries and the replays of many dead letters that may have queued the event, the oldest first. */
async function replaysOfMany(
  db: Database,
  webhookId: WebhookId,
  { type, createdAt }: { readonly type: EventType; readonly createdAt: Date },
): Promise<ReplayOfMany[]> {
  const [entries, recoveries] = await Promise.all([
    entriesOf(db, webhookId, createdAt),
    createRecoveryLookUps(db).list({ webhookId }, ENTRIES_MAX),
  ]);
  const ofLetters = entries.flatMap((entry) => replayOfLetters(entry, type));
  const started = recoveries.flatMap(
    ({ id, only, since, until, types, createdAt: at, matched, queued, startedBy: by }) => {
      // A recovery of dead letters has a time span for when they were made. When this event's dead letter was
      // made is no longer known, so that span is not checked.
      const isInSpan = only === 'dead_letters' || (createdAt >= since && createdAt < until);
      const isItsEvent = isInSpan && (types.length === 0 || types.includes(type));
      if (by === null || !isItsEvent || queued === 0) return [];
      const replay = { at, by, note: by.note, target: id, isOfMany: matched > 1, deadLetter: null };
      return [{ replay, newestLetter: null }];
    },
  );
  return [...ofLetters, ...started].sort((one, other) => one.replay.at.getTime() - other.replay.at.getTime());
}

/** A replay of many dead letters may have had a filter of their type. */
function replayOfLetters(entry: ListedAuditEntry, type: EventType): ReplayOfMany[] {
  const letters = (entry.before?.['dead_letters'] ?? {}) as {
    readonly type?: string;
    readonly newest?: string;
  };
  if (entry.action !== 'dead-letters.replay' || (letters.type ?? type) !== type) return [];
  const newestLetter = letters.newest === undefined ? null : new Date(letters.newest);
  return [{ replay: replayOf(entry), newestLetter }];
}

interface Gap {
  readonly after: Date;
  readonly until: Date;
}

/**
 * The times from the last attempt of a delivery to the first attempt of the next delivery. When the next one
 * is outstanding and has no attempt yet, the gap is still open: it ends at `LATEST`.
 */
function gapsOf({ attemptsByDelivery, status }: Tried): Gap[] {
  const starts = attemptsByDelivery.slice(1).map(([first]) => first?.startedAt);
  const isUntried = status === 'pending' && attemptsByDelivery.length > 0;
  return [...starts, ...(isUntried ? [LATEST] : [])].flatMap((until, index) => {
    const after = attemptsByDelivery[index]?.at(-1)?.startedAt;
    return after === undefined || until === undefined ? [] : { after, until };
  });
}

/**
 * The event's dead letter is newer than the attempts before the gap. So a replay of older dead letters did
 * not queue the event.
 */
function mayFill(gap: Gap, { replay, newestLetter }: ReplayOfMany): boolean {
  return isWithin(gap, replay.at) && (newestLetter === null || newestLetter >= gap.after);
}

function isWithin({ after, until }: Gap, at: Date): boolean {
  return at >= after && at <= until;
}

function replayOf({
  createdAt,
  actorKind,
  actor,
  note,
  target,
  before,
  count,
}: ListedAuditEntry): StoryReplay {
  const letter = before?.['dead_letter'] as
    | { id: DeadLetterId; reason: string; last_error: string; created_at: string }
    | undefined;
  return {
    at: createdAt,
    by: { kind: actorKind, name: actor },
    note,
    target,
    isOfMany: before?.['dead_letters'] !== undefined || count > 1,
    deadLetter:
      letter === undefined
        ? null
        : {
            id: letter.id,
            reason: letter.reason,
            lastError: letter.last_error,
            createdAt: new Date(letter.created_at),
          },
  };
}
