import { describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database, rows } = setupCli();

const find = (...args: string[]) => cli('inbound', 'find', ...args);

async function found(...args: string[]): Promise<string[]> {
  const { data } = await json<{ data: { id: string }[] }>('inbound', 'find', ...args);
  return data.map(({ id }) => id);
}

describe('inbound find', () => {
  test('finds a message by its Message-ID, even a held one', async () => {
    const held = await rows.message({ held: true });
    await rows.message();
    for (const id of [`${held}@mail.example`, `<${held}@mail.example>`]) {
      expect(await found('--message-id', id)).toEqual([held]);
    }
    const [account] = await database.query('select account_id from messages where id = $1', [held]);
    const { stdout } = await find('--message-id', `${held}@mail.example`);
    expect(stdout.split('\n')[1]).toMatch(
      new RegExp(`^${held} .* held \\(spam\\) +1000 +${String(account?.['account_id'])}$`),
    );
  });

  test('finds by sender and by recipient in any spelling, newest first', async () => {
    const [first, second] = [await rows.message(), await rows.message()];
    await database.query(`update messages set created_at = now() - interval '1 hour' where id = $1`, [first]);
    await database.query(`update messages set received_for = '{A+tag@in.example}' where id = $1`, [first]);
    expect(await found('--address', 'Ann@shop.example')).toEqual([second, first]);
    expect(await found('--address', 'a@in.example')).toEqual([second]);
    expect(await found('--address', 'a+TAG@in.example')).toEqual([first]);
    expect(await found('--address', 'n@shop.example')).toEqual([]);
    expect((await find('--address', 'nobody@in.example')).stdout).toBe('no messages\n');
  });

  test('shows no content of a message', async () => {
    await rows.message({ text: 'confidential', html: 'confidential' });
    const shown = await Promise.all([
      find('--address', 'a@in.example'),
      find('--address', 'a@in.example', '--json'),
    ]);
    for (const { stdout } of shown) expect(stdout).not.toMatch(/confidential|Subject|Ann|in\.example/);
  });

  test.each([[[]], [['--message-id', 'a@b.example', '--address', 'a@in.example']]])(
    'with %j is wrong usage',
    async (args) => {
      expect(await find(...args)).toMatchObject({ code: 2 });
    },
  );
});

describe('installation set postmaster', () => {
  const set = (...args: string[]) => cli('installation', 'set', 'postmaster', ...args);

  test('names the inbox that gets the mail to postmaster', async () => {
    const account = await rows.account();
    const [id, address] = [newId('inbox', systemClock), 'ops@in.example'];
    await database.query(
      `insert into inboxes (id, account_id, kind, address, name, created_at, updated_at)
       values ($1, $2, 'live', $3, 'ops', now(), now())`,
      [id, account, address],
    );
    expect(await set(id)).toMatchObject({
      code: 0,
      stdout: 'mail to postmaster goes to ops@in.example from now on\n',
    });
    expect(JSON.parse((await set(id, '--json')).stdout)).toEqual({ postmaster: id, email_address: address });
    expect(await database.query('select id from inboxes where postmaster')).toEqual([{ id }]);
  });

  test('fails for an inbox that does not exist, and for what is no id', async () => {
    const id = newId('inbox', systemClock);
    expect(await set(id)).toMatchObject({ code: 1, stderr: expect.stringContaining(`no inbox ${id}`) });
    expect(await set('ops@in.example')).toMatchObject({ code: 2 });
  });
});
