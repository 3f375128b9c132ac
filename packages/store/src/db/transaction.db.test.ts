import { beforeEach, describe, expect, test } from '@jest/globals';
import { inboundSubject, newId, recordEvent } from '@postrider/domain';
import type { AccountId, EventDraft, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { WebhookWish } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import type { Transaction } from './transaction.ts';

const store = setupStore();
let accountId: AccountId;

beforeEach(async () => void (accountId = await store.newAccount()));

async function newWebhook(wish: WebhookWish = {}): Promise<WebhookId> {
  return createRows(store.outside).webhook({ accountId, ...wish });
}

function sentEvent(more: { inboundRule?: string } = {}): EventDraft {
  const data = { email_id: 'em_1', from: 'a@a.example', subject: 'Hi ☃', error: null };
  return { type: 'email.sent', accountId, data, ...more };
}

async function recorded(draft = sentEvent()): Promise<string[]> {
  const id = await store.db.transactions.run((tx) => recordEvent(tx, draft, store.clock));
  const rows = await store.outside.query<{ webhook_id: string }>(
    'select webhook_id from deliveries where event_id = $1',
    [id],
  );
  return rows.map((row) => row.webhook_id).sort();
}

async function eventsOfAccount(): Promise<number> {
  return (await store.outside.query('select 1 from events where account_id = $1', [accountId])).length;
}

describe('an event', () => {
  test('is kept as the text that will be sent', async () => {
    await recorded();
    const [event] = await store.outside.query('select * from events where account_id = $1', [accountId]);
    expect(event).toEqual({
      id: expect.stringMatching(/^evt_/),
      account_id: accountId,
      type: 'email.sent',
      created_at: expect.any(Date),
      data: '{"email_id":"em_1","from":"a@a.example","subject":"Hi ☃","error":null}',
      position: expect.any(String),
      recipients: null,
    });
  });

  test('is written by a statement that its connection has prepared: it is planned once, not for every cause', async () => {
    const prepared = await store.db.transactions.run(async (tx) => {
      await recordEvent(tx, sentEvent(), store.clock);
      return tx.client.$queryRaw<{ name: string }[]>`select name from pg_prepared_statements`;
    });
    expect(prepared.map(({ name }) => name)).toContain('record-events');
  });

  test('has one delivery for each webhook that matches by account and type', async () => {
    const all = await newWebhook();
    const named = await newWebhook({ events: ['email.failed', 'email.sent'] });
    await newWebhook({ events: ['email.failed'] });
    await newWebhook({ accountId: await store.newAccount() });
    expect(await recorded()).toEqual([all, named].sort());
  });

  test('is told to a rule’s own webhooks only when it came by that rule', async () => {
    const all = await newWebhook();
    const rule = await newWebhook({ subject: inboundSubject(accountId, 'r1') });
    await newWebhook({ subject: inboundSubject(accountId, 'r2') });
    expect(await recorded()).toEqual([all]);
    expect(await recorded(sentEvent({ inboundRule: 'r1' }))).toEqual([all, rule].sort());
  });

  test('without a webhook that matches it exists all the same', async () => {
    expect(await recorded()).toEqual([]);
    expect(await eventsOfAccount()).toBe(1);
  });

  test('is undone with its cause', async () => {
    await newWebhook();
    const asked = store.wakeUps.length;
    const cause = store.db.transactions.run(async (tx) => {
      await recordEvent(tx, sentEvent(), store.clock);
      throw new Error('the cause failed');
    });
    await expect(cause).rejects.toThrow('the cause failed');
    expect(await eventsOfAccount()).toBe(0);
    expect(store.wakeUps).toHaveLength(asked);
  });

  test('whose webhook is being deleted skips it, and the cause succeeds', async () => {
    const [going, staying] = [await newWebhook(), await newWebhook()];
    const blocker = await store.db.pool.connect();
    try {
      await blocker.query('begin');
      await blocker.query('delete from webhooks where id = $1', [going]);
      const cause = recorded();
      await blocker.query('commit');
      expect(await cause).toEqual([staying]);
    } finally {
      blocker.release();
    }
  });
});

describe('a transaction', () => {
  test('wakes the relay once, after the commit, for each webhook once', async () => {
    const id = await newWebhook();
    const asked = store.wakeUps.length;
    await store.db.transactions.run(async (tx) => {
      await recordEvent(tx, sentEvent(), store.clock);
      await recordEvent(tx, sentEvent(), store.clock);
      expect(store.wakeUps).toHaveLength(asked);
    });
    expect(store.wakeUps.slice(asked)).toEqual([{ webhooks: [id], mail: false }]);
  });

  test('that has nothing to tell wakes nobody', async () => {
    const asked = store.wakeUps.length;
    expect(await store.db.transactions.run(async () => 'done')).toBe('done');
    expect(store.wakeUps).toHaveLength(asked);
  });

  test('is of no use once it has ended', async () => {
    const kept: Transaction[] = [];
    await store.db.transactions.run(async (tx) => void kept.push(tx));
    await expect(
      store.db.transactions.run(async (tx) => {
        kept.push(tx);
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    for (const tx of kept) {
      expect(() => tx.client).toThrow('the transaction has ended');
      await expect(recordEvent(tx, sentEvent(), store.clock)).rejects.toThrow('the transaction has ended');
    }
    expect(await eventsOfAccount()).toBe(0);
  });

  test('data that contract 2.3 does not know undoes the cause as well', async () => {
    const draft = {
      ...sentEvent(),
      data: { email_id: newId('email', store.clock) },
    } as unknown as EventDraft;
    await expect(recorded(draft)).rejects.toMatchObject({ name: 'ZodError' });
    expect(await eventsOfAccount()).toBe(0);
  });
});
