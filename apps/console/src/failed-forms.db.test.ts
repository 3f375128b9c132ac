import { beforeEach, describe, expect, test } from '@jest/globals';
import { untilWaitingForLock } from '@postrider/testing';
import { makeHistory, RECOVERY } from '../test/history.ts';
import { HttpVisitor, textOf, tokensOf, valuesOf } from '../test/http-visitor.ts';
import { makeOutage } from '../test/outage.ts';
import type { Outage } from '../test/outage.ts';
import { KEYS, setupConsole } from '../test/start-console.ts';

/* Forms that Postgres serves in part, or not at all. */

const opened = setupConsole({ resultWithinMs: 0 });
let outage: Outage;
let ada: HttpVisitor;
beforeEach(async () => {
  await opened.rows.clear();
  outage = await makeOutage(opened.database, opened.rows);
  await makeHistory(opened.database, outage);
  ada = await new HttpVisitor(opened.url).signIn(KEYS.ada);
});

const query = async (sql: string) => opened.database.query(sql);

/** Postgres is out of memory for these rows while the work runs. @param when such as `insert on audit` */
async function withoutMemory<T>(when: string, condition: string, work: () => Promise<T>): Promise<T> {
  await query(
    `create function refuse() returns trigger language plpgsql as
     $$ begin raise exception 'out of memory' using errcode = '53200'; end $$`,
  );
  await query(
    `create trigger refuse before ${when} for each row when (${condition}) execute function refuse()`,
  );
  try {
    return await work();
  } finally {
    await query('drop function refuse cascade');
  }
}

describe('recoveries of several webhooks', () => {
  const path = () => `/recover?webhook=${outage.accountId}&failing=include&only=all`;
  beforeEach(async () => void (await query('delete from recoveries')));

  test.each([
    [
      'one fails',
      (failing: string) => `new.webhook_id = '${failing}'`,
      'Not every recovery is known to have started: hooks.shop.example.com/postrider may',
      '1 recovery runs, of ',
      1,
    ],
    ['all fail', () => 'true', 'Nothing is known to have started.', 'This is a new dry run.', 0],
  ])('of which %s: the page names those that may run', async (_, condition, bold, words, running) => {
    const fields = valuesOf(await ada.show(path()), '/recoveries');
    const { status, location } = await withoutMemory(
      'insert on recoveries',
      condition(outage.failing),
      async () => ada.post('/recoveries', fields),
    );
    expect(status).toBe(303);
    const page = await ada.show(location ?? '');
    expect(textOf(page)).toContain(words);
    expect(textOf(page)).toContain(
      'hooks.shop.example.com/postrider may have a recovery or not, because Postgres did not answer.',
    );
    expect(page).toContain('<div class="note wait"');
    expect(page).toContain(`<b>${bold}`);
    expect(await query('select from recoveries')).toHaveLength(running);
    expect((await ada.post('/recoveries', fields)).location).toBe(location);
  });

  test('are not started when Postgres does not name the webhook', async () => {
    const fields = valuesOf(await ada.show(`/recover?webhook=${outage.healthy}&only=all`), '/recoveries');
    await query('begin');
    await query('lock table webhooks in access exclusive mode');
    const answer = ada.post('/recoveries', fields);
    await untilWaitingForLock(opened.database);
    await query('select pg_cancel_backend(pid) from pg_locks where not granted');
    const { location } = await answer;
    await query('commit');
    expect(textOf(await ada.show(location ?? ''))).toContain(
      `Nothing was started. ${outage.healthy} was not started, because Postgres did not answer.`,
    );
  });
});

test('a form that could not begin says that nothing changed', async () => {
  const path = `/recoveries/${RECOVERY}`;
  const fields = valuesOf(await ada.show(path), `${path}/stop`);
  const failed = await withoutMemory('insert on console_forms', 'true', async () =>
    ada.post(`${path}/stop`, fields),
  );
  expect([failed.status, textOf(failed.text).includes('This request changed nothing.')]).toEqual([503, true]);
  expect(textOf(failed.text)).not.toContain('may have changed');
  expect(textOf(failed.text)).toContain('Deliveries wait, and none is lost.');
  expect((await ada.post(`${path}/stop`, fields)).status).toBe(303);
});

test('a sign-out or a sign-in that could not begin leads back to its page', async () => {
  const { csrf } = tokensOf(await ada.show('/held'), '/sign-out');
  const signOut = await withoutMemory('delete on console_sessions', 'true', async () =>
    ada.post('/sign-out', { csrf }),
  );
  const fields = { key: KEYS.ada, next: '/held?reason=spam' };
  const signIn = await withoutMemory('insert on console_sessions', 'true', async () =>
    ada.post('/sign-in', fields),
  );
  expect([signOut.status, signIn.status]).toEqual([503, 503]);
  expect(signOut.text).toContain('<a class="btn" href="/">');
  expect(signIn.text).toContain('<a class="btn" href="/sign-in?next=%2Fheld%3Freason%3Dspam">');
});

test.each([
  ['that failed', 'update on recoveries', 'new.stopped', 0],
  ['that acted, and whose result was not stored', 'update on console_forms', 'true', 1],
])(
  'a form %s says that something may have changed, and does not act again',
  async (_, when, condition, acted) => {
    const path = `/recoveries/${RECOVERY}`;
    const fields = valuesOf(await ada.show(path), `${path}/stop`);
    const failed = await withoutMemory(when, condition, async () => ada.post(`${path}/stop`, fields));
    expect(failed.status).toBe(503);
    const words = textOf(failed.text);
    expect(words).toContain('It may have changed something. Look into the audit before you try again.');
    expect(words).not.toContain('changed nothing');
    expect(failed.text).toContain(`<a class="btn" href="${path}">Back to the form</a>`);
    const again = await ada.post(`${path}/stop`, fields);
    expect(again.status).toBe(409);
    expect(textOf(again.text)).toContain('it failed and may have acted');
    expect(await query('select from recoveries where stopped')).toHaveLength(acted);
  },
);
