import { beforeEach, describe, expect, test } from '@jest/globals';
import { HOSTILE_NAME, makeHistory, RECOVERY } from '../test/history.ts';
import { HttpVisitor, tokensOf, valuesOf } from '../test/http-visitor.ts';
import { makeOutage, RECIPIENT } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';
import { RIGHT_TO_LEFT, writeWorstTexts } from '../test/worst-texts.ts';

/* Strangers write subjects, addresses and answers. A link may hold any text. */

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
const paths = () => [
  '/',
  '/held',
  '/audit',
  '/dead-letters',
  '/recoveries',
  `/recoveries/${RECOVERY}`,
  `/accounts/${outage.accountId}`,
  `/webhooks/${outage.failing}`,
  `/events/${outage.eventId}`,
  `/emails/${outage.emailId}`,
  `/messages/${outage.messageId}`,
  `/search?q=${RECIPIENT}`,
];

describe('the longest texts', () => {
  beforeEach(() => writeWorstTexts(opened.database, outage));

  test('turn around no line of a page: what would do so is shown as its code', async () => {
    for (const path of paths()) {
      const { status, text } = await ada.get(path);
      expect({ path, status, turns: /[\u202a-\u202e\u2066-\u2069]/.test(text) }).toEqual({
        path,
        status: 200,
        turns: false,
      });
    }
    expect((await ada.get(`/emails/${outage.emailId}`)).text).toContain('\\u202efff');
  });

  test('leave each link to a search one that the console answers', async () => {
    const hrefs = new Set<string>();
    for (const path of paths()) {
      const { text } = await ada.get(path);
      for (const [, href = ''] of text.matchAll(/href="(\/search\?[^"]*)"/g)) hrefs.add(href);
    }
    expect(hrefs).toContain(`/search?q=${encodeURIComponent(RECIPIENT)}`);
    for (const href of hrefs) {
      const { status } = await ada.get(href.replace(/&amp;/g, '&'));
      expect({ href, isAnswered: status === 200 || status === 303 }).toEqual({ href, isAnswered: true });
    }
  });

  test('leave a list short', async () => {
    for (const path of ['/', '/held', '/audit', '/dead-letters', `/search?q=${RECIPIENT}`]) {
      const { text } = await ada.get(path);
      expect({ path, isShort: text.length < 60_000 }).toEqual({ path, isShort: true });
    }
  });
});

test('text of strangers is text on these pages', async () => {
  for (const path of [
    `/accounts/${outage.accountId}`,
    `/recoveries/${RECOVERY}`,
    `/audit?account=${outage.accountId}`,
    `/emails/${outage.emailId}`,
    `/recover?webhook=${encodeURIComponent(HOSTILE_NAME)}`,
    `/search?q=${encodeURIComponent(HOSTILE_NAME)}`,
  ]) {
    const { text } = await ada.get(path);
    expect({ path, shown: text.includes('&lt;script&gt;document') }).toEqual({ path, shown: true });
    expect(text).not.toContain('<script>document');
  }
});

test('a character that would turn a line around stays the same character in the body to copy', async () => {
  await query(`update events set data = $2 where id = $1`, [
    outage.eventId,
    JSON.stringify({ email_id: outage.emailId, from: `${RIGHT_TO_LEFT}x` }),
  ]);
  const { text } = await ada.get(`/events/${outage.eventId}`);
  const [, body = ''] = /aria-label="Body of the event">([^<]*)</.exec(text) ?? [];
  expect(JSON.parse(body.replaceAll('&quot;', '"'))).toMatchObject({ data: { from: `${RIGHT_TO_LEFT}x` } });
});

test('a character that would turn a line around stays the same character in a field', async () => {
  const text = `a${RIGHT_TO_LEFT}b`;
  const page = await ada.show(`/audit?who=${encodeURIComponent(text)}`);
  expect(page).toContain('value="a&#x202e;b"');
});

test('a control character and a quote of a mail server are escaped in the command to paste', async () => {
  await query(
    `update events set data = jsonb_set(data::jsonb, '{detail,diagnostic}', $2)::json where id = $1`,
    [outage.eventId, JSON.stringify("550 \u007f\u009b no '; id")],
  );
  const { text } = await ada.get(`/events/${outage.eventId}`);
  const [, command = ''] = /data-copy="curl command">([^<]*)</.exec(text) ?? [];
  expect(command.replaceAll('&#39;', "'")).toContain(String.raw`550 \u007f\u009b no '\''; id`);
  expect(command).toMatch(/^curl -g -X POST/); // without -g, curl would read [1-9] and {a,b} as patterns
  expect(command).not.toMatch(/[^\P{Cc}\n]/u);
});

test('half a surrogate pair in an address is shown, and its link leads to a search', async () => {
  await query(`update events set data = $2 where id = $1`, [
    outage.eventId,
    '{"email_id":"em_1","recipients":["a\\ud83d@example.net"]}',
  ]);
  const { status, text } = await ada.get(`/events/${outage.eventId}`);
  expect(status).toBe(200);
  expect(text).toContain('href="/search?q=a%EF%BF%BD%40example.net"');
});

test('an address that is too long for a search is shown without a link', async () => {
  const long = `${'y'.repeat(1_000)}@news.example`;
  await query('update messages set from_address = $2 where id = $1', [outage.messageId, `Ann <${long}>`]);
  const { text } = await ada.get(`/messages/${outage.messageId}`);
  expect(text).toContain(`Ann &lt;${long}&gt;`);
  expect(text).not.toContain('href="/search');
});

test.each([
  ['/audit?who=%00', 'Who has a NUL character'],
  ['/audit?target=%00', 'Target has a NUL character'],
  ['/audit?account=%00', 'Account has a NUL character'],
  ['/held?account=a%00', 'Account has a NUL character'],
  ['/dead-letters?webhook=%00', 'Webhook has a NUL character'],
  ['/recover?webhook=%00', 'Webhook has a NUL character'],
  ['/search?q=%00', 'Q has a NUL character'],
  ['/?done=%00', 'done is not the token of a form'],
  ['/dead-letters?since=0000-01-01', 'Since is not a time'],
  ['/audit?since=0000-12-31', 'Since is not a time'],
  ['/dead-letters?after=999999999999999-dl_01kjpx1b50pb7tmnhrrahq69x0', 'After is not the position'],
])('%s is refused by name', async (path, words) => {
  const { status, text } = await ada.get(path);
  expect({ status, named: text.includes(words) }).toEqual({ status: 400, named: true });
});

test('a note with control characters is refused, and the form may be sent again', async () => {
  const path = `/messages/${outage.messageId}/release`;
  const fields = valuesOf((await ada.get(`/messages/${outage.messageId}`)).text, path);
  for (const [note, words] of [
    ['a\0', 'Note has a NUL character'],
    ['a\u001b[2Jb', 'Note has control characters'],
    ['a\u009bb', 'Note has control characters'],
    ['a\nb', 'Note has control characters'],
  ] as const) {
    const { status, text } = await ada.post(path, { ...fields, note });
    expect([note, status, text.includes(words)]).toEqual([note, 400, true]);
  }
  expect((await ada.post(path, { ...fields, note: 'a' })).status).toBe(303);
});

test('no log line has a note, an address or a subject', async () => {
  const path = `/messages/${outage.messageId}/release`;
  const tokens = tokensOf((await ada.get(`/messages/${outage.messageId}`)).text, path);
  await ada.post(path, { ...tokens, note: 'ticket of jane' });
  await ada.get(`/search?q=${RECIPIENT}`);
  const log = opened.log();
  expect(log).toContain(`"path":"${path}"`);
  for (const word of ['ticket of jane', RECIPIENT, 'support@shop', 'Your order'])
    expect(log).not.toContain(word);
});

test('a page that only reads takes no form, of nobody', async () => {
  const kim = await new HttpVisitor(opened.url).signIn(KEYS.kim);
  const before = await query('select * from audit');
  for (const visitor of [ada, kim])
    for (const path of paths().filter((each) => each !== '/recoveries'))
      expect([path, (await visitor.post(path, { note: 'x' })).status]).toEqual([path, 404]);
  expect(await query('select * from audit')).toEqual(before);
});

test('every page needs only the connections that cannot write', async () => {
  const all = [...paths(), `/recover?webhook=${outage.accountId}`, '/nothing'];
  const taken = await Promise.all([1, 2, 3].map(async () => opened.db.pool.connect()));
  try {
    for (const path of all)
      expect([path, (await ada.get(path)).status]).toEqual([path, path === '/nothing' ? 404 : 200]);
  } finally {
    for (const client of taken) client.release();
  }
});
