import type { EventStory, StoryAttempt, StoryReplay, StoryWebhook } from '@postrider/store';
import { emailLines } from './email-object.ts';
import { answerText } from './story-object.ts';

/** The story of an event for a person: the cause, then each webhook with its attempts in order. */
export function storyLines(story: EventStory): string[] {
  const { event, email, message, suppressions, webhooks } = story;
  return [
    `${event.id}: ${event.type} of ${event.accountId}`,
    `recorded: ${event.createdAt.toISOString()}`,
    ...(event.isCopy ? ['the event is gone: this is the copy in its dead letter'] : []),
    ...(email === null ? [] : emailLines(email)),
    ...(message === null
      ? []
      : [
          `message: ${message.id}, ${message.kind}, ${message.status}${message.heldReason === null ? '' : ` (${message.heldReason})`}`,
          `from: ${message.from}`,
          `for: ${message.receivedFor.join(', ')}`,
          `received: ${message.receivedAt.toISOString()}`,
        ]),
    ...suppressions.map(
      ({ address, origin, createdAt }) =>
        `suppressed: ${address} since ${createdAt.toISOString()} (${origin})`,
    ),
    ...(webhooks.length === 0 ? ['no webhook matched'] : webhooks.flatMap(webhookLines)),
    ...(story.lacksAttempts ? ['the log has more attempts than these'] : []),
  ];
}

/** A line of a webhook's story, with its time. */
interface Moment {
  readonly at: Date;
  readonly line: string;
}

function webhookLines(webhook: StoryWebhook): string[] {
  const { webhookId, endpoint, nextAttemptAt, deadLetter } = webhook;
  const moments = [
    ...webhook.attemptsByDelivery.flat().map(attemptMoment),
    ...webhook.replays.flatMap(replayMoments),
    ...(deadLetter === null ? [] : [deadLetterMoment(deadLetter)]),
  ];
  return [
    '',
    `${webhookId} ${endpoint === null ? '(deleted)' : endpoint}: ${stateOf(webhook)}`,
    ...moments
      .sort((one, other) => one.at.getTime() - other.at.getTime())
      .map(({ at, line }) => `  ${at.toISOString()}  ${line}`),
    ...(nextAttemptAt === null ? [] : [`  ${nextAttemptAt.toISOString()}  next attempt`]),
  ];
}

function stateOf({ fate, failingSince }: StoryWebhook): string {
  return failingSince === null ? fate : `${fate}, failing since ${failingSince.toISOString()}`;
}

function attemptMoment(attempt: StoryAttempt): Moment {
  const result = attempt.error ?? `HTTP ${attempt.statusCode ?? '?'}`;
  const answer = answerText(attempt);
  const shown = answer === null || answer === '' ? '' : `  ${answer}`;
  return {
    at: attempt.startedAt,
    line: `attempt ${attempt.attempt}  ${result}  ${attempt.durationMs} ms${shown}`,
  };
}

function replayMoments({ at, by, note, isOfMany, deadLetter }: StoryReplay): Moment[] {
  const why = note === null ? '' : `: ${note}`;
  const line = `replayed by ${by.name} (${by.kind}${isOfMany ? ', with others' : ''})${why}`;
  return [...(deadLetter === null ? [] : [deadLetterMoment(deadLetter)]), { at, line }];
}

function deadLetterMoment(letter: NonNullable<StoryReplay['deadLetter']>): Moment {
  return {
    at: letter.createdAt,
    line: `given up: ${letter.reason}, ${letter.lastError}, ${letter.id}`,
  };
}
