import { DEAD_LETTERS_IN_NOTICE_MAX } from '@postrider/domain';
import type { Clock, EmailDraft, EmailId, EventId, HealthChange, OperatorEvent } from '@postrider/domain';
import type { Pool, PoolClient } from 'pg';
import type { MailProviderName } from '../accounts/installation.ts';
import { inBoundedStep } from '../db/bounded-step.ts';
import { run, statement } from '../db/statement.ts';
import { NOTICES_ACCOUNT, storeNotices } from '../mail/send-emails.ts';
import { keepOperatorEvents } from './operator-events.ts';

/**
 * The time since which a webhook has its state. For a failing webhook, it is at least 24 hours after the last
 * notice that it fails. The index has the same expression.
 */
const IN_STATE_SINCE = `greatest(
        coalesce(w.failing_since, w.recovered_at, '-infinity'::timestamptz) at time zone 'UTC',
        case when w.failing_since is not null then w.failing_notice_at at time zone 'UTC' + interval '24 hours' end)`;

/**
 * Finds webhooks with a state that has lasted and differs from their last notice. A webhook that fails again
 * soon after a success has no notice in between.
 *
 * Guarantee: the rows are locked until the transaction ends. Another relay skips them, and the state does not
 * change meanwhile. The index `webhooks_to_notice` has exactly the candidates.
 *
 * A refused delivery made no attempt: its dead letter has the error.
 *
 * $1 seconds that the state must have lasted, $2 rows at most, $3 the account of the notices, $4 dead letters
 * counted at most.
 */
const CLAIM = statement('claim-health-notices')`
    with due as materialized (
      select w.id, w.account_id, w.endpoint, w.failing_since, w.recovered_at
      from webhooks w
      where (w.failing_since is not null) <> w.noticed_failing and w.removed_at is null
        and ${IN_STATE_SINCE} <= (now() - make_interval(secs => $1::float8)) at time zone 'UTC'
      order by ${IN_STATE_SINCE}
      limit $2
      for no key update of w skip locked
    )
    select d.id as "webhookId", d.account_id as "accountId", d.endpoint, d.failing_since as "failingSince",
           d.recovered_at as "recoveredAt",
           case when d.failing_since is not null then (
             select f.error
             from (
               (select a.started_at as at, a.error from attempts a
                where a.webhook_id = d.id order by a.started_at desc limit 1)
               union all
               (select l.created_at, l.last_error from dead_letters l
                where l.webhook_id = d.id order by l.created_at desc, l.id desc limit 1)
             ) f
             order by f.at desc limit 1) end as "lastError",
           (select count(*) from (
              select from dead_letters l where l.webhook_id = d.id limit $4
            ) kept)::int as "deadLetters",
           (select a.notice_email from accounts a where a.id = d.account_id) as address,
           exists (
             select from accounts a join suppressions s on s.address = a.notice_email
             where a.id = d.account_id and s.account_id = any (array[a.id, $3::text]) and s.topic_id = ''
           ) as suppressed,
           (select i.mail_provider from installation i) as "mailProvider"
    from due d`;

/** Marks webhooks as noticed. $1 webhooks, $2 whether each fails, $3 whether mail or an event was queued. */
const MARK = statement('mark-health-notices')`
    update webhooks w
    set noticed_failing = n.failing,
        failing_notice_at = case when n.failing and n.sent then now() else w.failing_notice_at end
    from unnest($1::text[], $2::boolean[], $3::boolean[]) n (id, failing, sent)
    where w.id = n.id and w.id = any ($1::text[])`;

/** A webhook that needs a notice, and the address of its account. */
export interface NoticeDue extends HealthChange {
  /** null: the account has no notice address. */
  readonly address: string | null;
  /** The account, or Postrider itself, must not write to the address. */
  readonly suppressed: boolean;
  /** null: no mail provider is stored. */
  readonly mailProvider: MailProviderName | null;
}

/** What is sent about a webhook. */
export interface WrittenNotice {
  readonly mail: EmailDraft | null;
  readonly event: OperatorEvent | null;
}

/** A notice that is marked as sent. */
export interface SentNotice {
  readonly due: NoticeDue;
  /** null: no mail is queued. */
  readonly emailId: EmailId | null;
  /** null: no event for the operator is queued. */
  readonly eventId: EventId | null;
}

export interface NoticeLimits {
  /** How long a webhook has failed, or has been well again. */
  readonly afterSeconds: number;
  readonly rowsMax: number;
}

export type HealthNoticeStore = ReturnType<typeof createHealthNoticeStore>;

/** @param pool its commits need not be durable: after a crash, mark, mail and event are lost together. */
export function createHealthNoticeStore(pool: Pool, clock: Clock) {
  return {
    /**
     * Writes the notices that are due. One transaction stores the mail, the events and the mark. So each
     * change of state has one notice, however many relays run, also when a relay dies.
     *
     * @param write decides what is sent about a webhook.
     */
    async notify(limits: NoticeLimits, write: (due: NoticeDue) => WrittenNotice): Promise<SentNotice[]> {
      return inBoundedStep(pool, (client) => notify(client, clock, limits, write));
    },
  };
}

async function notify(
  client: PoolClient,
  clock: Clock,
  { afterSeconds, rowsMax }: NoticeLimits,
  write: (due: NoticeDue) => WrittenNotice,
): Promise<SentNotice[]> {
  const values = [afterSeconds, rowsMax, NOTICES_ACCOUNT, DEAD_LETTERS_IN_NOTICE_MAX];
  const changes = await run<NoticeDue>(client, CLAIM, values);
  if (changes.length === 0) return [];
  const notices = changes.map((due) => ({ due, ...write(due) }));
  const mails = notices.flatMap(({ due: { webhookId }, mail }) => (mail === null ? [] : { webhookId, mail }));
  const drafts = mails.map(({ mail }) => mail);
  // The mail has the time at which this transaction began, before the address was read. So an erasure that is
  // requested later covers it: an erasure covers mail up to its request.
  const ids = await storeNotices(client, clock, drafts);
  const idOf = new Map(mails.map(({ webhookId }, index) => [webhookId, ids[index] ?? null]));
  await keepOperatorEvents(
    client,
    notices.flatMap(({ event }) => event ?? []),
  );
  await run(client, MARK, [
    notices.map(({ due }) => due.webhookId),
    notices.map(({ due }) => due.failingSince !== null),
    notices.map(({ mail, event }) => mail !== null || event !== null),
  ]);
  return notices.map(({ due, event }) => {
    return { due, emailId: idOf.get(due.webhookId) ?? null, eventId: event?.id ?? null };
  });
}
