import type { WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { mappingUnavailable, StoreUnavailableError } from '../db/errors.ts';
import { inTransaction } from '../db/pool.ts';

/** A relay takes a removal on once it is this old: before, the DELETE itself may still be at it. */
const FINISH_AFTER_SECONDS = 60;
/** As many rows are locked at a time as others can wait for: some ten milliseconds. */
const ROWS_PER_CHUNK = 1_000;
/** About half a second's work; beyond it the rest is left to the next call. */
const CHUNKS_PER_CALL = 20;

/** What a relay's look at the webhooks that are marked came to. */
export interface Removals {
  /** Webhooks that are gone. */
  readonly removed: number;
  /** Those that have rows left for the next time. */
  readonly underWay: number;
  readonly failed: readonly { readonly webhookId: WebhookId; readonly error: unknown }[];
}

/**
 * Removes a webhook that is marked as removed, with its outstanding deliveries and its dead letters.
 *
 * First the rows, in chunks that are committed one by one: workers take and end the deliveries of all webhooks in common
 * batches, and a row that is locked here holds up the whole of a batch. What others hold is left for the end.
 *
 * @returns false when there are rows left for another call.
 */
async function removeMarkedWebhook(pool: Pool, id: WebhookId): Promise<boolean> {
  return mappingUnavailable(async () => {
    let chunks = 0;
    for (const chunk of [CHUNK_OF_DELIVERIES, CHUNK_OF_DEAD_LETTERS]) {
      for (let rows = ROWS_PER_CHUNK; rows === ROWS_PER_CHUNK; chunks += 1) {
        if (chunks === CHUNKS_PER_CALL) return false;
        rows = (await pool.query(chunk, [id, ROWS_PER_CHUNK])).rowCount ?? 0;
      }
    }
    await removeRest(pool, id);
    return true;
  });
}

/** What a DELETE does once its mark has committed: the webhook is then gone for all who ask. */
export async function removeAfterMark(pool: Pool, id: WebhookId): Promise<void> {
  try {
    await removeMarkedWebhook(pool, id);
  } catch (error) {
    // A relay removes the rows, and tells if it cannot.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

/** The oldest first: among them are those that are in somebody's hands. */
const CHUNK_OF_DELIVERIES = `
  with mine as materialized (
    select id from deliveries where webhook_id = $1 order by due_at, id limit $2 for update skip locked)
  delete from deliveries d using mine where d.id = mine.id`;

const CHUNK_OF_DEAD_LETTERS = `
  with mine as materialized (select id from dead_letters where webhook_id = $1 limit $2 for update skip locked)
  delete from dead_letters d using mine where d.id = mine.id`;

/**
 * The webhook itself, and the few rows that were held or have come since. First the webhook: causes and replays that hold
 * it commit first. Because of the mark no new ones come to hold it, so the wait is no longer than the longest of them.
 * Then the deliveries, and the dead letters after them: of a delivery that becomes one at this moment, the letter is seen.
 */
async function removeRest(pool: Pool, id: WebhookId): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query('delete from webhooks where id = $1 and removed_at is not null', [
      id,
    ]);
    if (rowCount === 0) return; // another was quicker
    await client.query(
      `with mine as materialized (select id from deliveries where webhook_id = $1 order by id for update)
       delete from deliveries d using mine where d.id = mine.id`,
      [id],
    );
    await client.query('delete from dead_letters where webhook_id = $1', [id]);
  });
}

/** Goes on with what a DELETE has left: a backlog too large for a request, or all of it after a crash. */
export async function finishRemovals(pool: Pool): Promise<Removals> {
  const { rows } = await mappingUnavailable(() =>
    pool.query<{ id: WebhookId }>(
      'select id from webhooks where removed_at < now() - make_interval(secs => $1) order by removed_at',
      [FINISH_AFTER_SECONDS],
    ),
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
  return { removed, underWay: rows.length - removed - failed.length, failed };
}
