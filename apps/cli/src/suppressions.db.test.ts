import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database, rows } = setupCli();

let acme: AccountId;
let other: AccountId;

beforeEach(async () => {
  acme = await rows.account();
  other = await rows.account();
  for (const account of [acme, other]) {
    for (const address of ['ann@b.example', 'bob@b.example']) {
      const id = `sup_${account}_${address}`;
      await database.query(
        `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
         values ($1, $2, $3, '', 'bounce', now()), ($1 || '_topic', $2, $3, 'top_1', 'unsubscribe', now())`,
        [id, account, address],
      );
    }
  }
});

const idOf = (account: AccountId, address: string) => `sup_${account}_${address}`;
const remove = (account: string, address: string) => [
  'suppressions',
  'remove',
  '--account',
  account,
  '--address',
  address,
];

async function left(): Promise<string[]> {
  const all = await database.query<{ id: string }>(
    `select id from suppressions where topic_id = '' order by account_id, address`,
  );
  return all.map(({ id }) => id);
}

describe('suppressions remove', () => {
  test("removes the address's suppression of this account, and none for a topic", async () => {
    const id = idOf(acme, 'bob@b.example');
    const before = await left();
    expect(await json(...remove(acme, ' Bob@b.example'))).toEqual({
      id,
      account: acme,
      address: 'bob@b.example',
    });
    expect(await left()).toEqual(before.filter((one) => one !== id));
    const ofTopics = await database.query(`select from suppressions where topic_id <> ''`);
    expect(ofTopics).toHaveLength(4);
    expect(await cli(...remove(acme, 'bob@b.example'))).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: ${acme} does not suppress bob@b.example\n`,
    });
    expect((await cli(...remove(acme, 'ann@b.example'))).stdout).toBe(
      `removed ${idOf(acme, 'ann@b.example')}: ${acme} may write to ann@b.example again\n`,
    );
  });

  test('after a complaint needs a reason, which is kept', async () => {
    const id = idOf(acme, 'bob@b.example');
    await database.query(`update suppressions set origin = 'complaint' where id = $1`, [id]);
    expect(await cli(...remove(acme, 'bob@b.example'))).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'postrider: a complaint suppressed bob@b.example: give the --reason why it may get mail again\n',
    });
    expect(await left()).toHaveLength(4);
    await json(...remove(acme, 'bob@b.example'), '--reason', ' He asked for it by phone ');
    expect(await left()).toHaveLength(3);
    expect(await database.query('select account_id, address, reason from removed_complaints')).toEqual([
      { account_id: acme, address: 'bob@b.example', reason: 'He asked for it by phone' },
    ]);
  });

  test('refuses a reason of several lines, as the API does', async () => {
    expect(await cli(...remove(acme, 'bob@b.example'), '--reason', 'asked\nby phone')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('A reason has 1 to 500 characters in one line.'),
    });
    expect(await left()).toHaveLength(4);
  });

  test('of a missing account fails with one line', async () => {
    const missing = 'acct_01jd0000000000000000000009';
    expect(await cli(...remove(missing, 'bob@b.example'))).toEqual({
      code: 1,
      stdout: '',
      stderr: `postrider: no account ${missing}\n`,
    });
  });
});
