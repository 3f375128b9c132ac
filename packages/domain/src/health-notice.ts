import type { Clock } from './clock.ts';
import type { EmailDraft } from './email-draft.ts';
import { newId } from './ids.ts';
import type { AccountId, EventId, WebhookId } from './ids.ts';
import { hostOf } from './webhook-endpoint.ts';

/** A webhook fails, or is well again, and no notice has said so yet. */
export interface HealthChange {
  readonly webhookId: WebhookId;
  readonly accountId: AccountId;
  readonly endpoint: string;
  /** null: the webhook is well again. */
  readonly failingSince: Date | null;
  /** null: the webhook fails, or it is not known when it recovered. */
  readonly recoveredAt: Date | null;
  /** Why the last attempt failed, or why a later delivery was refused. null: it is well, or none is known. */
  readonly lastError: string | null;
  /** Counted up to DEAD_LETTERS_IN_NOTICE_MAX. */
  readonly deadLetters: number;
}

/** An event for the operator, with the bytes that every attempt sends. */
export interface OperatorEvent {
  readonly id: EventId;
  readonly type: 'webhook.failing' | 'webhook.recovered';
  readonly body: string;
}

export interface NoticeAddresses {
  readonly from: string;
  readonly to: string;
}

/** How long dead letters are kept, and how many of each webhook. */
export interface DeadLetterRetention {
  readonly days: number;
  readonly perWebhookMax: number;
}

/** Counting a thousand rows of an index takes less than a millisecond. */
export const DEAD_LETTERS_IN_NOTICE_MAX = 1_000;
/**
 * The recovery that the mail suggests begins this long before the failure. The attempts of an event last
 * about an hour, so an event from before the failure may be undelivered.
 */
const RECOVERED_BEFORE_MS = 3_600_000;

/** The mail to an account about one of its webhooks. */
export function healthNotice(
  change: HealthChange,
  { from, to }: NoticeAddresses,
  retention: DeadLetterRetention,
): EmailDraft {
  const { webhookId, failingSince } = change;
  const state = failingSince === null ? 'is well again' : 'fails';
  return {
    from,
    to: [to],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: `Webhook ${webhookId} ${state}: ${hostOf(change.endpoint)}`,
    html: null,
    text: failingSince === null ? recoveredText(change) : failingText(change, failingSince, retention),
    // RFC 3834: mailboxes do not answer such mail.
    headers: { 'Auto-Submitted': 'auto-generated' },
    attachments: [],
    tags: [],
    topicId: null,
  };
}

/** The event for OPERATOR_WEBHOOK_URL. It has the same envelope as an event for a customer. */
export function operatorEvent(change: HealthChange, clock: Clock): OperatorEvent {
  const id = newId('event', clock);
  const type = change.failingSince === null ? 'webhook.recovered' : 'webhook.failing';
  const body = JSON.stringify({
    id,
    type,
    subject: change.accountId,
    created_at: clock.now().toISOString(),
    data: {
      webhook_id: change.webhookId,
      account_id: change.accountId,
      host: hostOf(change.endpoint),
      failing_since: change.failingSince?.toISOString() ?? null,
      recovered_at: change.recoveredAt?.toISOString() ?? null,
      last_error: change.lastError,
      dead_letters: change.deadLetters,
    },
  });
  return { id, type, body };
}

function failingText(change: HealthChange, failingSince: Date, retention: DeadLetterRetention): string {
  return `Postrider cannot deliver events to one of your webhooks.

${factsOf(change, ['failing since', failingSince.toISOString()], ['last error', change.lastError ?? 'not logged'])}

What happens next
- Postrider tries each event again, with growing pauses. After HTTP 410, or when
  the address is refused, it does not try again.
- After the last try, the event becomes a dead letter. It is kept for
  ${retention.days} days. A webhook keeps ${retention.perWebhookMax} dead letters.
- When the webhook is well again, you get one more mail.

What to do
1. See what your endpoint answered:
   GET /v1/webhooks/${change.webhookId}/attempts
2. Repair the endpoint. Postrider notices by itself.
3. Then send again what it missed, also events without a dead letter:
   ${recoverCall(change, new Date(failingSince.getTime() - RECOVERED_BEFORE_MS).toISOString())}
   What was delivered is not sent again.
`;
}

function recoveredText(change: HealthChange): string {
  const next =
    change.deadLetters === 0
      ? 'You need to do nothing.'
      : `Send again what it missed, also events without a dead letter:
${recoverCall(change, '…')}
The time is one before the failure. What was delivered is not sent again.`;
  return `Your webhook receives events again.

${factsOf(change, ['well since', change.recoveredAt?.toISOString() ?? 'not known'])}

${next}
`;
}

function recoverCall({ webhookId }: HealthChange, since: string): string {
  return `POST /v1/webhooks/${webhookId}/recover {"since": "${since}"}`;
}

function factsOf(change: HealthChange, ...more: readonly (readonly [name: string, value: string])[]): string {
  const { deadLetters } = change;
  const facts = [
    ['webhook', change.webhookId],
    ['account', change.accountId],
    ['host', hostOf(change.endpoint)],
    ...more,
    ['dead letters', deadLetters < DEAD_LETTERS_IN_NOTICE_MAX ? `${deadLetters}` : `${deadLetters} or more`],
  ];
  return facts.map(([name, value]) => `${`${name}:`.padEnd(15)}${value}`).join('\n');
}
