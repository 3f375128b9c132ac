import { plainAddresses, recipientsOf } from '@postrider/domain';
import type {
  AccountId,
  EmailId,
  EventData,
  EventId,
  EventType,
  MessageId,
  WebhookId,
} from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import type { LoggedAttempt } from '../deliveries/attempts.ts';
import type { DeadLetter } from '../deliveries/dead-letters.ts';
import { findMessage } from '../inbound/find-messages.ts';
import type { FoundMessage } from '../inbound/find-messages.ts';
import { findEmails } from '../mail/find-emails.ts';
import type { FoundEmail } from '../mail/find-emails.ts';
import { suppressionOf } from '../mail/suppressions.ts';
import type { Suppression } from '../mail/suppressions.ts';
import { readFates } from './event-fates.ts';
import type { EventFate } from './event-fates.ts';
import { readReplays } from './event-replays.ts';
import type { StoryReplay } from './event-replays.ts';
import { findAttempts, findDeadLetters, findEvents } from './sql/event-story.ts';

/** An event of any account. */
export interface FoundEvent {
  readonly id: EventId;
  readonly accountId: AccountId;
  readonly type: EventType;
  readonly createdAt: Date;
  /** JSON text. */
  readonly data: string;
  /** Retention has dropped the event. This is the copy in a dead letter. */
  readonly isCopy: boolean;
}

/** `answer` is the first KiB of the answer's body. */
export type StoryAttempt = Omit<LoggedAttempt, 'eventId' | 'type' | 'cursor'>;

export type StoryDeadLetter = Omit<DeadLetter, 'webhookId' | 'eventId' | 'type'>;

/** A webhook's part of the story. */
export interface StoryWebhook extends EventFate {
  /** The attempts of each delivery, the oldest first. A replay makes a new delivery. */
  readonly attemptsByDelivery: readonly (readonly StoryAttempt[])[];
  readonly deadLetter: StoryDeadLetter | null;
  /** The oldest first. */
  readonly replays: readonly StoryReplay[];
}

export interface EventStory {
  readonly event: FoundEvent;
  /** The sent message that the event is about. null: none, or it is deleted. */
  readonly email: FoundEmail | null;
  /** The received message that the event is about. null: none, or it is deleted. */
  readonly message: FoundMessage | null;
  /** The suppressions of the event's recipients that this sent message caused. */
  readonly suppressions: readonly Suppression[];
  /** Outstanding deliveries first, then dead letters, dropped deliveries and the rest. */
  readonly webhooks: readonly StoryWebhook[];
  /** The log has more than 1,000 attempts of the event. Only the newest 1,000 are here. */
  readonly lacksAttempts: boolean;
}

const ATTEMPTS_MAX = 1_000;

type AttemptRow = StoryAttempt & { readonly webhookId: WebhookId; readonly deliveryId: string };
type DeadLetterRow = StoryDeadLetter & { readonly webhookId: WebhookId };

/** @returns the event of any account; null when there is no such event. */
export async function findEvent({ pool }: Pick<Database, 'pool'>, id: EventId): Promise<FoundEvent | null> {
  const [event] = await runOn<FoundEvent>(pool, findEvents, [[id]]);
  return event ?? null;
}

/** @returns the event of any account, with all rows about it; null when there is no such event. */
export async function readEventStory(db: Database, id: EventId): Promise<EventStory | null> {
  const event = await findEvent(db, id);
  if (event === null) return null;
  const data = JSON.parse(event.data) as EventData<EventType>;
  const [fates, logged, letters, cause] = await Promise.all([
    readFates(db, [id]),
    runOn<AttemptRow>(db.pool, findAttempts, [id, event.createdAt.toISOString(), ATTEMPTS_MAX + 1]),
    runOn<DeadLetterRow>(db.pool, findDeadLetters, [id]),
    readCause(db, event, data),
  ]);
  const attempts = logged.slice(0, ATTEMPTS_MAX).reverse();
  const withAttempts = (fates.get(id) ?? []).map((fate) => {
    const ofWebhook = ({ webhookId }: { readonly webhookId: WebhookId }) => webhookId === fate.webhookId;
    const deadLetter = letters.find(ofWebhook) ?? null;
    return { ...fate, attemptsByDelivery: byDelivery(attempts.filter(ofWebhook)), deadLetter };
  });
  const replays = await readReplays(db, event, withAttempts);
  const webhooks = withAttempts.map((each) => ({ ...each, replays: replays.get(each.webhookId) ?? [] }));
  return {
    event,
    ...cause,
    webhooks: webhooks.sort(byUrgency),
    lacksAttempts: logged.length > ATTEMPTS_MAX,
  };
}

async function readCause(
  db: Database,
  event: FoundEvent,
  data: EventData<EventType>,
): Promise<Pick<EventStory, 'email' | 'message' | 'suppressions'>> {
  const emailId = 'email_id' in data ? (data.email_id as EmailId | null) : null;
  // Only the data of a received message has `object`.
  const [emails, message, suppressions] = await Promise.all([
    emailId === null ? [] : findEmails(db, [emailId]),
    'object' in data ? findMessage(db, data.id as MessageId) : null,
    emailId === null ? [] : suppressionsBecauseOf(db, event.accountId, emailId, data),
  ]);
  return { email: emails[0] ?? null, message, suppressions };
}

async function suppressionsBecauseOf(
  { prisma }: Database,
  accountId: AccountId,
  emailId: EmailId,
  data: EventData<EventType>,
): Promise<Suppression[]> {
  const address = { in: plainAddresses(recipientsOf(data)) };
  const rows = await prisma.suppression.findMany({
    where: { accountId, address, emailId },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map(suppressionOf);
}

/** @param attempts the attempts at one webhook, the oldest first. */
function byDelivery(attempts: readonly AttemptRow[]): (readonly StoryAttempt[])[] {
  return [...Map.groupBy(attempts, ({ deliveryId }) => deliveryId).values()];
}

const URGENCY = ['retrying', 'waiting', 'dead_letter', 'dropped', 'delivered', 'attempts_expired'];

/** Ties: by the start of the webhook's last delivery, the oldest first. */
function byUrgency(one: StoryWebhook, other: StoryWebhook): number {
  const begun = (each: StoryWebhook) => each.attemptsByDelivery.at(-1)?.[0]?.startedAt.getTime() ?? Infinity;
  return (
    URGENCY.indexOf(one.fate) - URGENCY.indexOf(other.fate) ||
    begun(one) - begun(other) ||
    one.webhookId.localeCompare(other.webhookId)
  );
}
