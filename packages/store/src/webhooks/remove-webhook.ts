import type { AccountId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import { ROWS_PER_STEP } from '../db/bounded-step.ts';
import { queryOn } from '../db/database.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { inTransaction } from '../db/pool.ts';
import type { Transaction } from '../db/transaction.ts';

/** The relay finishes a removal once it is this old. Until then, the DELETE request may still be running. */
const FINISH_AFTER_SECONDS = 60;
/** Chunks of `ROWS_PER_STEP`, so about half a second of work. The next call continues. */
const CHUNKS_PER_CALL = 20;

/** The result of a pass over the webhooks that are marked as removed. */
export interface Removals {
  /** Webhooks that were deleted. */
  readonly removed: number;
  /** Webhooks with rows left for the next pass. */
  readonly unfinished: number;
  readonly failed: readonly { readonly webhookId: WebhookId; readonly error: unknown }[];
}

/**
 * Deletes a webhook that is marked as removed, with its outstanding deliveries and its dead letters.
 *
 * The rows go first, in chunks that commit one by one. Workers take and end deliveries of many webhooks in
 * one batch, so a row that is locked here delays a whole batch. Rows that other transactions hold are left
 * for the end.
 *
 * @returns false when rows are left for another call.
 */
async function removeMarkedWebhook(pool: Pool, id: WebhookId): Promise<boolean> {
  let chunks = 0;
  for (const chunk of [CHUNK_OF_DELIVERIES, CHUNK_OF_DEAD_LETTERS]) {
    for (let isFull = true; isFull; chunks += 1) {
      if (chunks === CHUNKS_PER_CALL) return false;
      const { rowCount } = await queryOn(pool, chunk, [id, ROWS_PER_STEP]);
      isFull = rowCount === ROWS_PER_STEP;
    }
  }
  await removeRest(pool, id);
  return true;
}

/** The audit keeps the host, because the webhook's row goes. */
export async function recordDeletion(
  tx: Transaction,
  accountId: AccountId,
  { id, endpoint }: { readonly id: WebhookId; readonly endpoint: string },
  by: Actor,
): Promise<void> {
  const entry = { accountId, target: id, webhookId: id, count: 1, before: { host: new URL(endpoint).host } };
  await recordAudit(tx, by, { action: 'webhook.delete', ...entry });
}

/** The second part of a DELETE request. The mark has committed, so the webhook already reads as missing. */
export async function removeAfterMark(pool: Pool, id: WebhookId): Promise<void> {
  try {
    await removeMarkedWebhook(pool, id);
  } catch (error) {
    // The relay deletes the rows later, and logs if it cannot.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

/** The oldest first: these include the deliveries in flight. */
const CHUNK_OF_DELIVERIES = `
  with mine as materialized (
    select id from deliveries where webhook_id = $1 order by due_at limit $2 for update skip locked)
  delete from deliveries d where d.id = any (array(select id from mine))`;

const CHUNK_OF_DEAD_LETTERS = `
  with mine as materialized (select id from dead_letters where webhook_id = $1 limit $2 for update skip locked)
  delete from dead_letters d where d.id = any (array(select id from mine))`;

/**
 * Deletes the webhook itself, and the few rows that other transactions held or inserted meanwhile.
 *
 * The webhook's own row goes first. This waits for the transactions of causes and replays that lock the row.
 * The mark keeps new transactions from locking it, so the wait ends with the longest of them. Deliveries go
 * before dead letters: a delivery that becomes a dead letter at this moment is then found as a letter.
 */
async function removeRest(pool: Pool, id: WebhookId): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query('delete from webhooks where id = $1 and removed_at is not null', [
      id,
    ]);
    if (rowCount === 0) return; // another call has deleted it
    await client.query(
      `with mine as materialized (select id from deliveries where webhook_id = $1 order by id for update)
       delete from deliveries d where d.id = any (array(select id from mine))`,
      [id],
    );
    await client.query('delete from dead_letters where webhook_id = $1', [id]);
    await client.query(DELETE_SUMS, [id]);
  });
}

/** A few hundred rows. The relay adds none after the webhook is gone: its step locks the webhook. */
const DELETE_SUMS = `
  with minutes as (delete from attempts_by_minute where webhook_id = $1),
  hours as (delete from attempts_by_hour where webhook_id = $1)
  delete from webhook_health where webhook_id = $1`;

/**
 * Finishes what a DELETE request has left: a backlog too large for one request, or all rows after a crash.
 */
export async function finishRemovals(pool: Pool): Promise<Removals> {
  const { rows } = await queryOn<{ id: WebhookId }>(
    pool,
    'select id from webhooks where removed_at < now() - make_interval(secs => $1) order by removed_at',
    [FINISH_AFTER_SECONDS],
  );
  const failed: { webhookId: WebhookId; error: unknown }[] = [];
  let removed = 0;
  for (const { id } of rows) {
    try {
      if (await removeMarkedWebhook(pool, id)) removed += 1;
    } catch (error) {
      failed.push({ webhookId: id, error });
    }
  }
  return { removed, unfinished: rows.length - removed - failed.length, failed };
}
