import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { fakeClock, streamInto, waitFor } from '@postrider/testing';
import { setupCli } from '../test/run-in-process.ts';
import { runCli } from './run.ts';

const { cli, json, database, rows } = setupCli();
const UNTIL = '2026-11-26T07:12:00.000Z';
const SINCE = '2026-11-26T05:41:12.000Z';

let account: AccountId;
let failing: WebhookId;
let healthy: WebhookId;

beforeEach(async () => {
  account = await rows.account();
  failing = await rows.webhook({ accountId: account });
  healthy = await rows.webhook();
  await database.query('update webhooks set failing_since = $2 where id = $1', [failing, SINCE]);
});

/** Each attempt took 160 to 212 ms: the p95 is 209 ms. @param minutesBefore from its start to the end of the sums */
async function minute(of: WebhookId, minutesBefore: number, attempts: number, successes: number) {
  await database.query(
    `insert into attempts_by_minute (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
     values ($1, $2::timestamptz - make_interval(mins => $3), $4::int, $5,
             array_fill(0, array[10]) || $4::int || array_fill(0, array[14]), 212)`,
    [of, UNTIL, minutesBefore, attempts, successes],
  );
}

async function sums(): Promise<void> {
  await database.query('insert into attempt_sums (settled_until, summed_until) values ($1, $1)', [UNTIL]);
  await minute(failing, 1, 40, 10);
  await minute(failing, 5, 10, 0);
  await minute(healthy, 2, 9, 9);
  await minute(healthy, 6, 500, 500); // outside the five minutes
}

const named = (webhook: WebhookId, owner: unknown) => ({ webhook, account: owner, host: 'hooks.example' });

describe('top', () => {
  test('names the failing and the busiest webhooks with account and host', async () => {
    await sums();
    expect(await json('top')).toEqual({
      until: UNTIL,
      minutes: 5,
      failing: [{ ...named(failing, account), failing_since: SINCE }],
      busiest: [
        { ...named(failing, account), attempts: 50, successes: 10, p95_ms: 209, failing_since: SINCE },
        {
          ...named(healthy, expect.any(String)),
          attempts: 9,
          successes: 9,
          p95_ms: 209,
          failing_since: null,
        },
      ],
    });
    const { code, stdout } = await cli('top', '--once');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`${SINCE} +${failing} +${account} +hooks.example\n`));
    expect(stdout).toContain(`the 5 minutes before ${UNTIL}\n`);
    expect(stdout).toMatch(
      new RegExp(`10.0 +20.0 % +209 ms +${failing} +${account} +hooks.example \\(failing\\)\n`),
    );
    expect(stdout).toMatch(new RegExp(`1.8 +100.0 % +209 ms +${healthy} +acct_\\w+ +hooks.example\n`));
  });

  test('says that there are no sums, and that nothing fails', async () => {
    await database.query('update webhooks set failing_since = null');
    expect((await cli('top')).stdout).toBe(
      'no webhook is failing\n\nno sums: no relay has added up attempts yet\n',
    );
    await database.query('insert into attempt_sums (settled_until, summed_until) values ($1, $1)', [UNTIL]);
    expect((await cli('top')).stdout).toContain(`the 5 minutes before ${UNTIL}: no attempt\n`);
  });

  test('shows a terminal the table again, until Ctrl+C', async () => {
    const screens: string[] = [];
    const stdout = Object.assign(streamInto(screens), { isTTY: true });
    const env = { DATABASE_URL: database.url };
    const io = { env, dataDir: '/nonexistent', clock: fakeClock(), stdout, stderr: streamInto(screens) };
    const shown = runCli(['top', '--every', '1'], io);
    await waitFor(() => screens.length > 0, { what: 'the first screen' });
    await database.query('update webhooks set failing_since = null');
    await waitFor(() => screens.at(-1)?.includes('no webhook is failing'), { what: 'a later screen' });
    process.emit('SIGINT');
    expect(await shown).toBe(0);
    expect(process.emit('SIGINT')).toBe(true); // npm sends a second SIGINT: a listener still takes it
    expect(screens[0]).toMatch(/^\u001b\[2J\u001b\[HFAILING SINCE/);
  });

  test.each(['0', '0.5', 'x', '', '86401', 'Infinity'])('--every %j is refused', async (every) => {
    const { code, stderr } = await cli('top', '--every', every);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        new RegExp(`^postrider: --every ${every} *is not a number of seconds from 1 to 86400\n$`),
      ),
    });
  });
});

describe('status', () => {
  test('names the ten webhooks that fail for the longest, with account and host', async () => {
    for (let n = 0; n < 11; n += 1) await rows.webhook({ failing: true });
    const gone = await rows.webhook();
    await database.query(
      `update webhooks set failing_since = '2026-01-01', removed_at = now() where id = $1`,
      [gone],
    );
    const { failing: found } = await json<{ failing: unknown[] }>('status', '--stopped');
    expect(found).toHaveLength(10);
    expect(found[0]).toEqual({ ...named(failing, account), failing_since: SINCE });
    expect((await cli('status')).stdout).toMatch(
      new RegExp(`failing webhook +${failing} of ${account}, hooks.example, since ${SINCE}\n`),
    );
  });
});
