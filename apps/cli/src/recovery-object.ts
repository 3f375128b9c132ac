import type { AccountId } from '@postrider/domain';
import type { NewRecovery, OwnedWebhook, Recovery, RecoveryCount } from '@postrider/store';

/** A recovery in the output of `--json`. Times are ISO 8601 UTC. */
export function recoveryObject(recovery: Recovery, account: AccountId) {
  return {
    id: recovery.id,
    webhook: recovery.webhookId,
    account,
    status: recovery.status,
    since: recovery.since.toISOString(),
    until: recovery.until.toISOString(),
    /** Empty: every type. */
    types: recovery.types,
    only: recovery.only,
    /** The reason of the dead letters. null: any. */
    reason: recovery.reason,
    rate: recovery.rate,
    matched: recovery.matched,
    dead_letters: recovery.deadLetters,
    has_more: recovery.hasMore,
    queued: recovery.queued,
    delivered: recovery.delivered,
    failed: recovery.failed,
    in_progress: recovery.inProgress,
    left: recovery.left,
    created_at: recovery.createdAt.toISOString(),
    ended_at: recovery.endedAt?.toISOString() ?? null,
  };
}

/** A dry run in the output of `--json`. */
export function countObject(
  { id, accountId }: OwnedWebhook,
  { types, only, rate }: NewRecovery,
  counted: RecoveryCount,
) {
  return {
    webhook: id,
    account: accountId,
    dry_run: true,
    since: counted.since.toISOString(),
    until: counted.until.toISOString(),
    types,
    only,
    rate,
    matched: counted.matched,
    dead_letters: counted.deadLetters,
    /** Left out: their attempts are no longer logged. */
    unknown: counted.unknown,
    has_more: counted.hasMore,
    oldest: counted.oldest?.toISOString() ?? null,
    newest: counted.newest?.toISOString() ?? null,
  };
}

/** A dry run for a person. */
export function dryRunInWords({ rate }: NewRecovery, counted: RecoveryCount): string[] {
  const { matched, deadLetters, unknown, hasMore, oldest, newest } = counted;
  const times = oldest && newest ? `, recorded ${oldest.toISOString()} to ${newest.toISOString()}` : '';
  return [
    `${hasMore ? 'more than ' : ''}${matched} events match${times}; ${deadLetters} have a dead letter`,
    `at ${rate} a second it takes ${Math.ceil(matched / rate)} s or longer`,
    ...(unknown === 0 ? [] : [`${unknown} are left out, because nobody knows how they ended: --only all`]),
  ];
}

/** `3`, or `500000+` when the count was cut. */
export function countInWords(matched: number, hasMore: boolean): string {
  return `${matched}${hasMore ? '+' : ''}`;
}

/** The state of a recovery. It ends when it has queued its last event, which may not be delivered yet. */
export function stateInWords({ status, inProgress }: Recovery): string {
  if (status === 'running') return 'runs';
  return status === 'finished' && inProgress > 0 ? 'has queued all' : status;
}

/** The progress of a recovery in at most 80 characters. A cut count has a `+`. */
export function progressInWords(recovery: Recovery): string {
  const { queued, matched, hasMore, delivered, failed, inProgress } = recovery;
  return `${queued} of ${countInWords(matched, hasMore)} queued: ${delivered} delivered, ${failed} failed, ${inProgress} in progress`;
}
