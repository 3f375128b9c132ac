import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { textOf, valuesOf } from '../test/http-visitor.ts';
import type { HttpVisitor } from '../test/http-visitor.ts';
import { makeOldWebhook } from '../test/old-webhook.ts';
import { setupConsole } from '../test/start-console.ts';

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
  const href = /href="(\/recover\?[^"]*only[^"]*)"/.exec(await ada.show(list))?.[1] ?? '';
  const page = await ada.show(href.replaceAll('&amp;', '&'));
  const { location } = await ada.post('/recoveries', valuesOf(page, '/recoveries'));
  return { dryRun: textOf(page), result: textOf(await ada.show(location ?? '')) };
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
