import { expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { createHealthNoticeStore } from './health-notices.ts';

const WEBHOOKS = 20_000;

const store = setupStore();

/** Rows of tables and entries of indexes that were read so far. */
test('a step reads the webhooks that are due, however many fail and however many dead letters they have', async () => {
  const rows = createRows(store.outside);
  const accountId = await rows.account();
  const oldest = await rows.webhook({ accountId });
  // All fail. A third has its notice, a third has failed for a second, and a third is due.
  await store.outside.query(
    `insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed, failing_since, noticed_failing)
     select 'wh_' || n, account_id, endpoint, 'k', secret_sealed,
            now() - case when n % 3 = 0 then interval '1 s' else interval '1 h' end, n % 3 = 1
     from webhooks, generate_series(1, $1) n`,
    [WEBHOOKS],
  );
  await store.outside.query(`update webhooks set failing_since = now() - interval '2 h' where id = $1`, [
    oldest,
  ]);
  await store.outside.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error)
     select 'dl_' || n, $1, $2, 'evt_1', 'email.sent', now(), '{}', 8, 'rejected', 'HTTP 410' from generate_series(1, $3) n`,
    [accountId, oldest, WEBHOOKS],
  );
  const notices = createHealthNoticeStore(store.db.pool, store.clock);
  const before = await rowsRead(store.db.pool);
  const sent = await notices.notify({ afterSeconds: 300, rowsMax: 20 }, () => ({ mail: null, event: null }));
  expect(sent).toHaveLength(20);
  expect(sent[0]?.due).toMatchObject({ webhookId: oldest, deadLetters: 1_000 });
  // A thousand entries of dead letters, and their rows.
  expect((await rowsRead(store.db.pool)) - before).toBeLessThan(3_000);
});
