import { readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { parseId } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { CLAIM_LIMITS, leasedBy, requestFor } from '../../test/claim-fixture.ts';
import { setupStore } from '../../test/open-store.ts';
import { createOutage } from '../../test/outage.ts';
import { startRecovery } from '../../test/start-recovery.ts';
import { createDeliveryOutbox } from '../deliveries/delivery-outbox.ts';
import { createFleet } from '../deliveries/fleet.ts';
import { createEventStore } from '../events/events.ts';
import { createSesMailStore, createSesMailWork } from '../inbound/ses-mail.ts';
import { createMailOutbox } from '../mail/mail-outbox.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createRecoveryWork } from '../recoveries/recovery-work.ts';
import { createOperatorEventStore } from '../webhooks/operator-events.ts';
import { finishRemovals } from '../webhooks/remove-webhook.ts';

/* The SQL that docs/operations tells an operator to run. */

const store = setupStore();
let rows: Rows;

beforeAll(() => void (rows = createRows(store.outside)));
beforeEach(() => rows.clear());

/** The first block of SQL after these words. It may be indented. */
function sqlOf(page: string, words: string): string {
  const text = readFileSync(new URL(`../../../../docs/operations/${page}`, import.meta.url), 'utf8');
  const [, sql] = /^ *```sql\n(.*?)^ *```$/ms.exec(text.slice(text.indexOf(words))) ?? [];
  if (sql === undefined) throw new Error(`${page} has no SQL after ${words}`);
  return sql;
}

describe('after a clock of Postgres that was a day ahead', () => {
  const AHEAD_MS = 24 * 60 * 60 * 1000;
  const SES_MAIL = {
    providerMessageId: 'ses-1',
    source: 'ann@shop.example',
    recipients: ['a@in.example'],
    verdicts: { dmarcPolicy: null },
    location: { kind: 'object', bucket: 'b', key: 'k' } as const,
  };

  /** What is due now, by the statements of relays and inbound processes. */
  async function due(webhookId: WebhookId) {
    const { pool } = store.db;
    const reports = await createDeliveryOutbox(pool).claim([requestFor(webhookId)], CLAIM_LIMITS);
    const mail = await createMailOutbox(pool).claim({ lookAheadSeconds: 60, rowsMax: 10, leaseSeconds: 30 });
    const sesMail = await createSesMailWork(store.db).claim({ rowsMax: 10, leaseSeconds: 60 });
    const operatorEvents = await createOperatorEventStore(pool).claim(10, 30);
    const recoveries = await createRecoveryWork(pool).next(10);
    return {
      deliveries: leasedBy(reports)
        .map(({ deliveryId }) => deliveryId)
        .sort(),
      emails: mail.map(({ emailId }) => emailId).sort(),
      sesMail: sesMail.map(({ notificationId }) => notificationId),
      operatorEvents: operatorEvents.map(({ id }) => id),
      recoveries: recoveries.filter(({ dueInMs }) => dueInMs === 0).map(({ id }) => id),
    };
  }

  test('the statements make due what waits for that time, and nothing else', async () => {
    const outage = await createOutage(store);
    await outage.event();
    const recovery = await startRecovery(store, outage);
    await store.outside.query(`update recoveries set next_step_at = now() + interval '1 day'`);
    await createSesMailStore(store.db).add('sns-1', SES_MAIL);
    await store.outside.query(`update ses_mail set due_at = now() + interval '1 day'`);
    await store.outside.query(
      `insert into operator_events (id, type, body, due_at) values ('evt_1', 'webhook.failing', '{}', now() + interval '1 day')`,
    );

    const webhookId = await rows.webhook();
    const [retry = ''] = await rows.deliveries(webhookId, { dueInMs: AHEAD_MS });
    const [leased = ''] = await rows.deliveries(webhookId);
    await rows.deliveries(webhookId, { dueInMs: 32 * 60_000 }); // within an hour: the SQL leaves it
    await store.outside.query(`update deliveries set leased_until = now() + interval '1 day' where id = $1`, [
      leased,
    ]);
    const emails = [await rows.email(AHEAD_MS), await rows.email()];
    await store.outside.query(
      `update email_sends set leased_until = now() + interval '1 day' where email_id = $1`,
      [emails[1]],
    );
    await rows.email(32 * 60_000); // within an hour: the SQL leaves it

    expect(Object.values(await due(webhookId)).flat()).toEqual([]);
    await store.outside.query(sqlOf('egress.md', 'After a step forward that was an error'));
    expect(await due(webhookId)).toEqual({
      deliveries: [retry, leased].sort(),
      emails: emails.sort(),
      sesMail: ['sns-1'],
      operatorEvents: ['evt_1'],
      recoveries: [recovery],
    });
  });

  test('the statements forget the windows and the workers of that time, and nothing else', async () => {
    const fleet = createFleet(store.db.pool);
    await store.outside.query(
      `insert into rate_limits (key, used, ends_at)
       values ('ahead', 60, now() + interval '2 minutes'), ('now', 60, now() + interval '1 minute')`,
    );
    await store.outside.query(
      `insert into workers (id, number, slots, heard_at)
       values ('1', 1, 8, now() + interval '1 day'), ('2', 2, 16, now())`,
    );
    await store.outside.query(sqlOf('egress.md', 'After a step forward that was an error'));
    expect(await store.outside.query('select key from rate_limits')).toEqual([{ key: 'now' }]);
    expect(await fleet.known()).toMatchObject([{ number: 2 }]);
  });

  test('events that are dated ahead get the time of those before them, and hide no newer event', async () => {
    const accountId = await rows.account();
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.push(await rows.event({ accountId }));
    await store.outside.query(
      `update events set created_at = now() + interval '1 minute' * case when id = $1 then 1500 else -1 end`,
      [ids[1]],
    );
    const times = { since: new Date(Date.now() - AHEAD_MS), until: new Date() };
    const listed = async () => {
      const page = await createEventStore(store.db).list(accountId, times, { limit: 9 });
      return page?.entries.map(({ id }) => id);
    };
    expect(await listed()).toEqual([ids[0]]);
    await store.outside.query(sqlOf('egress.md', '**Events that are dated ahead**'));
    expect(await listed()).toEqual(ids);
    expect(await store.outside.query('select distinct created_at from events')).toHaveLength(1);
  });
});

describe('after a restore', () => {
  test('the statement suppresses addresses with their origins, and a complaint replaces another origin', async () => {
    const suppressions = createSuppressionStore(store.db, store.clock);
    const [accountId, other] = [await rows.account(), await rows.account()];
    const add = async (address: string, origin: string, topicId = '') =>
      store.outside.query(
        sqlOf('data-and-retention.md', 'Add the addresses that bounced').replace(
          `('acct_…', 'bob@b.example', '', 'complaint')`,
          `('${accountId}', '${address}', '${topicId}', '${origin}')`,
        ),
      );
    const origins = async () => {
      const page = await suppressions.list(accountId, { limit: 10, cursor: null }, null);
      return Object.fromEntries((page?.entries ?? []).map(({ address, origin }) => [address, origin]));
    };
    await suppressions.add(accountId, ['bob@b.example']);
    await add('ann@b.example', 'bounce');
    await add('bob@b.example', 'complaint');
    await add('bob@b.example', 'bounce');
    expect(await origins()).toEqual({ 'ann@b.example': 'bounce', 'bob@b.example': 'complaint' });

    await add('ann@b.example', 'unsubscribe', 'top_1');
    const topics = await store.outside.query(
      `select topic_id, origin from suppressions where address = 'ann@b.example' order by 1`,
    );
    expect(topics).toEqual([
      { topic_id: '', origin: 'bounce' },
      { topic_id: 'top_1', origin: 'unsubscribe' },
    ]);

    const made = await suppressions.find(accountId, { address: 'ann@b.example' });
    expect(parseId('suppression', made?.id ?? '')).not.toBeNull();
    expect(made).toMatchObject({ topicId: null, emailId: null });
    expect(await suppressions.find(other, { address: 'ann@b.example' })).toBeNull();
    expect(await suppressions.remove(accountId, [{ address: 'bob@b.example' }], null, ACTOR)).toEqual({
      kind: 'reason-missing',
    });
  });

  test('the statement ends webhooks of customers for good, and leaves those of routing rules', async () => {
    const [lost, ofRule, kept] = [
      await rows.webhook(),
      await rows.webhook({ subject: 'in@in.example' }),
      await rows.webhook(),
    ];
    for (const id of [lost, ofRule, kept]) await rows.deliveries(id);
    const sql = sqlOf('data-and-retention.md', 'Delete the webhooks that were deleted since');
    await store.outside.query(sql.replace(`'wh_…'`, `'${lost}', '${ofRule}'`));
    const requests = [lost, ofRule, kept].map((id) => requestFor(id));
    const claimed = await createDeliveryOutbox(store.db.pool).claim(requests, CLAIM_LIMITS);
    expect(leasedBy(claimed).map(({ webhookId }) => webhookId)).toEqual([ofRule, kept]);

    // the relay deletes after a minute
    await store.outside.query(`update webhooks set removed_at = removed_at - interval '61 seconds'`);
    expect(await finishRemovals(store.db.pool)).toMatchObject({ removed: 1, failed: [] });
    expect(await store.outside.query('select id from webhooks where id = $1', [lost])).toEqual([]);
  });
});
