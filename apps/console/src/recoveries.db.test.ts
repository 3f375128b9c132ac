import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { untilWaitingForLock } from '@postrider/testing';
import { HttpVisitor, linkIn, textOf, tokensOf, valuesOf } from '../test/http-visitor.ts';
import type { Answer } from '../test/http-visitor.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

const opened = setupConsole();
let accountId: AccountId;
/** Its endpoint does not fail, and its deliveries were dropped. */
let webhook: WebhookId;
let ada: HttpVisitor;

beforeEach(async () => {
  await opened.rows.clear();
  accountId = await opened.rows.account();
  webhook = await newWebhook('crm.example.com/in');
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

async function newWebhook(endpoint: string, { failing = false } = {}): Promise<WebhookId> {
  const id = await opened.rows.webhook({ accountId, failing });
  await query(
    `update webhooks set created_at = now() - interval '30 days', endpoint = 'https://' || $2 where id = $1`,
    [id, endpoint],
  );
  return id;
}

const query = async (sql: string, values: unknown[] = []) =>
  opened.database.query<{ id: string }>(sql, values);

/** Events of an hour ago. No webhook got them. */
async function droppedEvents(count: number, { type = 'email.sent', minutesAgo = 60 } = {}): Promise<void> {
  await query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_' || lpad(($1 || n)::text, 26, '0'), $2, $3, now() - make_interval(mins => $4::int), '{}'
     from generate_series(1, $5::int) n`,
    [minutesAgo, accountId, type, minutesAgo, count],
  );
}

const show = (path: string, visitor = ada) => visitor.show(path);

/** Sends the form of a dry run, as a browser does. @param changes replace its fields */
async function confirm(path: string, changes: Record<string, string> = {}): Promise<Answer> {
  const fields = valuesOf(await show(path), '/recoveries');
  return ada.post('/recoveries', { ...fields, ...changes });
}

const started = async () =>
  query(
    'select id, webhook_id as webhook, matched, rate, undelivered_only as undelivered from recoveries order by id',
  );
const dryRun = (more = '') => `/recover?webhook=${webhook}${more}`;

describe('a dry run', () => {
  test('counts, and starts nothing', async () => {
    await droppedEvents(3);
    const words = textOf(await show(dryRun()));
    for (const part of [
      '3 events for 1 webhook',
      'nothing sent yet',
      'crm.example.com/in',
      'Recover 3 events',
    ])
      expect(words).toContain(part);
    expect(await started()).toEqual([]);
    expect(await query('select from deliveries')).toEqual([]);
  });

  test.each([
    ['&since=2100-01-01', '0 events'],
    ['&until=2100-01-01', '2 events'],
    ['&until=2001-01-02&since=2001-01-01', '0 events'],
    ['&types=email.opened', '1 event '],
    ['&types=email.bounced', '0 events'],
  ])('with %s counts %s', async (filter, words) => {
    await droppedEvents(1);
    await droppedEvents(1, { type: 'email.opened', minutesAgo: 70 });
    const page = textOf(await show(dryRun(filter)));
    expect(page).toContain(`${words.trim()} for`);
    expect(page.includes('Confirm')).toBe(!words.startsWith('0'));
  });

  test('of all events counts delivered ones, too', async () => {
    await droppedEvents(2);
    await query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
       select now() - interval '50 minutes', 1, 1, id, $1, type, 5, 200 from events limit 1`,
      [webhook],
    );
    expect(textOf(await show(dryRun()))).toContain('1 event for 1 webhook');
    expect(textOf(await show(dryRun('&only=all')))).toContain('2 events for 1 webhook');
  });

  test('leaves out a failing endpoint, and one link includes it', async () => {
    await droppedEvents(2);
    await query('update webhooks set failing_since = now()');
    const page = await show(dryRun());
    expect(textOf(page)).toContain('crm.example.com/in is left out because it is failing.');
    expect(textOf(page)).not.toContain('Confirm');
    const [, link = ''] = /href="([^"]*)">Include it anyway/.exec(page) ?? [];
    const included = await show(link.replaceAll('&amp;', '&'));
    const words = textOf(included);
    expect(words).toContain('Recover 2 events');
    expect(words).toContain('2 s 1/s while it fails');
    const [, again] = /action="\/recover"[^]*?name="failing"[^>]*value="(\w+)"/.exec(included) ?? [];
    expect(again).toBe('include'); // for Count again
  });

  test('of an account counts each webhook, as does the name of the account', async () => {
    await droppedEvents(2);
    await newWebhook('other.example.com/in');
    for (const owner of [accountId, 'Test']) {
      const words = textOf(await show(`/recover?webhook=${owner}`));
      expect(words).toContain('4 events for 2 webhooks');
      expect(words).toContain('other.example.com/in');
    }
  });

  test('shows a reader the numbers, and no form', async () => {
    await droppedEvents(1);
    const kim = await new HttpVisitor(opened.url).signIn(KEYS.kim);
    const page = await show(dryRun(), kim);
    expect(textOf(page)).toContain('1 event for 1 webhook');
    expect(page).not.toContain('action="/recoveries"');
  });

  test('without an account or webhook is an empty form', async () => {
    const page = await show('/recover');
    expect(page).toContain('name="webhook"');
    expect(page).not.toContain('Dry run');
  });

  test.each([
    ['/recover?webhook=nobody', 'Account nobody is unknown'],
    ['/recover?webhook=wh_01kjpx1b50pb7tmnhrrahq69x0', 'Webhook wh_01kjpx1b50pb7tmnhrrahq69x0 is unknown'],
    ['/recover?weebhook=x', 'weebhook is unknown here'],
    ['/recover?rate=0', 'Rate is less than 1'],
    ['/recover?rate=2001', 'Rate is more than 2000'],
    ['/recover?rate=1e3', 'Rate is not a whole number'],
    ['/recover?only=some', 'Only is not one of undelivered, all'],
    ['/recover?types=x', 'Types is not a type of event'],
    ['/recover?failing=yes', 'Failing is not include'],
    ['/recover?since=2026-02-02&until=2026-02-01', 'Until is not after Since'],
    ['/recoveries?webhook=x', 'Webhook is not the id of a webhook'],
    ['/recoveries?after=x', 'After is not the id of a recovery'],
    ['/recoveries?x=1', 'x is unknown here'],
  ])('%s is refused by name', async (path, words) => {
    const { status, text } = await ada.get(path);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(words);
  });

  test('while another one counts is refused, and the next one is not', async () => {
    await droppedEvents(1);
    const fields = valuesOf(await show(dryRun()), '/recoveries');
    await query('begin');
    await query('lock table events in access exclusive mode');
    const first = ada.get(dryRun());
    await untilWaitingForLock(opened.database);
    expect((await ada.get(dryRun())).status).toBe(503);
    const refused = await ada.post('/recoveries', fields);
    expect(refused.status).toBe(503);
    expect(opened.log()).not.toContain('request failed');
    const [, back = ''] = /href="(\/recover\?[^"]*)">Try again/.exec(refused.text) ?? [];
    await query('commit');
    expect((await first).status).toBe(200);
    expect(textOf(await show(back.replaceAll('&amp;', '&')))).toContain('Recover 1 event');
  });

  test('of an account with many webhooks asks for one', async () => {
    for (let n = 0; n < 20; n += 1) await opened.rows.webhook({ accountId });
    const { status, text } = await ada.get(`/recover?webhook=${accountId}`);
    expect(status).toBe(400);
    expect(textOf(text)).toContain('has more than 20 webhooks');
  });
});

describe('the confirmed dry run', () => {
  test('starts the recovery that was counted, and the audit says who did', async () => {
    await droppedEvents(2, { type: 'email.opened' });
    await droppedEvents(1, { type: 'email.opened', minutesAgo: 10 });
    await droppedEvents(1, { minutesAgo: 50 });
    const until = new Date(Date.now() - 30 * 60_000).toISOString();
    const { status, location } = await confirm(dryRun(`&types=email.opened&rate=7&until=${until}`), {
      note: 'ticket 4809',
    });
    expect(status).toBe(303);
    expect(await started()).toEqual([
      { id: expect.anything(), webhook, matched: 2, rate: 7, undelivered: true },
    ]);
    const page = textOf(await show(location ?? ''));
    for (const part of [
      '1 recovery runs, of 2 events.',
      'Recovery for crm.example.com',
      '0 of 2 events queued',
      'running',
      'Types email.opened',
      'ada in the console',
      'Note ticket 4809',
    ])
      expect(page).toContain(part);
    const audit = textOf(await show('/audit?action=recovery.start&who=ada'));
    expect(audit).toContain('ticket 4809');
  });

  test('of all events starts a recovery of all', async () => {
    await droppedEvents(1);
    await confirm(dryRun('&only=all'));
    expect(await started()).toMatchObject([{ undelivered: false }]);
  });

  test('of an account starts one for each webhook', async () => {
    await droppedEvents(2);
    const other = await newWebhook('other.example.com/in');
    const { location } = await confirm(`/recover?webhook=${accountId}`);
    expect(location).toMatch(/^\/recoveries\?done=/);
    expect(textOf(await show(location ?? ''))).toContain('2 recoveries run, of 4 events.');
    expect((await started()).map((each) => Object.values(each)[1]).sort()).toEqual([webhook, other].sort());
  });

  test('above 1,000 events needs the number, with or without its comma', async () => {
    await droppedEvents(1_001);
    for (const count of ['', '1000', '11']) {
      const { status, text } = await confirm(dryRun(), { count });
      expect([status, textOf(text).includes('Count is not 1001')]).toEqual([400, true]);
    }
    expect(await started()).toEqual([]);
    expect((await confirm(dryRun(), { count: '1,001' })).status).toBe(303);
    expect(await started()).toHaveLength(1);
  });

  test('with another number of events by now starts nothing, and shows the dry run again', async () => {
    await droppedEvents(2);
    const fields = valuesOf(await show(dryRun()), '/recoveries');
    await query(`delete from events where id = (select min(id) from events)`);
    const { location } = await ada.post('/recoveries', fields);
    expect(location).toContain(`/recover?webhook=${webhook}`);
    const words = textOf(await show(location ?? ''));
    expect(words).toContain('Nothing was started. crm.example.com/in has another number of events now.');
    expect(words).toContain('Recover 1 event');
    expect(await started()).toEqual([]);
  });

  test('leaves out what failed after the count', async () => {
    await droppedEvents(2);
    const fields = valuesOf(await show(dryRun()), '/recoveries');
    await droppedEvents(1, { minutesAgo: 55 });
    await query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
       select clock_timestamp(), 1, 1, max(id), $1, 'email.sent', 5, 503 from events`,
      [webhook],
    );
    expect((await ada.post('/recoveries', fields)).location).toMatch(/^\/recoveries\/rec_/);
    expect(await started()).toMatchObject([{ matched: 2 }]);
  });

  test('while a recovery of the webhook runs starts nothing, and the dry run names it', async () => {
    await droppedEvents(1);
    const fields = valuesOf(await show(dryRun()), '/recoveries');
    await confirm(dryRun());
    const again = await ada.post('/recoveries', { ...fields, once: 'x'.repeat(22) });
    const words = textOf(await show(again.location ?? ''));
    expect(words).toContain('Nothing was started. crm.example.com/in has a recovery that runs.');
    expect(words).toContain('is left out because it has a recovery that runs.');
    expect(await started()).toHaveLength(1);
  });

  test.each([
    [{ counted: 'x' }, 'Counted is not the result of a dry run'],
    [{ counted: '' }, 'Counted'],
    [{ at: '' }, 'At '],
    [{ since: '' }, 'Since'],
    [{ count: 'many' }, 'Count is not a number'],
    [{ everything: '1' }, 'everything is unknown here'],
    [{ note: 'x'.repeat(201) }, 'Note has at most 200 characters'],
  ])('with %j is refused by name', async (changes, words) => {
    await droppedEvents(1);
    const { status, text } = await confirm(dryRun(), changes);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(words);
    expect(await started()).toEqual([]);
  });
});

describe('a recovery', () => {
  /** Starts one, and returns the path of its page. */
  async function running(): Promise<string> {
    await droppedEvents(3);
    const { location } = await confirm(dryRun());
    return (location ?? '').split('?')[0] ?? '';
  }

  test('shows its progress, and asks the script for more while it runs', async () => {
    const path = await running();
    await query('update recoveries set queued = 2, delivered = 1, failed = 1');
    const page = await show(path);
    const words = textOf(page);
    for (const part of ['2 of 3 events queued 66 %', 'Delivered 1', 'In progress 0', 'Remaining 1'])
      expect(words).toContain(part);
    expect(page).toContain(`href="/dead-letters?webhook=${webhook}&amp;since=`);
    expect(page).toContain('<title>Recovery for crm.example.com ');
    expect(page).toContain('data-live="2"');
    await query('update recoveries set queued = 3, delivered = 2, ended_at = now()');
    const ended = await show(path);
    expect(textOf(ended)).toContain('3 of 3 events queued 100 %');
    expect(ended).not.toContain('data-live');
    expect(ended).not.toContain('Stop…');
  });

  test('shows how long fresh events waited, while it runs', async () => {
    const path = await running();
    expect(textOf(await show(path))).toContain('Fresh events, p95 none yet');
    await query(
      `insert into events (id, account_id, type, created_at, data)
       select 'evt_' || lpad('7' || n, 26, '0'), $1, 'email.sent', a.created_at + interval '1 ms', '{}'
       from audit a, generate_series(1, 2) n where a.action = 'recovery.start'`,
      [accountId],
    );
    await query(
      `insert into attempts (started_at, delivery_id, attempt, event_id, webhook_id, type, duration_ms, status)
       select created_at + interval '42 ms', 1, 1, id, $1, type, 5, 200 from events where id like 'evt%71'`,
      [webhook],
    );
    expect(textOf(await show(path))).toContain('Fresh events, p95 42 ms');
    await query(
      `insert into deliveries (event_id, webhook_id, due_at) select id, $1, now() from events where id like 'evt%72'`,
      [webhook],
    );
    expect(textOf(await show(path))).toContain('1 of 2 still waits');
    await query('update recoveries set ended_at = now()');
    expect(textOf(await show(path))).not.toContain('Fresh events');
  });

  test('loads itself again without script only when asked, and while it runs', async () => {
    const path = await running();
    expect((await ada.get(path)).headers).not.toHaveProperty('refresh');
    expect((await ada.get(`${path}?live=5`)).headers['refresh']).toBe('5');
    expect((await ada.get(`${path}?live=1`)).status).toBe(400);
    await query('update recoveries set ended_at = now()');
    expect((await ada.get(`${path}?live=5`)).headers).not.toHaveProperty('refresh');
  });

  test('is stopped once, and the audit says who did', async () => {
    const path = await running();
    const page = await show(path);
    const stop = `${path}/stop`;
    const { location } = await ada.post(stop, tokensOf(page, stop));
    const words = textOf(await show(location ?? ''));
    expect(words).toContain('The recovery is stopped. 3 events of it are not queued.');
    expect(words).toContain('stopped');
    expect(textOf(await show('/audit?action=recovery.stop'))).toContain('ada');
    const again = await ada.post(stop, { ...tokensOf(page, stop), once: 'x'.repeat(22) });
    expect(textOf(await show(again.location ?? ''))).toContain('Nothing changed.');
    expect(await query(`select id from audit where action = 'recovery.stop'`)).toHaveLength(1);
  });

  test('is on the overview while it runs, and on the page of dead letters', async () => {
    const path = await running();
    expect(await show('/')).toContain(path);
    expect(await show('/dead-letters')).toContain(path);
    await query('update recoveries set ended_at = now()');
    expect(await show('/')).not.toContain(path);
    expect(await show('/dead-letters')).toContain(path);
    expect((await ada.get(`/search?q=${path.split('/').at(-1) ?? ''}`)).location).toBe(path);
  });

  test('of a webhook that was deleted is gone', async () => {
    const path = await running();
    await query('update webhooks set removed_at = now()');
    const { status, text } = await ada.get(path);
    expect([status, textOf(text).includes('or until its webhook is deleted')]).toEqual([404, true]);
    expect(await show('/recoveries')).not.toContain(path);
  });
});

test('the list of recoveries goes on with the next page, and can be narrowed to a webhook', async () => {
  const other = await newWebhook('other.example.com/in');
  await query(
    `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters, has_more,
                             position, last_position, created_at, ended_at)
     select 'rec_' || lpad(n::text, 26, '0'), $1, case n when 2 then $3 else $2 end, now(), now(), '{}', true, 1, 1, 0, false,
            0, 0, now() - (100 - n) * interval '1 minute', now()
     from generate_series(1, 53) n`,
    [accountId, webhook, other],
  );
  const idsOn = (page: string) => [...page.matchAll(/href="\/recoveries\/(rec_\w+)"/g)].map(([, id]) => id);
  const older = (page: string) => linkIn(page, /^\/recoveries\?.*after=/);
  for (const [path, all] of [
    ['/recoveries', 53],
    [`/recoveries?webhook=${webhook}`, 52],
  ] as const) {
    const first = await show(path);
    const second = await show(older(first));
    expect(idsOn(first)).toHaveLength(50);
    expect(new Set([...idsOn(first), ...idsOn(second)]).size).toBe(all);
    expect(older(second)).toBe('');
  }
  expect(idsOn(await show(`/recoveries?webhook=${other}`))).toEqual(['rec_00000000000000000000000002']);
});
