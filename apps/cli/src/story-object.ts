import type { EventStory, StoryAttempt, StoryReplay, StoryWebhook } from '@postrider/store';
import { emailObject } from './email-object.ts';
import { fateObject } from './fate-object.ts';

/** The bytes of an endpoint's answer that are shown at most. */
const ANSWER_BYTES_MAX = 1_024;

/** The story of an event as one document. */
export function storyObject(story: EventStory) {
  const { event, email, message, suppressions } = story;
  return {
    id: event.id,
    account: event.accountId,
    type: event.type,
    created_at: event.createdAt.toISOString(),
    /** True: retention has deleted the event, and a dead letter has this copy. */
    is_copy: event.isCopy,
    data: dataWithoutText(event.data),
    email: email === null ? null : emailObject(email),
    message:
      message === null
        ? null
        : {
            id: message.id,
            kind: message.kind,
            from: message.from,
            received_for: message.receivedFor,
            inbox_id: message.inboxId,
            rule_id: message.ruleId,
            status: message.status,
            held_reason: message.heldReason,
            received_at: message.receivedAt.toISOString(),
          },
    suppressions: suppressions.map(({ id, address, topicId, origin, createdAt }) => ({
      id,
      address,
      topic_id: topicId,
      origin,
      created_at: createdAt.toISOString(),
    })),
    webhooks: story.webhooks.map(webhookObject),
    /** The log has more attempts of the event than `deliveries` shows. */
    lacks_attempts: story.lacksAttempts,
  };
}

/** Support reads no text of mail, only its length. */
function dataWithoutText(json: string): unknown {
  const data = JSON.parse(json) as { text?: unknown };
  return typeof data.text === 'string' ? { ...data, text: null, text_length: data.text.length } : data;
}

function webhookObject(webhook: StoryWebhook) {
  const { deadLetter } = webhook;
  return {
    ...fateObject(webhook),
    /** The attempts of each delivery. A replay begins a new delivery. */
    deliveries: webhook.attemptsByDelivery.map((attempts) => attempts.map(attemptObject)),
    dead_letter: deadLetter && deadLetterObject(deadLetter),
    replays: webhook.replays.map(replayObject),
  };
}

function attemptObject(attempt: StoryAttempt) {
  return {
    attempt: attempt.attempt,
    started_at: attempt.startedAt.toISOString(),
    duration_ms: attempt.durationMs,
    status_code: attempt.statusCode,
    error: attempt.error,
    response: answerText(attempt),
  };
}

/** The start of the endpoint's answer; null when there is none. */
export function answerText({ answer }: StoryAttempt): string | null {
  return answer?.toString('utf8', 0, ANSWER_BYTES_MAX) ?? null;
}

function replayObject({ at, by, note, isOfMany, deadLetter }: StoryReplay) {
  return {
    at: at.toISOString(),
    by: by.name,
    by_kind: by.kind,
    note,
    of_many: isOfMany,
    dead_letter: deadLetter && deadLetterObject(deadLetter),
  };
}

/** A replayed dead letter has no `attempts`. */
function deadLetterObject(
  deadLetter: NonNullable<StoryReplay['deadLetter']> & { readonly attempts?: number },
) {
  return {
    id: deadLetter.id,
    reason: deadLetter.reason,
    last_error: deadLetter.lastError,
    attempts: deadLetter.attempts,
    created_at: deadLetter.createdAt.toISOString(),
  };
}
