import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, recordEvent } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import {
  createRows,
  createTestDatabase,
  SESSION_OPTIONS,
  startFaultProxy,
  waitFor,
} from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { Client } from 'pg';
import { openDatabase } from './database.ts';
import { createWakeUpListener, createWakeUps } from './wake-ups.ts';
import type { WakeUp, WakeUpListener, WakeUps } from './wake-ups.ts';

const clock = { now: () => new Date() };
/** Nobody listens on the discard port. */
const NOWHERE = 'postgres://nobody@127.0.0.1:9/none';

let database: TestDatabase;

beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.drop());

function webhookIds(count: number): WebhookId[] {
  return Array.from({ length: count }, () => newId('webhook', clock));
}

function parting(payload: string): string[] {
  return payload.split(',').sort();
}

async function sessionsOf(applicationName: string): Promise<number> {
  const found = await database.query('select from pg_stat_activity where application_name = $1', [
    applicationName,
  ]);
  return found.length;
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

  test('names 2,000 webhooks, 200 at a time, and says "everything" in place of more', async () => {
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
        await recordEvent(tx, { type: 'email.sent', accountId, data }, clock);
        if (!commit) throw new Error('undone');
      });
      if (commit) await cause;
      else await expect(cause).rejects.toThrow('undone');
    }
    await db.close();
  }
});

describe('the listener', () => {
  type Heard = WakeUp & { everything: boolean };
  const EVERYTHING: Heard = { webhooks: [], mail: true, everything: true };
  let heard: Heard[];
  let errors: Error[];
  let listener: WakeUpListener;

  const listen = (databaseUrl = database.url, probeIntervalMs?: number) =>
    createWakeUpListener({
      databaseUrl,
      applicationName: 'wake-ear',
      ...(probeIntervalMs === undefined ? {} : { probeIntervalMs }),
      onWakeUp: (news) => heard.push(news),
      onError: (error) => errors.push(error),
    });
  const until = async (count: number) =>
    waitFor(() => heard.length >= count, { what: `${count} wake-ups, with ${heard.length} heard` });
  const notify = async (payload: string) =>
    database.query('select pg_notify($1, $2)', ['postrider_wake', payload]);

  beforeEach(() => {
    heard = [];
    errors = [];
    listener = listen();
  });
  afterEach(() => listener.stop());

  test('says "everything" when it begins to listen, and then what it hears', async () => {
    listener.start();
    await until(1);
    for (const payload of ['wh_1,wh_2', 'wh_3,mail', '*,mail', 'mail', '']) await notify(payload);
    await until(6);
    expect(heard).toEqual([
      EVERYTHING,
      { webhooks: ['wh_1', 'wh_2'], mail: false, everything: false },
      { webhooks: ['wh_3'], mail: true, everything: false },
      { webhooks: [], mail: true, everything: true },
      { webhooks: [], mail: true, everything: false },
      { webhooks: [], mail: false, everything: false },
    ]);
  });

  test('comes back when its session is ended, says "everything" again, and hears on', async () => {
    listener.start();
    await until(1);
    for (const round of [1, 2]) {
      expect(await terminate('wake-ear')).toBe(1);
      await until(2 * round);
      expect(heard.at(-1)).toEqual(EVERYTHING);
      await notify(`wh_${round}`);
      await until(2 * round + 1);
      expect(heard.at(-1)).toEqual({ webhooks: [`wh_${round}`], mail: false, everything: false });
    }
    expect(await sessionsOf('wake-ear')).toBe(1);
    expect(errors.length).toBeGreaterThan(0);
  });

  test('whose session dies without a word finds out by itself, listens anew and says "everything"', async () => {
    const line = await startFaultProxy(database.url);
    listener = listen(line.url(database.url), 200);
    listener.start();
    await until(1);
    line.strand();
    await until(2);
    expect(heard.at(-1)).toEqual(EVERYTHING);
    await notify('wh_1');
    await until(3);
    expect(heard.at(-1)).toEqual({ webhooks: ['wh_1'], mail: false, everything: false });
    await listener.stop();
    await line.close();
  }, 30_000);

  test('leaves a server that only reads, and listens when the server writes', async () => {
    const [row] = await database.query<{ name: string }>('select current_database() as name');
    const readOnly = `alter database ${row?.name ?? ''} set default_transaction_read_only`;
    await database.query(`${readOnly} = on`);
    listener.start();
    await waitFor(() => errors.length > 0, { what: 'the refusal' });
    expect(errors[0]).toMatchObject({ code: '25006' });
    expect(heard).toEqual([]);
    await database.query(`${readOnly} = off`);
    await until(1);
    expect(heard).toEqual([EVERYTHING]);
  });

  test('tries again while Postgres is away, and stops in between', async () => {
    listener = listen(NOWHERE);
    listener.start();
    await waitFor(() => errors.length >= 2, { what: 'a second try' });
    await listener.stop();
    expect(heard).toEqual([]);
  });

  test('that was stopped has no session left and says nothing more', async () => {
    listener.start();
    await until(1);
    await listener.stop();
    await waitFor(async () => (await sessionsOf('wake-ear')) === 0, { what: 'its session to end' });
    expect(errors).toEqual([]);
    expect(heard).toHaveLength(1);
  });

  test('may be stopped while it still connects: nothing is said and no session stays', async () => {
    listener.start();
    await listener.stop();
    await waitFor(async () => (await sessionsOf('wake-ear')) === 0, { what: 'its session to end' });
    expect(heard).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('that was never started stops at once', async () => {
    await listener.stop();
    expect(heard).toEqual([]);
  });
});
