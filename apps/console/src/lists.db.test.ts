import { beforeEach, describe, expect, test } from '@jest/globals';
import { makeHistory, RECOVERY } from '../test/history.ts';
import { HttpVisitor, linkIn, textOf, tokensOf } from '../test/http-visitor.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

/* The lists of dead letters, held mail and events, with their filters. */

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  await makeHistory(opened.database, outage);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const query = async (sql: string, values: unknown[] = []) => opened.database.query(sql, values);
const show = (path: string) => ada.show(path);

describe('lists', () => {
  test.each([
    ['/dead-letters?type=email.bounced', true],
    ['/dead-letters?type=email.sent', false],
    ['/dead-letters?status=503', true],
    ['/dead-letters?status=5xx', true],
    ['/dead-letters?status=4xx', false],
    ['/dead-letters?status=none', false],
    ['/dead-letters?reason=rejected', false],
    ['/dead-letters?account=Meadow+Shop', true],
    ['/dead-letters?webhook=%20&status=%20', true],
    ['/dead-letters?since=2100-01-01', false],
    ['/dead-letters?until=2100-01-01+10:30', true],
  ])('%s finds the dead letter: %s', async (path, isFound) => {
    expect((await show(path)).includes(outage.eventId.slice(-7))).toBe(isFound);
  });

  test('dead letters of a webhook are those of this webhook', async () => {
    expect(await show(`/dead-letters?webhook=${outage.failing}`)).toContain(outage.eventId.slice(-7));
    expect(await show(`/dead-letters?webhook=${outage.healthy}`)).toContain('No dead letter matches');
  });

  test.each([
    ['/dead-letters?statsu=503', 'statsu is unknown here'],
    ['/dead-letters?status=5', 'Status is not a status'],
    ['/dead-letters?since=2026-02-30', 'Since is not a time such as 2026-11-26 or 2026-11-26 05:41, in UTC.'],
    ['/dead-letters?account=nobody', 'Account nobody is unknown'],
    ['/dead-letters?type=a&type=b', 'Type is not a type of event'],
    ['/dead-letters?after=x', 'After is not the position'],
    ['/held?reason=x', 'Reason is not one of'],
    ['/audit?action=x', 'Action is not an action'],
    ['/audit?after=1', 'After 1 is no entry'],
    ['/webhooks/wh_01kjpx1b50pb7tmnhrrahq69x0?after=x', 'After is not the position'],
  ])('%s is refused by name', async (path, words) => {
    const { status, text } = await ada.get(path);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(words);
  });

  test.each([
    ['/dead-letters?webhook=Meadow+Shop&since=x', '/dead-letters?webhook=Meadow+Shop'],
    [
      '/dead-letters?type=email.sent&reason=spam&until=x&status=5xx',
      '/dead-letters?type=email.sent&status=5xx',
    ],
    ['/dead-letters?webhook=nobody&status=503', '/dead-letters?status=503'],
    ['/dead-letters?webhook=Meadow+Shop&account=Meadow+Shop', '/dead-letters?webhook=Meadow+Shop'],
    ['/dead-letters?statsu=503&type=a&type=b', '/dead-letters'],
    ['/audit?who=ada&target=evt_1&since=20.11.2026', '/audit?who=ada&target=evt_1'],
    ['/audit?who=ada&after=1', '/audit?who=ada'],
    ['/held?status=released&reason=spam', '/held?reason=spam'],
    ['/recover?webhook=Meadow+Shop&rate=5&since=x', '/recover?webhook=Meadow+Shop&rate=5'],
    ['/recover?since=2026-02-02&until=2026-02-01', '/recover?since=2026-02-02'],
    ['/recover?webhook=nobody&rate=5', '/recover?rate=5'],
    ['/search?q=%00&account=x', '/search'],
    ['/search?q=', '/search'],
    ['/?done=x', '/'],
  ])('%s leads back to the form, with the fields that are right', async (path, back) => {
    const { status, text } = await ada.get(path);
    expect(status).toBe(400);
    expect(text).toContain(`<a class="btn" href="${back.replaceAll('&', '&amp;')}">Back to the page</a>`);
    expect((await ada.get(back)).status).toBeLessThan(400);
  });

  test('a name that two accounts have is refused, however many newer ones contain it', async () => {
    const path = '/dead-letters?account=meadow+shop';
    expect(await show(path)).toContain(outage.eventId.slice(-7));
    await query(
      `insert into accounts (id, name, created_at)
       select 'acct_' || lpad(n::text, 26, '0'), 'Meadow Shop ' || n, now() + interval '1 hour' from generate_series(1, 9) n`,
    );
    expect(await show(path)).toContain(outage.eventId.slice(-7));
    await query(
      `insert into accounts (id, name, created_at) values ('acct_' || repeat('0', 26), 'MEADOW SHOP', '2001-01-01')`,
    );
    const { status, text } = await ada.get(path);
    expect(status).toBe(400);
    expect(textOf(text)).toContain('Account meadow shop fits several accounts. Give an id.');
  });

  test('held mail shows its reason, and not that of others', async () => {
    expect(await show('/held')).toContain('clamd found a virus');
    expect(await show('/held?reason=virus')).toContain('Re: Your order');
    expect(await show('/held?reason=spam')).toContain('No held mail matches');
  });

  test('the events of a webhook can be filtered by recipient, status and time', async () => {
    const path = `/webhooks/${outage.failing}`;
    expect(await show(path)).toContain('email.bounced');
    expect(await show(`${path}?status=failed`)).toContain(outage.eventId.slice(-7));
    expect(await show(`${path}?status=success`)).toContain('No event matches');
    expect(await show(`${path}?recipient=nobody@example.net`)).toContain('No event matches');
    expect((await ada.get(`${path}?recipient=x`)).status).toBe(400);
  });
});

describe('released mail', () => {
  test('of 24 h has its tab, with who released it', async () => {
    expect(textOf(await show('/held'))).toContain('Released, 24 h 0');
    const path = `/messages/${outage.messageId}/release`;
    const tokens = tokensOf((await ada.get(`/messages/${outage.messageId}`)).text, path);
    await ada.post(path, { ...tokens, note: 'ticket 9' });
    expect(textOf(await show('/held'))).toContain('Released, 24 h 1');
    const words = textOf(await show('/held?status=released'));
    expect(words).toContain('Re: Your order');
    expect(words).toContain('by ada');
    expect(await show(`/held?status=released&account=${outage.accountId}`)).toContain('Re: Your order');
    const other = await opened.rows.account();
    const none = textOf(await show(`/held?status=released&account=${other}`));
    expect(none).toContain('No release in 24 h matches');
    await query(`update audit set created_at = now() - interval '25 hours'`);
    expect(await show('/held?status=released')).toContain('No mail was released');
  });

  test.each(['/held?status=held', '/held?status=released&reason=spam'])('%s is refused', async (path) => {
    expect((await ada.get(path)).status).toBe(400);
  });
});

describe('held mail of an account', () => {
  test('is named, and the page leads to all held mail', async () => {
    const page = await show(`/held?account=${outage.accountId}`);
    expect(textOf(page)).toContain('Of the account Meadow Shop . Show all held mail .');
    expect(textOf(await show('/held'))).not.toContain('Of the account');
  });
});

test.each([
  ['dead letters of 24 hours', '/'],
  ['failures of a recovery', `/recoveries/${RECOVERY}`],
])('the %s lead to the list of those alone', async (_, path) => {
  await query(
    `insert into dead_letters select (json_populate_record(l, json_build_object('id', 'dl_old', 'event_id', 'evt_old',
       'created_at', now() - interval '2 days'))).* from dead_letters l`,
  );
  await query('update dead_letters set webhook_id = $1', [outage.healthy]);
  expect(textOf(await show(linkIn(await show(path), /^\/dead-letters\?/)))).toContain(' 1 match ');
});

describe('the button that recovers what the dead letters show', () => {
  const link = (page: string) => linkIn(page, /^\/recover\?/);

  test('leads to the dry run of dead letters with the same filter', async () => {
    const filter = 'reason=attempts_exhausted&since=2026-01-01&until=2100-01-01';
    const href = link(await show(`/dead-letters?webhook=${outage.failing}&type=email.bounced&${filter}`));
    expect(href).toBe(
      `/recover?webhook=${outage.failing}&only=dead_letters&types=email.bounced&reason=attempts_exhausted&since=2026-01-01+00%3A00&until=2100-01-01+00%3A00`,
    );
    expect(textOf(await show(href))).toContain('1 event for 1 other webhook left out');
  });

  test.each(['', '?account=Meadow+Shop&status=503'])(
    'is missing where a recovery would send more: %s',
    async (filter) => {
      expect(link(await show(`/dead-letters${filter}`))).toBe('');
    },
  );
});

test.each(['/dead-letters', '/audit', '/recover', '/webhooks/:failing'])(
  '%s says below its form how a time is written',
  async (path) => {
    const page = await show(path.replace(':failing', outage.failing));
    expect(textOf(page)).toContain('Times are in UTC, such as 2026-11-26 or 2026-11-26 05:41.');
    expect(page.match(/aria-describedby="time-hint"/g)).toHaveLength(path === '/audit' ? 1 : 2);
  },
);

test('a time keeps its seconds in the field of the filter', async () => {
  const page = await show(`/dead-letters?since=2026-01-01+05:41:12.093`);
  expect(page).toContain('value="2026-01-01 05:41:12.093"');
});

test('dead letters of an account and of a webhook at once are refused', async () => {
  expect((await ada.get('/dead-letters?account=Meadow+Shop&webhook=Meadow+Shop')).status).toBe(400);
});
