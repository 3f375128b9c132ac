import type { WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { mappingUnavailable } from './errors.ts';
import { inTransaction } from './pool.ts';

/** A DELETE that was cut short is finished by a relay once it is this old. */
const FINISH_AFTER_SECONDS = 60;
const PER_PASS = 100;

/**
 * Removes a webhook that is marked as being removed, with its outstanding deliveries and its dead letters.
 *
 * First the webhook: causes that hold it commit first, and those that come later no longer see it. Because of the mark
 * no new ones come to hold it, so the wait is no longer than the longest of them.
 *
 * @returns false when another has removed it.
 */
export async function removeMarkedWebhook(pool: Pool, id: WebhookId): Promise<boolean> {
  return mappingUnavailable(() =>
    inTransaction(pool, async (client) => {
      const { rowCount } = await client.query(
        'delete from webhooks where id = $1 and removed_at is not null',
        [id],
      );
      if (rowCount === 0) return false;
      await client.query(
        `with mine as materialized (select id from deliveries where webhook_id = $1 order by id for update)
         delete from deliveries d using mine where d.id = mine.id`,
        [id],
      );
      await client.query('delete from dead_letters where webhook_id = $1', [id]);
      return true;
    }),
  );
}

/** Finishes what a crash between the mark and the removal has left. @returns how many webhooks went. */
export async function finishRemovals(pool: Pool): Promise<number> {
  const { rows } = await mappingUnavailable(() =>
    pool.query<{ id: WebhookId }>(
      'select id from webhooks where removed_at < now() - make_interval(secs => $1) order by removed_at limit $2',
      [FINISH_AFTER_SECONDS, PER_PASS],
    ),
  );
  let finished = 0;
  for (const { id } of rows) finished += Number(await removeMarkedWebhook(pool, id));
  return finished;
}
