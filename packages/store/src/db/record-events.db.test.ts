import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { EVENT_TYPES, inboundSubject, newId } from '@postrider/domain';
import type { AccountId, EventId, EventType, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { replayDeadLetter } from '../deliveries/sql/replay-dead-letters.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { LOCK_CLASSES } from './advisory-locks.ts';
import { recordEvents } from './sql/record-events.ts';

const store = setupStore();
let rows: Rows;
let accountId: AccountId;

beforeAll(async () => {
  rows = createRows(store.outside);
});
beforeEach(async () => void (accountId = await rows.account()));

/** The values of the statement, and the id of the event they make. */
function valuesOf(type: EventType = 'email.sent', subject: string | null = null): [EventId, unknown[]] {
  const id = newId('event', store.clock);
  return [id, [[id], accountId, type, ['{}'], subject, ['[]']]];
}

/** Records in a transaction of its own. @returns the webhooks that got a delivery, in order. */
async function recorded(type?: EventType, subject?: string): Promise<string[]> {
  const result = await store.db.pool.query<{ webhookId: string }>(
    recordEvents.text,
    valuesOf(type, subject)[1],
  );
  return result.rows.map((row) => row.webhookId).sort();
}

async function orphans(): Promise<number> {
  const found = await store.outside.query(
    'select from deliveries d where not exists (select from webhooks w where w.id = d.webhook_id)',
  );
  return found.length;
}

describe('matching', () => {
  test.each(EVENT_TYPES)(
    '%s reaches those that asked for it or for everything, and nobody else',
    async (type) => {
      const all = await rows.webhook({ accountId });
      const named = await rows.webhook({ accountId, events: [type] });
      await rows.webhook({ accountId, events: EVENT_TYPES.filter((other) => other !== type) });
      await rows.webhook({ events: [type] });
      expect(await recorded(type)).toEqual([all, named].sort());
    },
  );

  test('a type that holds another’s name is another type', async () => {
    await rows.webhook({ accountId, events: ['email.sent.more', 'email.sen'] });
    expect(await recorded('email.sent')).toEqual([]);
  });

  test('an inbound rule tells the account’s endpoints and its own, by type, and no other rule’s', async () => {
    const subject = inboundSubject(accountId, 'r1');
    const own = await rows.webhook({ accountId });
    const rule = await rows.webhook({ accountId, subject, events: ['message.held'] });
    await rows.webhook({ accountId, subject, events: ['email.sent'] });
    await rows.webhook({ accountId, subject: inboundSubject(accountId, 'r10') });
    await rows.webhook({ subject });
    expect(await recorded('message.held', subject)).toEqual([own, rule].sort());
    expect(await recorded('message.held')).toEqual([own]);
  });

  test('a delivery is due at once, without an attempt and without a lease', async () => {
    const webhookId = await rows.webhook({ accountId });
    await recorded();
    const [row] = await store.outside.query(
      `select due_at <= now() as due, leased_until, taken_at, claim, attempts, last_status
       from deliveries where webhook_id = $1`,
      [webhookId],
    );
    expect(row).toEqual({
      due: true,
      leased_until: null,
      taken_at: null,
      claim: 0,
      attempts: 0,
      last_status: null,
    });
  });
});

describe('webhooks with domains', () => {
  /** Values for one event about mail that was received for each domain. */
  const receivedFor = (...domains: string[]): unknown[] => {
    const data = domains.map((domain) => JSON.stringify({ received_for: [`a@${domain}`] }));
    const [ids, recipients] = [domains.map(() => newId('event', store.clock)), domains.map(() => '[]')];
    return [ids, accountId, 'message.received', data, null, recipients];
  };

  async function webhookOf(...domains: string[]): Promise<WebhookId> {
    const id = await rows.webhook({ accountId });
    await store.outside.query('update webhooks set domains = $2 where id = $1', [id, domains]);
    return id;
  }

  /** @returns the webhooks of the account that the statement left unlocked. */
  async function unlockedBy(values: readonly unknown[]): Promise<string[]> {
    return inUndoneTransaction(store.db.pool, async (cause) => {
      await cause.query(recordEvents.text, [...values]);
      const free = await store.outside.query<{ id: string }>(
        'select id from webhooks where account_id = $1 for update skip locked',
        [accountId],
      );
      return free.map(({ id }) => id).sort();
    });
  }

  test('an event locks none of 1,000 that it does not fit', async () => {
    await store.outside.query(
      `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed, domains)
       select 'wh_foreign' || n, $1, 'https://hooks.example/in', '{}', 'k', '\\x01', array['d' || n || '.example']
       from generate_series(1, 1000) n`,
      [accountId],
    );
    await webhookOf('b.example', 'a.example');
    await rows.webhook({ accountId });
    const free = await unlockedBy(receivedFor('a.example'));
    expect(free.filter((id) => id.startsWith('wh_foreign'))).toHaveLength(1_000);
    expect(free).toHaveLength(1_000);
  });

  test('events of one statement lock those that fit one of them, and each gets its own', async () => {
    const [a, b, foreign] = [
      await webhookOf('a.example'),
      await webhookOf('b.example'),
      await webhookOf('c.example'),
    ];
    const values = receivedFor('a.example', 'b.example', 'b.example', 'd.example');
    expect(await unlockedBy(values)).toEqual([foreign]);
    const { rows: woken } = await store.db.pool.query<{ webhookId: string }>(recordEvents.text, values);
    expect(woken.map(({ webhookId }) => webhookId).sort()).toEqual([a, b].sort());
    const got = async (id: WebhookId) =>
      (await store.outside.query('select from deliveries where webhook_id = $1', [id])).length;
    expect([await got(a), await got(b), await got(foreign)]).toEqual([1, 2, 0]);
  });

  test('a webhook that is changed at the same time gets the event of its domain', async () => {
    const [own, other] = [await webhookOf('a.example'), await webhookOf('b.example')];
    await inUndoneTransaction(store.db.pool, async (change) => {
      await change.query('select from webhooks where id = any ($1) for update', [[own, other]]);
      await change.query(`update webhooks set description = 'changed' where id = any ($1)`, [[own, other]]);
      const cause = store.db.pool.query<{ webhookId: string }>(recordEvents.text, receivedFor('a.example'));
      await untilWaitingForLock(store.outside);
      await change.query('commit');
      expect((await cause).rows).toEqual([{ webhookId: own }]);
    });
  });
});

test.each(Object.entries(LOCK_CLASSES))(
  'an event gets its position while a customer’s key has the hash of the lock %s',
  async (_, hash) => {
    const [id, values] = valuesOf();
    await inUndoneTransaction(store.db.pool, async (send) => {
      await send.query('select pg_advisory_xact_lock($1::bigint)', [hash]);
      await store.db.pool.query(recordEvents.text, values.with(-1, ['["a@a.example","b@b.example"]']));
    });
    const positions = await store.outside.query(
      `select from events e join event_recipients r on r.event_id = e.id and r.position = e.position where e.id = $1`,
      [id],
    );
    expect(positions).toHaveLength(1);
  },
);

describe('a DELETE of the webhook at the same time', () => {
  test('that comes first: the cause waits, skips it and succeeds', async () => {
    const [going, staying] = [await rows.webhook({ accountId }), await rows.webhook({ accountId })];
    await inUndoneTransaction(store.db.pool, async (deletion) => {
      await deletion.query('delete from webhooks where id = $1', [going]);
      const cause = recorded();
      await untilWaitingForLock(store.outside);
      await deletion.query('commit');
      expect(await cause).toEqual([staying]);
    });
    expect(await orphans()).toBe(0);
  });

  test('that comes first and is undone: the cause goes on with it', async () => {
    const webhookId = await rows.webhook({ accountId });
    await inUndoneTransaction(store.db.pool, async (deletion) => {
      await deletion.query('delete from webhooks where id = $1', [webhookId]);
      const cause = recorded();
      await untilWaitingForLock(store.outside);
      await deletion.query('rollback');
      expect(await cause).toEqual([webhookId]);
    });
  });

  test('that comes second: it waits for the cause and takes its delivery along', async () => {
    const webhookId = await rows.webhook({ accountId });
    const webhooks = createWebhookStore(store.db, store.secrets, store.clock);
    await inUndoneTransaction(store.db.pool, async (cause) => {
      await cause.query(recordEvents.text, valuesOf()[1]);
      const deletion = webhooks.delete(accountId, webhookId, ACTOR);
      await untilWaitingForLock(store.outside);
      await cause.query('commit');
      expect(await deletion).toBe(true);
    });
    expect(await orphans()).toBe(0);
  });

  test('in any order, many times over: no cause fails and no delivery is left without its webhook', async () => {
    const webhooks = createWebhookStore(store.db, store.secrets, store.clock);
    await rows.webhook({ accountId }); // stays: every cause has somebody to tell
    for (let round = 0; round < 30; round += 1) {
      const webhookId = await rows.webhook({ accountId });
      const causes = Array.from({ length: 4 }, async () => recorded());
      const [deleted] = await Promise.all([webhooks.delete(accountId, webhookId, ACTOR), ...causes]);
      expect(deleted).toBe(true);
    }
    expect(await orphans()).toBe(0);
    const [count] = await store.outside.query(
      'select count(*)::int as events from events where account_id = $1',
      [accountId],
    );
    expect(count).toEqual({ events: 120 });
  });

  test('causes do not wait for each other', async () => {
    await rows.webhook({ accountId });
    await inUndoneTransaction(store.db.pool, async (first) => {
      await first.query(recordEvents.text, valuesOf()[1]);
      expect(await recorded()).toHaveLength(1);
    });
  });
});

test('nothing is written when the cause is undone', async () => {
  const webhookId = await rows.webhook({ accountId });
  const [eventId, values] = valuesOf();
  await inUndoneTransaction(store.db.pool, async (cause) => {
    await cause.query(recordEvents.text, values);
  });
  expect(await store.outside.query('select from events where id = $1', [eventId])).toEqual([]);
  expect(await store.outside.query('select from deliveries where webhook_id = $1', [webhookId])).toEqual([]);
});

test.each([
  ['an event', async () => valuesOf()[1], recordEvents],
  [
    'a replay',
    async (webhookId: WebhookId) => [
      accountId,
      await rows.deadLetter(webhookId, await rows.event({ accountId })),
    ],
    replayDeadLetter,
  ],
])(
  '%s is due from its insert on, however long its transaction has been open',
  async (_, values, statement) => {
    const webhookId = await rows.webhook({ accountId });
    const given = await values(webhookId);
    await inUndoneTransaction(store.db.pool, async (cause) => {
      const moment = async () =>
        (await cause.query<{ at: string }>('select clock_timestamp()::text as at')).rows[0]?.at;
      const before = await moment(); // later than the transaction's begin
      await cause.query(statement.text, given);
      const { rows: found } = await cause.query<{ fresh: boolean }>(
        'select due_at >= $2::timestamptz as fresh from deliveries where webhook_id = $1',
        [webhookId, before],
      );
      expect(found).toEqual([{ fresh: true }]);
    });
  },
);
