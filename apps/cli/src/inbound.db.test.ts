import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createRows, createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { runInProcess } from '../test/run-in-process.ts';

let database: TestDatabase;
beforeEach(async () => void (database = await createTestDatabase()));
afterEach(() => database.drop());

const cli = (...args: string[]) => runInProcess(['inbound', 'find', ...args], { DATABASE_URL: database.url });

async function found(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await cli(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id);
}

describe('inbound find', () => {
  test('finds a message by its Message-ID, even a held one', async () => {
    const rows = createRows(database);
    const held = await rows.message({ held: true });
    await rows.message();
    for (const id of [`${held}@mail.example`, `<${held}@mail.example>`]) {
      expect(await found('--message-id', id)).toEqual([held]);
    }
    const [account] = await database.query('select account_id from messages where id = $1', [held]);
    const { stdout } = await cli('--message-id', `${held}@mail.example`);
    expect(stdout.split('\n')[1]).toMatch(
      new RegExp(`^${held} .* held \\(spam\\) +1000 +${String(account?.['account_id'])}$`),
    );
  });

  test('finds by sender and by recipient in any spelling, newest first', async () => {
    const rows = createRows(database);
    const [first, second] = [await rows.message(), await rows.message()];
    await database.query(`update messages set created_at = now() - interval '1 hour' where id = $1`, [first]);
    await database.query(`update messages set received_for = '{A+tag@in.example}' where id = $1`, [first]);
    expect(await found('--address', 'Ann@shop.example')).toEqual([second, first]);
    expect(await found('--address', 'a@in.example')).toEqual([second]);
    expect(await found('--address', 'a+TAG@in.example')).toEqual([first]);
    expect(await found('--address', 'n@shop.example')).toEqual([]);
    expect((await cli('--address', 'nobody@in.example')).stdout).toBe('no messages\n');
  });

  test('shows no content of a message', async () => {
    await createRows(database).message({ text: 'confidential', html: 'confidential' });
    const shown = await Promise.all([
      cli('--address', 'a@in.example'),
      cli('--address', 'a@in.example', '--json'),
    ]);
    for (const { stdout } of shown) expect(stdout).not.toMatch(/confidential|Subject|Ann|in\.example/);
  });

  test.each([[[]], [['--message-id', 'a@b.example', '--address', 'a@in.example']]])(
    'with %j is wrong usage',
    async (args) => {
      expect(await cli(...args)).toMatchObject({ code: 2 });
    },
  );
});
