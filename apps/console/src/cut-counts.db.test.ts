import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { systemClock, untilWaitingForLock, waitFor } from '@postrider/testing';
import { textOf, tokensOf, valuesOf } from '../test/http-visitor.ts';
import type { HttpVisitor } from '../test/http-visitor.ts';
import { makeOldWebhook } from '../test/old-webhook.ts';
import { setupConsole } from '../test/start-console.ts';
import { createOneCount } from './routes/one-count.ts';
import { showRecover, startRecoveries } from './routes/recover.ts';

/* Recoveries whose count ended before the last event. */

const opened = setupConsole();
let accountId: AccountId;
let webhook: WebhookId;
let ada: HttpVisitor;

beforeEach(async () => void ({ accountId, webhook, ada } = await makeOldWebhook(opened)));

const query = async (sql: string, values: unknown[] = []) => opened.database.query(sql, values);

/** Delivered events, so many as a count of an account looks at, and three newer ones that were dropped. */
async function outageAtTheEnd(): Promise<void> {
  await query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_' || lpad(n::text, 26, '0'), $1, 'email.sent', now() - interval '60 minutes', '{}'
     from generate_series(1, 25003) n order by n`,
    [accountId],
  );
  await query(
    `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
     select now() - interval '50 minutes', 1, 1, id, $1, type, 5, 200 from events order by id limit 25000`,
    [webhook],
  );
}

describe('an outage behind more delivered events than a count looks at', () => {
  test('is recovered once the user has typed that its number is not known', async () => {
    await outageAtTheEnd();
    const page = await ada.show(`/recover?webhook=${accountId}`);
    expect(textOf(page)).toContain('0+ events for 1 webhook');
    const fields = valuesOf(page, '/recoveries');
    for (const count of ['', '0']) {
      const { status, text } = await ada.post('/recoveries', { ...fields, count });
      expect([status, textOf(text).includes('Count is not 0+')]).toEqual([400, true]);
    }
    const { location } = await ada.post('/recoveries', { ...fields, count: '0+' });
    expect(textOf(await ada.show(location ?? ''))).toContain('1 recovery runs, of 0+ events.');
  });

  test('is counted to its end for the webhook alone', async () => {
    await outageAtTheEnd();
    expect(textOf(await ada.show(`/recover?webhook=${webhook}`))).toContain('Recover 3 events');
  });
});

describe('a count that takes longer than its time', () => {
  /** The clock of a count: it jumps over the limit after some looks. */
  const clockOf = (looks: number) => () => ((looks -= 1) >= 0 ? 0 : 10_000);
  const visit = {
    visitor: { name: 'ada', role: 'operator', csrf: '' },
    mayAct: true,
    params: {},
    url: '/recover',
    now: new Date(),
    done: null,
  } as const;

  /** The dry run of the account, and what its form starts. */
  async function pageOf({ isConnected = true, looks }: { isConnected?: boolean; looks: number }) {
    const show = showRecover(opened.db, systemClock, createOneCount(), clockOf(looks));
    const page = await show({ ...visit, isConnected: () => isConnected, query: { webhook: accountId } });
    return 'main' in page ? String(page.main) : '';
  }
  async function start(page: string, looks: number, more: Record<string, string> = {}) {
    const { csrf: _, once: __, ...fields } = valuesOf(page, '/recoveries');
    const post = startRecoveries(opened.db, systemClock, createOneCount(), clockOf(looks));
    return post({ ...visit, fields: { ...fields, ...more } });
  }
  beforeEach(async () => {
    await query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || lpad(n::text, 26, '0'), $1, 'email.sent', now() - interval '60 minutes', '{}'
       from generate_series(1, 5001) n order by n`,
      [accountId],
    );
  });

  test('ends there, and the number has its +', async () => {
    expect(textOf(await pageOf({ looks: 2 }))).toContain('Recover 5,000+ events');
  });

  test('ends when the browser disconnects', async () => {
    expect(textOf(await pageOf({ isConnected: false, looks: 99 }))).toContain('0+ events for 1 webhook');
  });

  test('is waited for by a second click, which made the browser cancel it', async () => {
    const oneCount = createOneCount(60_000);
    let asked = 0;
    const counting: typeof oneCount = async (count, options) => {
      asked += 1;
      return oneCount(count, options);
    };
    const show = showRecover(opened.db, systemClock, counting);
    let isConnected = true;
    await query('begin');
    await query('lock table events');
    const first = show({ ...visit, isConnected: () => isConnected, query: { webhook: accountId } });
    await untilWaitingForLock(opened.database);
    isConnected = false;
    const second = show({ ...visit, isConnected: () => true, query: { webhook: accountId } });
    await waitFor(() => asked === 2, { what: 'the second count to be asked for' });
    await query('commit');
    await first;
    expect(textOf(String(((await second) as { main: unknown }).main))).toContain('Recover 5,001 events');
  });

  test('starts nothing when the number is not known by then', async () => {
    const page = await pageOf({ looks: 99 });
    for (const [looks, name] of [
      [1, webhook],
      [3, 'hooks.example/in'],
    ] as const) {
      const { outcome } = await start(page, looks, { count: '5001' });
      expect(outcome).toContain(`Nothing was started. ${name} was not counted within 10 s.`);
    }
    expect(await query('select from recoveries')).toEqual([]);
  });

  test('starts the recovery of a number with a +, wherever the next count ends', async () => {
    const page = await pageOf({ looks: 2 });
    expect((await start(page, 99, { count: '5000+' })).outcome).toContain(
      '1 recovery runs, of 5,001 events.',
    );
  });

  test('starts the recovery of a number with a + without a count', async () => {
    const page = await pageOf({ looks: 2 });
    expect((await start(page, 1, { count: '5000+' })).outcome).toContain(
      '1 recovery runs, of 5,000+ events.',
    );
  });

  test('starts first what needs the count', async () => {
    const page = await pageOf({ looks: 99 });
    const other = await opened.rows.webhook({ accountId });
    await query(`update webhooks set created_at = now() - interval '30 days'`);
    const counted = `${webhook}:5000+ ${other}:5001`;
    const { outcome } = await start(page, 4, { counted, count: '10001+', types: 'email.sent' });
    expect(outcome).toBe('2 recoveries run, of 10,001+ events.');
  });
});

test('the page of a recovery whose count was cut claims no remaining number, share or time', async () => {
  await query(
    `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters, has_more,
                             position, last_position, created_at, queued)
     values ('rec_00000000000000000000000001', $1, $2, now(), now(), '{}', true, 200, 3, 0, true, 0, 0, now(), 9000)`,
    [accountId, webhook],
  );
  const path = '/recoveries/rec_00000000000000000000000001';
  const page = await ada.show(path);
  const words = textOf(page);
  for (const part of [
    '9,000 of 9,000+ events queued ',
    'Remaining unknown',
    'Stopping leaves an unknown number',
  ])
    expect(words).toContain(part);
  for (const part of ['%', '0 s left', '0 events']) expect(words).not.toContain(part);
  expect(textOf(await ada.show('/'))).toContain('unknown');
  const { location } = await ada.post(`${path}/stop`, tokensOf(page, `${path}/stop`));
  expect(textOf(await ada.show(location ?? ''))).toContain(
    'The recovery is stopped. It queued 9,000 events. How many remain is unknown: the count was cut.',
  );
});
