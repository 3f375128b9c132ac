import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { systemClock, untilWaitingForLock } from '@postrider/testing';
import { linkIn, textOf, tokensOf, valuesOf } from '../test/http-visitor.ts';
import type { HttpVisitor } from '../test/http-visitor.ts';
import { makeOldWebhook } from '../test/old-webhook.ts';
import { setupConsole } from '../test/start-console.ts';
import { createOneCount } from './routes/one-count.ts';
import { showRecover } from './routes/recover.ts';

/* What "Recover these…" over a list of dead letters sends. */

const opened = setupConsole();
let accountId: AccountId;
let webhook: WebhookId;
let ada: HttpVisitor;

beforeEach(async () => void ({ accountId, webhook, ada } = await makeOldWebhook(opened)));

const query = async (sql: string, values: unknown[] = []) => opened.database.query(sql, values);

/** Dead letters of one day ago. Retention has deleted their events. */
async function letters(reason: string, ids: readonly number[], age = '1 day'): Promise<void> {
  await query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error, created_at)
     select 'dl_' || lpad(n::text, 26, '0'), $1, $2, 'evt_' || lpad(n::text, 26, '0'), 'email.sent', now() - interval '40 days', '{}', 8,
            $3::dead_letter_reason, 'HTTP 503', now() - $4::interval
     from unnest($5::int[]) n`,
    [accountId, webhook, reason, age, ids],
  );
}

/** Sends the form to which the button of a list leads. */
async function recoverThese(list: string) {
  const page = await ada.show(linkIn(await ada.show(list), /^\/recover\?.*only/));
  const { location } = await ada.post('/recoveries', valuesOf(page, '/recoveries'));
  return { dryRun: textOf(page), result: textOf(await ada.show(location ?? '')) };
}

/** The page of `/recover`. Each of its statements sees what is committed by then. */
async function withoutSnapshot(query: Record<string, string>): Promise<string> {
  const show = showRecover(opened.db, systemClock, createOneCount());
  const visitor = { name: 'ada', role: 'operator', csrf: '' } as const;
  const visit = { visitor, mayAct: true, params: {}, url: '/recover', now: new Date(), done: null };
  const page = await show({ ...visit, isConnected: () => true, query });
  return 'main' in page ? String(page.main) : '';
}

describe('a recovery of the dead letters of a list', () => {
  test.each([
    ['webhook', () => webhook],
    ['account', () => accountId],
  ])('of a %s has the filter of the list, and counts letters without an event', async (_, owner) => {
    await letters('rejected', [1, 2]);
    await letters('rejected', [3], '3 days');
    await letters('attempts_exhausted', [4, 5]);
    const since = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);
    const { dryRun, result } = await recoverThese(
      `/dead-letters?webhook=${owner()}&reason=rejected&type=email.sent&since=${since}`,
    );
    expect(dryRun).toContain('Recover 2 events');
    expect(dryRun).toContain('leaves out dead letters made after');
    expect(result).toContain('1 recovery runs, of 2 events.');
    expect(result).toContain('Which events dead letters with the reason rejected Started by');
    expect(
      await query('select matched, dead_letters_only as only, reason::text, types from recoveries'),
    ).toEqual([{ matched: 2, only: true, reason: 'rejected', types: ['email.sent'] }]);
  });

  test('without a time is one of all that are left', async () => {
    await letters('rejected', [1], '80 days');
    await letters('attempts_exhausted', [2]);
    const { result } = await recoverThese(`/dead-letters?webhook=${webhook}`);
    for (const part of ['of 2 events.', 'Given up until ', 'Which events dead letters Started by'])
      expect(result).toContain(part);
    expect(textOf(await ada.show('/recoveries'))).toMatch(/ Test until \d/);
    for (const page of [result, textOf(await ada.show('/recoveries'))]) expect(page).not.toContain('1970');
  });

  test('of an account has one moment: what fails while it counts is in none of its numbers', async () => {
    const other = await opened.rows.webhook({ accountId });
    await letters('rejected', [1, 2]);
    await query(`update dead_letters set webhook_id = $1 where id like '%2'`, [other]);
    await query('begin');
    await query('lock table dead_letters');
    const shown = withoutSnapshot({ webhook: accountId, only: 'dead_letters' });
    await untilWaitingForLock(opened.database);
    await letters('attempts_exhausted', [3, 4]);
    await query(
      `update dead_letters set created_at = clock_timestamp(), webhook_id = case when id like '%4' then $1 else webhook_id end
       where reason = 'attempts_exhausted'`,
      [other],
    );
    await query('commit');
    const page = await shown;
    expect(textOf(page)).toContain('Recover 2 events');
    const tokens = tokensOf(await ada.show(`/recover?webhook=${accountId}&only=dead_letters`), '/recoveries');
    const { location } = await ada.post('/recoveries', { ...valuesOf(page, '/recoveries'), ...tokens });
    expect(textOf(await ada.show(location ?? ''))).toContain('2 recoveries run, of 2 events.');
  });

  test('with another number of dead letters by now starts nothing', async () => {
    await letters('rejected', [1, 2]);
    const fields = valuesOf(await ada.show(`/recover?webhook=${webhook}&only=dead_letters`), '/recoveries');
    await query(`delete from dead_letters where id like '%1'`);
    const { location } = await ada.post('/recoveries', fields);
    const words = textOf(await ada.show(location ?? ''));
    expect(words).toContain('has another number of events now.');
    expect(words).toContain('Recover 1 event');
  });

  test('keeps no reason when the user chooses events instead', async () => {
    await letters('rejected', [1]);
    await opened.rows.event({ accountId });
    const page = await ada.show(`/recover?webhook=${webhook}&reason=rejected`);
    expect(textOf(page)).toContain('Recover 1 event');
    const fields = valuesOf(page, '/recoveries');
    const { location } = await ada.post('/recoveries', { ...fields, reason: 'rejected' });
    expect(textOf(await ada.show(location ?? ''))).toContain('1 recovery runs, of 1 event.');
  });
});

describe('a dry run of events', () => {
  const dryRun = async (more = '') => ada.show(`/recover?webhook=${webhook}${more}`);

  test('says which dead letters are older than its time span, and leads to them', async () => {
    await letters('rejected', [1, 2]);
    const page = await dryRun();
    expect(textOf(page)).toContain('The recovery leaves out 2 dead letters of');
    const link = linkIn(page, /^\/recover\?.*only=dead_letters/);
    expect(textOf(await ada.show(link))).toContain('Recover 2 events');
    for (const covered of ['&since=2001-01-01', '&types=email.bounced', '&only=dead_letters'])
      expect(textOf(await dryRun(covered))).not.toContain('leaves out 2');
  });

  test('says that retention deleted dead letters, whose events may be older', async () => {
    await query('update webhooks set dead_letters_dropped = 44');
    expect(textOf(await dryRun())).toContain('Retention has deleted 44 dead letters of');
    expect(textOf(await dryRun('&since=2001-01-01'))).not.toContain('Retention has deleted');
  });
});

test('the list of dead letters shows the newest recoveries of its webhook, and none of other accounts', async () => {
  await letters('rejected', [1]);
  await recoverThese(`/dead-letters?webhook=${webhook}`);
  const other = await opened.rows.webhook();
  for (const [filter, isShown] of [
    ['', true],
    [`?webhook=${webhook}`, true],
    [`?webhook=${other}`, false],
    [`?account=${accountId}`, false],
    [`?webhook=${accountId}`, false],
  ] as const) {
    const page = await ada.show(`/dead-letters${filter}`);
    expect([filter, page.includes('/recoveries/rec_')]).toEqual([filter, isShown]);
  }
});
