import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { newId, recordEvent } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import {
  createRows,
  createTestDatabase,
  SESSION_OPTIONS,
  setup,
  startFaultProxy,
  systemClock,
  waitFor,
} from '@postrider/testing';
import { Client } from 'pg';
import { openDatabase } from './database.ts';
import { createWakeUps } from './wake-ups.ts';
import type { WakeUps } from './wake-ups.ts';

/** Nobody listens on the discard port. */
const NOWHERE = 'postgres://nobody@127.0.0.1:9/none';

const database = setup(createTestDatabase, (opened) => opened.drop());

function webhookIds(count: number): WebhookId[] {
  return Array.from({ length: count }, () => newId('webhook', systemClock));
}

function parting(payload: string): string[] {
  return payload.split(',').sort();
}

/** Breaks off every session of that name. @returns how many there were. */
async function terminate(applicationName: string): Promise<number> {
  const gone = await database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
    [applicationName],
  );
  return gone.length;
}

describe('the sender', () => {
  let heard: string[];
  let ear: Client;
  let errors: Error[];
  let wakeUps: WakeUps;

  const until = async (count: number) =>
    waitFor(() => heard.length >= count, { what: `${count} wake-ups, with ${heard.length} heard` });

  beforeEach(async () => {
    heard = [];
    errors = [];
    ear = new Client({ connectionString: database.url, options: SESSION_OPTIONS });
    ear.on('notification', ({ payload = '' }) => heard.push(payload));
    await ear.connect();
    await ear.query('listen postrider_wake');
    wakeUps = createWakeUps({
      databaseUrl: database.url,
      applicationName: 'wake-sender',
      onError: (error) => errors.push(error),
    });
  });
  afterEach(async () => {
    await wakeUps.close();
    await ear.end();
  });

  test('sends the first at once, and what comes meanwhile together', async () => {
    const [first, ...others] = webhookIds(4) as [WebhookId, ...WebhookId[]];
    wakeUps.send({ webhooks: [first], mail: false });
    for (const id of others) wakeUps.send({ webhooks: [id], mail: false });
    wakeUps.send({ webhooks: others, mail: true });
    await until(2);
    expect(heard[0]).toBe(first);
    expect(parting(heard[1] ?? '')).toEqual([...others, 'mail'].sort());
    await wakeUps.close();
    expect(heard).toHaveLength(2);
    wakeUps = createWakeUps({ databaseUrl: NOWHERE, applicationName: 'unused', onError: () => undefined });
  });

  test('waits after a wake-up, and names together what comes meanwhile', async () => {
    const [first, ...others] = webhookIds(3) as [WebhookId, ...WebhookId[]];
    const now = jest.spyOn(performance, 'now').mockReturnValue(1_000); // the interval is never over
    try {
      wakeUps.send({ webhooks: [first], mail: false });
      await until(1);
      await database.query('select pg_sleep(0.05)'); // the sender has its answer
      for (const id of others) wakeUps.send({ webhooks: [id], mail: false });
      await until(2);
    } finally {
      now.mockRestore();
    }
    expect(parting(heard[1] ?? '')).toEqual([...others].sort());
  });

  test('names 2,000 webhooks, 200 at a time, and asks for a sweep in place of more', async () => {
    const ids = webhookIds(2_000);
    wakeUps.send({ webhooks: ids, mail: false });
    await until(10);
    expect(heard.map((payload) => parting(payload).length)).toEqual(Array<number>(10).fill(200));
    expect(heard.flatMap(parting).sort()).toEqual([...ids].sort());
    wakeUps.send({ webhooks: webhookIds(2_001), mail: true });
    await until(11);
    expect(heard[10]).toBe('*,mail');
  });

  test('of no news sends nothing, and goes on to send what follows', async () => {
    wakeUps.send({ webhooks: [], mail: false });
    const [id = ''] = webhookIds(1);
    wakeUps.send({ webhooks: [id as WebhookId], mail: false });
    await until(1);
    expect(heard).toEqual([id]);
  });

  test('survives the end of its session', async () => {
    const [first, second] = webhookIds(2) as [WebhookId, WebhookId];
    wakeUps.send({ webhooks: [first], mail: false });
    await until(1);
    expect(await terminate('wake-sender')).toBe(1);
    await waitFor(() => errors.length > 0, { what: 'the broken session to be told' });
    wakeUps.send({ webhooks: [second], mail: false });
    await until(2);
    expect(heard).toEqual([first, second]);
  });

  test('tells of a failure by onError, and tries again with the next', async () => {
    const away = createWakeUps({
      databaseUrl: NOWHERE,
      applicationName: 'wake-sender',
      onError: (error) => errors.push(error),
    });
    for (const count of [1, 2]) {
      away.send({ webhooks: webhookIds(1), mail: false });
      await waitFor(() => errors.length >= count, { what: `failure ${count}` });
    }
    expect(errors[1]?.message).toContain('ECONNREFUSED');
    await away.close();
  });

  test('sends what comes during a try that fails, without a further wake-up', async () => {
    const line = await startFaultProxy(database.url);
    const onLine = createWakeUps({
      databaseUrl: line.url(database.url),
      applicationName: 'wake-sender',
      onError: () => line.restore(), // Postgres is back
    });
    try {
      const [first, second] = webhookIds(2) as [WebhookId, WebhookId];
      line.takeAway();
      onLine.send({ webhooks: [first], mail: false });
      onLine.send({ webhooks: [second], mail: true });
      await until(1);
      expect(heard).toEqual([`${second},mail`]);
      expect(line.refused).toBe(1);
    } finally {
      await onLine.close();
      await line.close();
    }
  });

  test('is told of a cause’s webhooks after its commit, and never of a cause that is undone', async () => {
    const { accountId, webhookId } = await accountWithWebhook();
    await causes(accountId, wakeUps, [false, true]);
    await causes(accountId, wakeUps, [true]);
    await until(1);
    expect(new Set(heard)).toEqual(new Set([webhookId]));
  });

  test('is the only one who notifies: a cause’s own transaction does not', async () => {
    const { accountId } = await accountWithWebhook();
    await causes(accountId, { send: () => undefined, close: async () => undefined }, [true]);
    await database.query(`select pg_notify('postrider_wake', 'later')`);
    await until(1);
    expect(heard).toEqual(['later']);
  });

  async function accountWithWebhook() {
    const rows = createRows(database);
    const accountId = await rows.account();
    return { accountId, webhookId: await rows.webhook({ accountId }) };
  }

  /** One transaction with an event for each entry; `false`: it is undone. */
  async function causes(accountId: AccountId, told: WakeUps, commits: readonly boolean[]): Promise<void> {
    const options = {
      databaseUrl: database.url,
      size: 2,
      applicationName: 'cause',
      onError: () => undefined,
    };
    const db = openDatabase(options, told);
    const data = { email_id: 'em_1', from: 'a@a.example', subject: '', error: null };
    for (const commit of commits) {
      const cause = db.transactions.run(async (tx) => {
        await recordEvent(tx, { type: 'email.sent', accountId, data }, systemClock);
        if (!commit) throw new Error('undone');
      });
      if (commit) await cause;
      else await expect(cause).rejects.toThrow('undone');
    }
    await db.close();
  }
});
