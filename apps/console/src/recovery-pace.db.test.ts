import { beforeEach, describe, expect, test } from '@jest/globals';
import { moment } from './html/words.ts';
import { makeHistory, RECOVERY } from '../test/history.ts';
import { HttpVisitor, textOf } from '../test/http-visitor.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

/* How fast a recovery goes on, and how it ends. */

const opened = setupConsole();
let outage: Outage;
let ada: HttpVisitor;
const path = `/recoveries/${RECOVERY}`;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  await makeHistory(opened.database, outage);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const query = async (sql: string, values: unknown[] = []) => opened.database.query(sql, values);
const wordsOf = async (page: string) => textOf(await ada.show(page));

describe('a recovery that has queued its last event', () => {
  const list = async () => ada.show(`/recoveries?webhook=${outage.healthy}`);

  test('is not finished while events are in progress, and its page goes on', async () => {
    await query('update recoveries set queued = 17000, ended_at = now()');
    for (const page of [await ada.show(path), await list()]) {
      expect(page).toMatch(/<span class="st wait[^"]*">has queued all</);
      expect(textOf(page)).not.toContain('finished');
    }
    expect(textOf(await list())).toContain('17,000 70 in progress 28 failed again');
    expect(await ada.show(path)).toContain('data-live="2"');
    expect((await ada.get(`${path}?live=5`)).headers['refresh']).toBe('5');
  });

  test.each([
    [28, 'bad'],
    [0, 'good'],
  ])('with %i events that failed again has the sign %s', async (failed, sign) => {
    await query('update recoveries set queued = delivered + $1, failed = $1, ended_at = now()', [failed]);
    for (const page of [await ada.show(path), await list()]) {
      expect(page).toMatch(new RegExp(`<span class="st ${sign}[^"]*">finished<`));
      expect(page).not.toContain('data-live');
    }
  });
});

describe('a recovery that was counted two days before its start', () => {
  beforeEach(async () => query(`update recoveries set created_at = now() - interval '2 days'`));

  test('is shown from its start on, on every page', async () => {
    const [row] = await opened.database.query<{ at: Date }>(
      `select created_at as at from audit where action = 'recovery.start'`,
    );
    const at = row?.at ?? new Date(0);
    const words = await wordsOf(path);
    expect(words).toContain(`Started ${moment(at, at)} `);
    expect(words).toMatch(/at most, [12]\d\d\/s on average/);
    for (const page of [path, '/', '/recoveries', `/webhooks/${outage.healthy}`])
      expect(await wordsOf(page)).not.toContain('2 d ago');
    expect(await ada.show(path)).toContain(`since=${at.toISOString().slice(0, 10)}`);
  });

  test('is shown from its count on once the audit has lost its start', async () => {
    await query('delete from audit');
    expect(await wordsOf('/recoveries')).toContain('unknown 2 d ago');
  });
});

describe('the time left of a recovery', () => {
  test('of a healthy endpoint is that of its rate', async () => {
    for (const page of [path, '/']) expect(await wordsOf(page)).toContain('55 s left at 200/s ');
  });

  test('of a failing endpoint is that of one event a second', async () => {
    await query('update webhooks set failing_since = now() where id = $1', [outage.healthy]);
    for (const page of [path, '/'])
      expect(await wordsOf(page)).toContain('3 h 6 min left at 1/s: the endpoint fails');
  });

  test('of a suspended account is not known, and the dry run says that it waits', async () => {
    await query('update accounts set suspended_at = now()');
    for (const page of [path, '/']) expect(await wordsOf(page)).toContain('waits: the account is suspended');
    await query('delete from recoveries');
    const words = await wordsOf(`/recover?webhook=${outage.healthy}&only=all&since=2020-01-01`);
    expect(words).toContain(' waits Confirm');
    expect(words).toContain('The account is suspended. The recovery waits until account resume .');
  });
});
