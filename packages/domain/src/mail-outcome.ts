import { delayAfter } from './retry-schedule.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import { notificationDetailOf } from './event-data.ts';
import type { EventData } from './event-data.ts';
import { plainAddress } from './plain-address.ts';

type ProviderEventType =
  | 'email.delivered'
  | 'email.delivery_delayed'
  | 'email.bounced'
  | 'email.soft_bounced'
  | 'email.complained'
  | 'email.rejected'
  | 'email.opened'
  | 'email.clicked';

/** A provider's notification about a message that it had accepted. */
export type ProviderNotification = {
  [T in ProviderEventType]: {
    readonly type: T;
    readonly recipients: readonly string[];
    readonly detail: EventData<T>['detail'];
  };
}[ProviderEventType];

/** The provider's answer to one attempt to send a message. */
export type ProviderResult =
  | {
      readonly kind: 'accepted';
      readonly providerMessageId: string | null;
      /**
       * Notifications that come with the answer: for sandbox recipients, and for recipients that an SMTP
       * server rejected or deferred.
       */
      readonly notifications: readonly ProviderNotification[];
      /** Recipients that the server deferred. It accepted the message for other recipients. Absent: none. */
      readonly deferred?: readonly string[];
    }
  /** The provider rejects the message for good. */
  | ({ readonly kind: 'refused' } & Unsent)
  /** The provider is away or busy, or it asks us to try later. It may reject some recipients for good. */
  | ({ readonly kind: 'deferred' } & Unsent)
  /** The provider takes no more mail for now: we send more than it allows. */
  | ({ readonly kind: 'throttled' } & MailFault)
  /** The provider got the whole message and gave no answer. It may deliver the message or not. */
  | ({ readonly kind: 'unconfirmed' } & MailFault);

interface Unsent extends MailFault {
  readonly notifications?: readonly ProviderNotification[];
  /** The provider was not asked: Postrider stopped the message. */
  readonly notAsked?: true;
}

export interface MailFault {
  /** The customer reads this: the provider's words, or a sentence without our inner error codes. */
  readonly error: string;
  /** The error code behind the sentence, if there is one. Only operators see it. */
  readonly code?: string | undefined;
}

/** A message on its way, as an attempt finds it. */
export interface MailProgress {
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The recipients of this attempt. */
  readonly recipients: readonly string[];
  /** True: an earlier attempt was accepted, and `recipients` are those that it deferred. */
  readonly isRest: boolean;
  /** Earlier attempts that the provider did not confirm. */
  readonly unconfirmed: number;
}

/** The next attempt. */
export interface NextAttempt {
  readonly delayMs: number;
  /**
   * Attempts so far, without throttled ones. When the provider accepts the message, that attempt counts as
   * the first. The retry schedule goes on from this number.
   */
  readonly attempts: number;
  readonly unconfirmed: number;
  /** The deferred recipients, when the provider has accepted the message for the others. Null: all. */
  readonly rest: readonly string[] | null;
}

interface WithNotifications {
  readonly notifications: readonly ProviderNotification[];
}

export type MailOutcome =
  /** `next` is for the deferred recipients. Null: there are none, or the schedule has no further attempt. */
  | ({
      readonly kind: 'sent';
      readonly providerMessageId: string | null;
      readonly next: NextAttempt | null;
    } & WithNotifications)
  | ({ readonly kind: 'retry'; readonly next: NextAttempt } & MailFault & WithNotifications)
  | ({ readonly kind: 'failed' } & MailFault & WithNotifications);

/**
 * Each attempt that the provider did not confirm may have made a copy. So there are at most three such
 * attempts. The second and the third come after the longest delay of the schedule: a provider that is away
 * for an hour loses no message.
 */
const UNCONFIRMED_MAX = 3;
/**
 * The pause after a throttled attempt. The slot rests for as long: with 16 slots, a worker asks four times a
 * second.
 */
export const THROTTLED_DELAY_MS = 4_000;

/** Decides what happens to the message, or to the recipients that are left. */
export function decideMailOutcome(
  answer: ProviderResult,
  progress: MailProgress,
  schedule: RetrySchedule,
): MailOutcome {
  if (answer.kind === 'accepted') return sent(answer, progress, schedule);
  const { error, code } = answer;
  if (answer.kind === 'refused') return failed({ error, code }, progress, answer.notifications);
  const { attempt, isRest, recipients } = progress;
  const rest = isRest ? recipients : null;
  if (answer.kind === 'throttled') {
    // Nothing is wrong with the message. So the attempt does not count, however long the limit lasts.
    const { unconfirmed } = progress;
    const next = { delayMs: THROTTLED_DELAY_MS, attempts: attempt - 1, unconfirmed, rest };
    return { kind: 'retry', next, error, code, notifications: [] };
  }
  const isUnconfirmed = answer.kind === 'unconfirmed';
  const unconfirmed = progress.unconfirmed + (isUnconfirmed ? 1 : 0);
  const delayMs = delayAfter(schedule, attempt);
  if (delayMs === null || unconfirmed >= UNCONFIRMED_MAX) {
    const words = `gave up after ${attempt} attempts: ${error}`;
    const rejections = answer.kind === 'deferred' ? answer.notifications : [];
    return failed({ error: words, code }, { ...progress, unconfirmed }, rejections);
  }
  const next = {
    delayMs: isUnconfirmed ? Math.max(...schedule.delaysMs) : delayMs,
    attempts: attempt,
    unconfirmed,
    rest,
  };
  // The customer gets one `email.delivery_delayed`, after the first unconfirmed attempt. That attempt may
  // have made a copy.
  const isFirstUnconfirmed = isUnconfirmed && progress.unconfirmed === 0 && !isRest;
  const notifications = isFirstUnconfirmed
    ? notificationsOf(
        'email.delivery_delayed',
        recipients,
        `${error}; it may be delivered, and a copy of it later`,
      )
    : [];
  return { kind: 'retry', next, error, code, notifications };
}

/** Deferred recipients are due as the rest of the message. Their attempts are counted from this one on. */
function sent(
  { providerMessageId, notifications, deferred = [] }: Extract<ProviderResult, { kind: 'accepted' }>,
  { isRest }: MailProgress,
  schedule: RetrySchedule,
): MailOutcome {
  const delayMs = delayAfter(schedule, 1);
  const next =
    deferred.length === 0 || delayMs === null
      ? null
      : { delayMs, attempts: 1, unconfirmed: 0, rest: deferred };
  const withoutDelays = notifications.filter(({ type }) => type !== 'email.delivery_delayed');
  if (next === null && deferred.length > 0) {
    const bounces = notificationsOf(
      'email.soft_bounced',
      deferred,
      'deferred, and no further attempt is made',
    );
    return { kind: 'sent', providerMessageId, notifications: [...withoutDelays, ...bounces], next };
  }
  // The customer learns once that a recipient is deferred.
  return { kind: 'sent', providerMessageId, notifications: isRest ? withoutDelays : notifications, next };
}

function failed(
  { error, code }: MailFault,
  { recipients, isRest, unconfirmed }: MailProgress,
  notifications: readonly ProviderNotification[] = [],
): MailOutcome {
  const words = unconfirmed > 0 ? `${error}; an attempt without an answer may have delivered it` : error;
  // A message with a rest has `email.sent` and gets no `email.failed`. So each recipient needs an event.
  const named = new Set(notifications.flatMap((each) => each.recipients.map(plainAddress)));
  const unnamed = isRest ? recipients.filter((address) => !named.has(plainAddress(address))) : [];
  const bounces = notificationsOf('email.soft_bounced', unnamed, words);
  return { kind: 'failed', error: words, code, notifications: [...notifications, ...bounces] };
}

/** A notification in our own words, if there are recipients. */
function notificationsOf(
  type: 'email.delivery_delayed' | 'email.soft_bounced',
  recipients: readonly string[],
  words: string,
): ProviderNotification[] {
  if (recipients.length === 0) return [];
  const kind = type === 'email.soft_bounced' ? { bounce_type: 'Transient', bounce_sub_type: 'General' } : {};
  return [{ type, recipients, detail: notificationDetailOf({ ...kind, diagnostic: `smtp; ${words}` }) }];
}
