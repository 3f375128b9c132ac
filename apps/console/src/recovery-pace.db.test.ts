import { beforeEach, describe, expect, test } from '@jest/globals';
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
